//! The repair of `neighbour_racy`: what is read and what is written are two slices.
//!
//! `par_iter_mut` gives each iteration its own cell of the new slice; the old one is only read while the tasks run.

//@ verdict: certified
//@ fin: lessons/forall_neighbours_clean.fin

use rayon::prelude::*;

fn main() {
    let heights: Vec<u64> = (0..64).collect();
    let mut smoothed = heights.clone();
    smoothed
        .par_iter_mut()
        .enumerate()
        .skip(1)
        .for_each(|(i, cell)| {
            *cell = heights[i - 1] + 1;
        });
    assert_eq!(smoothed, heights);
    println!("the last height is {}", smoothed[63]);
}
