//! A row for each thread of the pool, picked by `rayon::current_thread_index`.
//!
//! Tasks with the same index are on one thread, one after the other, so no two of them write a row at the same time. Which task
//! meets which row is up to the schedule.

//@ verdict: certified-order
//@ determinacy: thread-ordered

use rayon::prelude::*;
use std::cell::UnsafeCell;
use std::hint::black_box;

struct Rows(Vec<UnsafeCell<u64>>);

// SAFETY: a thread uses the row of its own index only.
unsafe impl Sync for Rows {}

impl Rows {
    fn own(&self) -> *mut u64 {
        let thread = rayon::current_thread_index().expect("on a thread of the pool");
        self.0[thread].get()
    }
}

fn main() {
    let threads = 0..rayon::current_num_threads();
    let rows = Rows(threads.map(|_| UnsafeCell::new(0)).collect());
    let rows = &rows;
    (0..1000u64).into_par_iter().for_each(|i| {
        unsafe { *rows.own() += black_box(i) };
    });
    let total: u64 = rows.0.iter().map(|row| unsafe { *row.get() }).sum();
    assert_eq!(total, 499_500);
    println!("all rows sum up to {total}");
}
