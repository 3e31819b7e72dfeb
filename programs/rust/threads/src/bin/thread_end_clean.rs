//! What a thread did is announced by the destructor of a thread-local variable, when the thread's function has returned. Crates
//! that reclaim memory by epochs take leave of a thread so.
//!
//! The destructor is the thread's as well: what it releases, whoever acquires it may rely on.

//@ verdict: observed
//@ determinacy: atomic-ordered

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

struct Result(UnsafeCell<u64>);

// SAFETY: it is read when `DONE` has been found set.
unsafe impl Sync for Result {}

static RESULT: Result = Result(UnsafeCell::new(0));
static DONE: AtomicBool = AtomicBool::new(false);

struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        DONE.store(true, Ordering::Release);
    }
}

thread_local! {
    static LEAVE: Leave = const { Leave };
}

fn main() {
    let worker = std::thread::spawn(|| {
        LEAVE.with(|_| ());
        unsafe { *RESULT.0.get() = black_box(42) };
    });
    let reader = std::thread::spawn(|| {
        while !DONE.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        unsafe { black_box(*RESULT.0.get()) }
    });
    let result = reader.join().unwrap();
    worker.join().unwrap();
    assert_eq!(result, 42);
    println!("the result is {result}");
}
