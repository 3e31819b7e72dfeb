//! Two tasks of `rayon::spawn_fifo`, taken to run one after the other because they are taken from a queue in order.
//!
//! Detached tasks are parallel to everything that follows their creation, also to each other. The channel at the end orders both of them
//! before the last line of `main`, but not one before the other. The repair is one task that does both.

//@ verdict: race
//@ object: global

use std::hint::black_box;
use std::sync::mpsc;

static mut LATEST: u64 = 0;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let first = sender.clone();
    rayon::spawn_fifo(move || {
        unsafe { LATEST = black_box(1) }; //~ race write
        first.send(()).unwrap();
    });
    rayon::spawn_fifo(move || {
        unsafe { LATEST = black_box(2) }; //~ race write
        sender.send(()).unwrap();
    });
    receiver.recv().unwrap();
    receiver.recv().unwrap();
    println!("the latest is {}", unsafe { LATEST });
}
