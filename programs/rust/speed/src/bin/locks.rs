//! A table of sums, each behind a lock of its own, that many tasks add to.

//@ verdict: certified-order
//@ determinacy: lock-ordered

use rayon::prelude::*;
use std::sync::Mutex;

const SUMS: usize = 1000;

fn main() {
    let sums: Vec<Mutex<u64>> = (0..SUMS).map(|_| Mutex::new(0)).collect();
    let numbers: Vec<u64> = speed::random(1).take(speed::size(2000)).collect();
    numbers.par_chunks(200).for_each(|chunk| {
        for number in chunk {
            *sums[*number as usize % SUMS].lock().unwrap() += number;
        }
    });
    let all: u64 = sums.iter().map(|sum| *sum.lock().unwrap()).sum();
    println!("the sums add up to {all}");
}
