//! Parallel tasks that take one mutex and only read what it protects.
//!
//! The critical sections follow each other in some order, but no two of them conflict, so no order can be told from another: the
//! lock itself is no shared result.

//@ verdict: certified
//@ fin: lessons/isolated_readers_clean.fin

use rayon::prelude::*;
use std::sync::Mutex;

fn main() {
    let primes = Mutex::new(vec![2, 3, 5, 7, 11]);
    let sum: u64 = (0..5usize)
        .into_par_iter()
        .map(|i| primes.lock().unwrap()[i])
        .sum();
    assert_eq!(sum, 28);
    println!("the primes sum up to {sum}");
}
