//! A program that fails: a task panics, the panic is passed on by the join, and nobody catches it.
//!
//! It has no race up to there, and nothing is established about what would have followed.

//@ verdict: trap

use rayon::prelude::*;

fn main() {
    let shares: Vec<u32> = vec![4, 2, 1, 0];
    let parts: Vec<u32> = shares.par_iter().map(|share| 100 / share).collect();
    println!("{parts:?}");
}
