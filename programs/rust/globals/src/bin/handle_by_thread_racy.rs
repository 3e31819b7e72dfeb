//! A list that the first task makes, and a handle to it that each thread keeps. Threads find the list by a relaxed load.
//!
//! Nothing orders the making of the list before its use: not for the first task of a thread, and so for no later one either.
//! The repair is a `OnceLock`.

//@ verdict: race
//@ object: heap

use rayon::prelude::*;
use std::cell::Cell;
use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

static LIST: AtomicPtr<[u64; 1000]> = AtomicPtr::new(null_mut());

thread_local! {
    static HANDLE: Cell<*const [u64; 1000]> = const { Cell::new(null()) };
}

fn list() -> *const [u64; 1000] {
    if HANDLE.get().is_null() {
        if LIST.load(Relaxed).is_null() {
            let list = Box::new(black_box([1; 1000])); //~ race write
            LIST.store(Box::into_raw(list), Relaxed);
        }
        HANDLE.set(LIST.load(Relaxed));
    }
    HANDLE.get()
}

fn main() {
    let sum: u64 = (0..1000usize)
        .into_par_iter()
        .map(|i| unsafe { (*list())[i] }) //~ race read
        .sum();
    println!("the list sums up to at most 1000: {sum}");
}
