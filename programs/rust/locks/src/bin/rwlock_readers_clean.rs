//! Parallel readers of an `RwLock`: they share the lock and conflict with nobody.

//@ verdict: certified

use rayon::prelude::*;
use std::sync::RwLock;

fn main() {
    let weights = RwLock::new(vec![1u64, 10, 100, 1000]);
    let total: u64 = (0..64usize)
        .into_par_iter()
        .map(|i| weights.read().unwrap()[i % 4])
        .sum();
    assert_eq!(total, 16 * 1111);
    println!("the total is {total}");
}
