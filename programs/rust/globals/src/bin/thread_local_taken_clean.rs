//! A scratch buffer that each task takes out of its thread-local variable, uses, and puts back; every now and then one throws it away.
//!
//! As in `thread_local_clean`, two tasks that meet at the same buffer run on one thread, one after the other.

//@ verdict: certified-order
//@ determinacy: thread-ordered

use rayon::prelude::*;
use std::cell::Cell;

thread_local! {
    static SCRATCH: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

/// Sum of the digits of `n`, by way of the scratch buffer.
fn digit_sum(n: u64) -> u64 {
    let mut digits = SCRATCH.take();
    digits.clear();
    let mut rest = n;
    while rest > 0 {
        digits.push(rest % 10);
        rest /= 10;
    }
    let sum = digits.iter().sum();
    if n % 7 == 0 {
        drop(digits);
    } else {
        SCRATCH.set(digits);
    }
    sum
}

fn main() {
    let total: u64 = (0..1000).into_par_iter().map(digit_sum).sum();
    assert_eq!(total, 13500);
    println!("the digits of 0 to 999 sum up to {total}");
}
