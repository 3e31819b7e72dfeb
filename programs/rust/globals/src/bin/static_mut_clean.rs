//! The repair of `static_mut_racy`: the global is written by one task only, after the parallel part, which counts by itself.

//@ verdict: certified
//@ fin: lessons/reduction_partial_sums_clean.fin

use rayon::prelude::*;

static mut DONE: u64 = 0;

fn main() {
    let done: u64 = (0..100).into_par_iter().map(|_| 1).sum();
    unsafe { DONE = done };
    assert_eq!(unsafe { DONE }, 100);
    println!("100 done: {}", unsafe { DONE });
}
