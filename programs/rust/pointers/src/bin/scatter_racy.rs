//! A parallel scatter made by hand: each block of keys has a range of the output reserved for it, by prefix sums over the counts.
//!
//! The sums are off by one: a block starts at the last slot of the block before it. The blocks are parallel tasks, so the last
//! write of one and the first write of the next meet in one slot.
//! The repair is an exclusive prefix sum: a block starts where all the blocks before it end.

//@ verdict: race
//@ object: heap
//@ fin: rust/fin/scatter_racy.fin

use rayon::prelude::*;
use send_ptr::SendPtr;

const BLOCK: usize = 16;

fn main() {
    let keys: Vec<u32> = (0..64).map(|i| i * 37 % 64).collect();
    let counts: Vec<usize> = keys
        .chunks(BLOCK)
        .map(|block| block.iter().filter(|&&key| key % 2 == 0).count())
        .collect();
    let mut starts = vec![0];
    for &count in &counts {
        starts.push(starts[starts.len() - 1] + count - 1);
    }

    let mut even = vec![0; 64];
    let output = SendPtr::new(&mut even);
    keys.par_chunks(BLOCK)
        .enumerate()
        .for_each(|(number, block)| {
            let mut next = starts[number];
            for &key in block {
                if key % 2 == 0 {
                    unsafe { *output.at(next) = key }; //~ race write
                    next += 1;
                }
            }
        });
    println!("{} even keys", starts[starts.len() - 1]);
}
