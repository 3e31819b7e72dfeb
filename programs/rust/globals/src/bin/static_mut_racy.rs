//! A `static mut` as a counter of what the tasks have done.
//!
//! All tasks write the one global, and the iterations of a parallel iterator are parallel to each other: two that read the same
//! count write the same successor, and one is lost.
//! The repair is to count in the tasks and add up where they join; an `AtomicU64` would be the other one.

//@ verdict: race
//@ object: global
//@ fin: lessons/global_counter_racy.fin

use rayon::prelude::*;
use std::hint::black_box;

static mut DONE: u64 = 0;

fn main() {
    (0..100).into_par_iter().for_each(|_| {
        let done = unsafe { black_box(DONE) }; //~ race read
        unsafe { DONE = done + 1 }; //~ race write
    });
    println!("at most 100 done: {}", unsafe { DONE });
}
