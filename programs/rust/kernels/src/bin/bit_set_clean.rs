//! The repair of `bit_set_racy`: a byte belongs to one item of the iterator, however that is divided.

//@ verdict: certified

use rayon::prelude::*;

const NUMBERS: usize = 4096;

fn main() {
    let mut bits = vec![0u8; NUMBERS / 8];
    bits.par_iter_mut().for_each(|byte| {
        for bit in 0..8 {
            *byte |= 1 << bit;
        }
    });
    let numbers: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
    println!("{NUMBERS} numbers: {numbers}");
}
