//! The repair of `sync_cell_racy`: each task returns its best, and rayon takes the best of two where it joins them.

//@ verdict: certified
//@ fin: rust/fin/sync_cell_clean.fin

use rayon::prelude::*;

fn main() {
    let best = (0..100u64)
        .into_par_iter()
        .map(|i| (i * 61 + 1) % 101)
        .max();
    assert_eq!(best, (0..100u64).map(|i| (i * 61 + 1) % 101).max());
    println!("the best is {best:?}");
}
