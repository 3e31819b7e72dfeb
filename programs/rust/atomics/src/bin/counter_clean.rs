//! An atomic counter that tasks only add to: the sum is the same in every schedule.
//!
//! Whether that is so is a matter of arithmetic, which no detector of races decides: the additions conflict, and the answer holds for
//! the observed order of them.

//@ verdict: certified-order
//@ determinacy: atomic-ordered
//@ fin: lessons/reduction_isolated_clean.fin

use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    let total = AtomicU64::new(0);
    (0..100u64)
        .into_par_iter()
        .for_each(|i| _ = total.fetch_add(i, Ordering::Relaxed));
    assert_eq!(total.into_inner(), 4950);
    println!("the total is 4950");
}
