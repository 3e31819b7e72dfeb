//! `heap_reuse_clean` with an allocator of the program's own: each task allocates its buffer, lets it grow and frees it.
//!
//! The allocator gives the block that one task has freed to the next one. That is one address and two objects, whoever the
//! allocator is.

//@ verdict: certified

use allocators::ThreadCaches;
use rayon::prelude::*;
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: ThreadCaches = ThreadCaches;

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
