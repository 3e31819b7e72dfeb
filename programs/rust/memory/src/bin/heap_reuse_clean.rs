//! The repair of `heap_reuse_racy`: each task allocates its buffer and frees it.
//!
//! The allocator gives the block that one task has freed to the next one. That is one address and two objects: no race, in
//! whichever order the tasks run.

//@ verdict: certified
//@ fin: rust/fin/heap_reuse_clean.fin

use rayon::prelude::*;
use std::hint::black_box;

fn main() {
    let sums: Vec<usize> = (0..64usize)
        .into_par_iter()
        .map(|i| {
            let mut buffer = black_box(vec![0usize; 8]);
            buffer[0] = i;
            buffer.resize(black_box(64), 1);
            buffer.iter().sum()
        })
        .collect();
    assert!(sums.into_iter().eq((0..64).map(|i| i + 56)));
    println!("64 buffers used");
}
