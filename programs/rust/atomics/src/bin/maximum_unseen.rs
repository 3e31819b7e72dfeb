//! A maximum made by `fetch_max`, which the instrumentation leaves out: no race is there and none is found, but nobody saw the tasks meet.
//!
//! What an operation accesses and orders that is not seen can't be vouched for, so the answer is about this run alone, and names the
//! operation. `maximum_clean` says the same by `fetch_update`.

//@ verdict: observed
//@ class: unseen

use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    let highest = AtomicU64::new(0);
    (0..100u64)
        .into_par_iter()
        .for_each(|i| _ = highest.fetch_max(i * 37 % 100, Ordering::Relaxed)); //~ unseen
    assert_eq!(highest.into_inner(), 99);
    println!("the maximum is 99");
}
