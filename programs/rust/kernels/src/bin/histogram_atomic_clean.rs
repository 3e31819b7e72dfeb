//! The other repair of `histogram_racy`: atomic counts. The additions commute, so the result is the same in every schedule; that they
//! conflict, `--determinacy` says.

//@ verdict: certified-order
//@ determinacy: atomic-ordered
//@ fin: rust/fin/histogram_clean.fin

use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

const BINS: usize = 16;

fn main() {
    let values: Vec<u32> = (0..1000u32)
        .map(|i| i.wrapping_mul(2654435761) >> 16)
        .collect();
    let bins: Vec<AtomicU32> = (0..BINS).map(|_| AtomicU32::new(0)).collect();
    values
        .par_iter()
        .for_each(|&value| _ = bins[value as usize % BINS].fetch_add(1, Ordering::Relaxed));
    let counts: Vec<u32> = bins.into_iter().map(AtomicU32::into_inner).collect();
    assert_eq!(counts.iter().sum::<u32>(), 1000);
    println!("1000 counted: {}", counts.iter().sum::<u32>());
}
