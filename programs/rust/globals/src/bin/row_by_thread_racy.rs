//! A row for every two threads of the pool, picked by half of `rayon::current_thread_index`.
//!
//! Two threads share a row, and their tasks are parallel to each other. The repair is a row for each thread.

//@ verdict: race
//@ object: heap

use rayon::prelude::*;
use std::cell::UnsafeCell;
use std::hint::black_box;

struct Rows(Vec<UnsafeCell<u64>>);

// SAFETY: a thread uses the row of its own index only, its author believed.
unsafe impl Sync for Rows {}

impl Rows {
    fn own(&self) -> *mut u64 {
        let thread = rayon::current_thread_index().expect("on a thread of the pool");
        self.0[thread / 2].get()
    }
}

fn main() {
    let threads = 0..rayon::current_num_threads();
    let rows = Rows(threads.map(|_| UnsafeCell::new(0)).collect());
    let rows = &rows;
    (0..1000u64).into_par_iter().for_each(|i| {
        unsafe { *rows.own() += black_box(i) }; //~ race write read?
    });
    let total: u64 = rows.0.iter().map(|row| unsafe { *row.get() }).sum();
    println!("all rows sum up to at most 499500: {total}");
}
