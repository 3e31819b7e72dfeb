//! A task that waits for a message of a sibling that is spawned later.
//!
//! With two threads it works: while one waits, the other runs the sender. But rayon promises no second thread, and a pool of
//! one thread that takes the tasks in this order waits for ever. A run that takes the tasks one after the other must say so
//! and end. The repair is to send before receiving, or to return the value through a `join`.

//@ verdict: unknown
//@ class: stopped

use std::sync::mpsc;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let (sender, receiver) = mpsc::channel();
    pool.scope(|scope| {
        scope.spawn(move |_| {
            let message: u32 = receiver.recv().unwrap(); //~ waits
            println!("received {message}");
        });
        scope.spawn(move |_| sender.send(42).unwrap());
    });
}
