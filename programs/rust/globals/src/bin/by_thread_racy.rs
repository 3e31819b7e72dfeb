//! A container with a value for each thread, found by a number that a thread-local variable keeps. Every second thread gets the
//! number of another one.
//!
//! Tasks on two threads find the same value and are parallel to each other. The repair is a number for each thread.

//@ verdict: race
//@ object: heap

use rayon::prelude::*;
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const MOST_THREADS: usize = 1 << 16;

static NUMBERS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static NUMBER: usize = NUMBERS.fetch_add(1, Relaxed) / 2;
}

struct ByThread(Vec<UnsafeCell<u64>>);

// SAFETY: a thread uses the value of its own number only, its author believed.
unsafe impl Sync for ByThread {}

impl ByThread {
    fn own(&self) -> *mut u64 {
        NUMBER.with(|number| self.0[*number].get())
    }
}

fn main() {
    let counts = ByThread((0..MOST_THREADS).map(|_| UnsafeCell::new(0)).collect());
    let counts = &counts;
    (0..1000u64).into_par_iter().for_each(|i| {
        unsafe { *counts.own() += black_box(i) }; //~ race write read?
    });
    let total: u64 = counts.0.iter().map(|count| unsafe { *count.get() }).sum();
    println!("the counts of all threads sum up to at most 499500: {total}");
}
