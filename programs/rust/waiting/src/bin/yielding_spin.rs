//! A task that waits for a flag and yields to the operating system while it does.
//!
//! `std::thread::yield_now` lets another thread run, but not another task of this one: the task that sets the flag comes later.
//! The repair is a join, or `rayon::yield_now`, which does run other tasks.

//@ verdict: unknown
//@ class: stopped

use std::sync::atomic::{AtomicUsize, Ordering};

fn main() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let arrived = AtomicUsize::new(0);
    let meet = || {
        arrived.fetch_add(1, Ordering::AcqRel);
        loop {
            let number = arrived.load(Ordering::Acquire); //~ waits
            if number == 2 {
                break;
            }
            std::thread::yield_now();
        }
    };
    pool.scope(|scope| {
        scope.spawn(|_| meet());
        scope.spawn(|_| meet());
    });
    println!("both arrived");
}
