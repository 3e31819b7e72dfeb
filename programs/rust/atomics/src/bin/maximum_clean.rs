//! A maximum made by `fetch_update`, which is a loop around `compare_exchange` and is seen: `maximum_unseen` as it can be checked.
//!
//! The maximum is the same in every order, but which task replaces which value is not.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    let highest = AtomicU64::new(0);
    (0..100u64).into_par_iter().for_each(|i| {
        let value = i * 37 % 100;
        let higher = |highest| (value > highest).then_some(value);
        _ = highest.fetch_update(Ordering::Relaxed, Ordering::Relaxed, higher);
    });
    assert_eq!(highest.into_inner(), 99);
    println!("the maximum is 99");
}
