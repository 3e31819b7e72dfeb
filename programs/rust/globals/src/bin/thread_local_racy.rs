//! A thread-local pointer, believed to make what it points to thread-local as well.
//!
//! Every thread has its own `SCRATCH`, but all of them are set to the one buffer, and parallel tasks write it. Even on one
//! thread the tasks would be parallel: which thread runs a task is the scheduler's choice.
//! The repair is to keep the buffer itself in the thread-local, or in the task.

//@ verdict: race
//@ object: heap

use rayon::prelude::*;
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

static BUFFER: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());

thread_local! {
    static SCRATCH: Cell<*mut u64> = const { Cell::new(std::ptr::null_mut()) };
}

fn scratch() -> *mut u64 {
    if SCRATCH.get().is_null() {
        SCRATCH.set(BUFFER.load(Relaxed));
    }
    SCRATCH.get()
}

fn main() {
    let mut buffer = vec![0u64; 4];
    BUFFER.store(buffer.as_mut_ptr(), Relaxed);
    (0..64u64).into_par_iter().for_each(|i| {
        unsafe { *scratch() = black_box(i) }; //~ race write
    });
    println!("the last to write was {}", buffer[0]);
}
