//! What a thread did is announced by the destructor of a thread-local variable, with a store that releases nothing.
//!
//! The destructor runs behind the write, but whoever finds the flag need not find what was written. The repair is `Release`.

//@ verdict: race
//@ object: global

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

struct Result(UnsafeCell<u64>);

// SAFETY: it is read when `DONE` has been found set, its author believed.
unsafe impl Sync for Result {}

static RESULT: Result = Result(UnsafeCell::new(0));
static DONE: AtomicBool = AtomicBool::new(false);

struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        DONE.store(true, Ordering::Relaxed);
    }
}

thread_local! {
    static LEAVE: Leave = const { Leave };
}

fn main() {
    let worker = std::thread::spawn(|| {
        LEAVE.with(|_| ());
        unsafe { *RESULT.0.get() = black_box(42) }; //~ race write
    });
    let reader = std::thread::spawn(|| {
        while !DONE.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        unsafe { black_box(*RESULT.0.get()) } //~ race read
    });
    let result = reader.join().unwrap();
    worker.join().unwrap();
    println!("the result is 42, or not: {result}");
}
