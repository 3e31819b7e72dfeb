//! Integration tests: another crate that uses the library from outside.

use rayon::prelude::*;
use tested::{prefix_sums, prefix_sums_in_place};

//@ verdict: certified
#[test]
fn many_at_once() {
    let mut rows = vec![vec![2u64; 50]; 8];
    rows.par_iter_mut().for_each(|row| prefix_sums(row, 7));
    assert!(rows.iter().all(|row| row[49] == 100));
}

//@ verdict: race
//@ object: heap
#[test]
fn in_place_races_from_outside() {
    let mut numbers = vec![1; 64];
    prefix_sums_in_place(&mut numbers);
    assert!(numbers[63] > 0);
}
