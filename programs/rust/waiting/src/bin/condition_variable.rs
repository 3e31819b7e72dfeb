//! A task that waits on a condition variable for a sibling that is spawned later.
//!
//! As in `channel`, only a second thread can wake it. The repair is to make the wait a join.

//@ verdict: unknown
//@ class: stopped

use std::sync::{Condvar, Mutex};

fn main() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let (open, changed) = (Mutex::new(false), Condvar::new());
    pool.scope(|scope| {
        scope.spawn(|_| {
            let mut is_open = open.lock().unwrap();
            while !*is_open {
                is_open = changed.wait(is_open).unwrap(); //~ waits
            }
        });
        scope.spawn(|_| {
            *open.lock().unwrap() = true;
            changed.notify_one();
        });
    });
    println!("open");
}
