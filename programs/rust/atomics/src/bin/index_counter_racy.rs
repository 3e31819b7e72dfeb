//! An atomic counter that deals out slots of a buffer, with more takers than slots.
//!
//! `fetch_add` never gives one number twice, but the number is taken modulo the length of the buffer: with 24 tasks and 16 slots
//! two tasks share a slot in every schedule, and their writes to it are plain.
//! The repair is a buffer with a slot for every number that can be dealt out.

//@ verdict: race
//@ object: heap
//@ fin: rust/fin/index_counter_racy.fin

use send_ptr::SendPtr;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

const SLOTS: usize = 16;
const TAKERS: usize = 24;

fn main() {
    let mut found = vec![0; SLOTS];
    let slots = SendPtr::new(&mut found);
    let next = AtomicUsize::new(0);
    rayon::scope(|scope| {
        for taker in 1..=TAKERS {
            let next = &next;
            scope.spawn(move |_| {
                let slot = next.fetch_add(1, Ordering::Relaxed) % SLOTS;
                unsafe { *slots.at(slot) = black_box(taker) }; //~ race write
            });
        }
    });
    println!("slot 0 belongs to {}", found[0]);
}
