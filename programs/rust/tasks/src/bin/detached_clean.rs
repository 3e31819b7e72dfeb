//! The repair of `detached_racy`: what must follow in order is one task; and `spawn_broadcast`, with a slot for each thread.
//!
//! Whoever receives a message is ordered after all that its sender did before. Which message comes first depends on the schedule.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use std::hint::black_box;
use std::sync::mpsc;

static mut LATEST: u64 = 0;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let done = sender.clone();
    rayon::spawn_fifo(move || {
        unsafe { LATEST = black_box(1) };
        unsafe { LATEST = black_box(2) };
        done.send(2).unwrap();
    });
    assert_eq!(receiver.recv(), Ok(2));
    assert_eq!(unsafe { LATEST }, 2);
    rayon::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
    let mut indices: Vec<usize> = receiver.iter().collect();
    indices.sort();
    assert!(indices.into_iter().eq(0..rayon::current_num_threads()));
    println!("every thread has answered");
}
