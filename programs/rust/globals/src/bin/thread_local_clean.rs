//! A scratch buffer in thread-local storage, used by every task and overwritten before it is read.
//!
//! Two tasks that share a buffer run on one thread, one after the other. Which tasks share one is up to the schedule.
//! It is the repair of `thread_local_racy`: the buffer itself is thread-local.

//@ verdict: certified-order
//@ determinacy: thread-ordered

use rayon::prelude::*;
use std::cell::RefCell;

thread_local! {
    static SCRATCH: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Sum of the digits of `n`, by way of the scratch buffer.
fn digit_sum(mut n: u64) -> u64 {
    SCRATCH.with_borrow_mut(|digits| {
        digits.clear();
        while n > 0 {
            digits.push(n % 10);
            n /= 10;
        }
        digits.iter().sum()
    })
}

fn main() {
    let total: u64 = (0..1000).into_par_iter().map(digit_sum).sum();
    assert_eq!(total, 13500);
    println!("the digits of 0 to 999 sum up to {total}");
}
