//! A maximum by `fetch_max`, which is not seen, in a branch that this run does not take.
//!
//! The operation is a part of the program, but it was not reached. So the answer does not rest on it.

//@ verdict: certified

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

static LARGEST: AtomicUsize = AtomicUsize::new(0);

fn main() {
    let limit = black_box(100);
    let small = |value: usize| {
        if value >= limit {
            LARGEST.fetch_max(value, Ordering::Relaxed);
        }
        value % 7
    };
    let (left, right) = rayon::join(|| small(black_box(5)), || small(black_box(9)));
    println!("{}", left + right);
}
