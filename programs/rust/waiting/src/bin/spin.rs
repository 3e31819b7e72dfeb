//! A task that spins until a sibling, spawned later, sets a flag.
//!
//! Nothing but a second thread can end the loop. A run that takes the tasks one after the other must notice that nobody is left to
//! set the flag, say so, and end. The repair is to make the wait a join.

//@ verdict: unknown
//@ class: stopped

use std::sync::atomic::{AtomicBool, Ordering};

fn main() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let ready = AtomicBool::new(false);
    pool.scope(|scope| {
        scope.spawn(|_| {
            loop {
                let done = ready.load(Ordering::Acquire); //~ waits
                if done {
                    break;
                }
                std::hint::spin_loop();
            }
        });
        scope.spawn(|_| ready.store(true, Ordering::Release));
    });
    println!("ready");
}
