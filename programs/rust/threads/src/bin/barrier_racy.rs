//! Threads that each fill a cell, wait for each other at a barrier, and look at the neighbour's cell on the wrong side of it.
//!
//! A barrier orders what is before it in any thread with what is behind it in every thread. Reading the neighbour's cell before it is parallel to its being
//! written. The repair is to read behind the barrier.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::sync::Barrier;

const THREADS: usize = 3;

fn main() {
    let mut cells = vec![0u64; THREADS];
    let place = SendPtr::new(&mut cells);
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for own in 0..THREADS {
            let barrier = &barrier;
            scope.spawn(move || {
                unsafe { place.at(own).write_volatile(1) }; //~ race write
                let next = (own + 1) % THREADS;
                let seen = unsafe { place.at(next).read_volatile() }; //~ race read
                barrier.wait();
                assert!(seen <= 1);
            });
        }
    });
    println!("the cells are {cells:?}");
}
