//! A histogram with one table for all tasks.
//!
//! Which bin a value falls into is known only at run time, so two parallel tasks meet in a bin: `+=` reads the count and writes it back,
//! and one of two additions is lost. The repair is a table for each task, added up where the tasks join.

//@ verdict: race
//@ object: heap
//@ fin: lessons/histogram_racy.fin

use rayon::prelude::*;
use send_ptr::SendPtr;
use std::hint::black_box;

const BINS: usize = 16;

fn main() {
    let values: Vec<u32> = (0..1000u32)
        .map(|i| i.wrapping_mul(2654435761) >> 16)
        .collect();
    let mut counts = vec![0u32; BINS];
    let bins = SendPtr::new(&mut counts);
    values.par_iter().for_each(|&value| {
        let bin = bins.at(value as usize % BINS);
        unsafe { *bin += black_box(1) }; //~ race write read?
    });
    println!("at most 1000 counted: {}", counts.iter().sum::<u32>());
}
