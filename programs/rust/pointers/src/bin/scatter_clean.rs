//! The repair of `scatter_racy`: an exclusive prefix sum, so that the blocks' ranges of the output are disjoint.
//!
//! The pointer is still raw and the order of the writes still open, but no two tasks share a slot.

//@ verdict: certified
//@ fin: rust/fin/scatter_clean.fin

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
        starts.push(starts[starts.len() - 1] + count);
    }

    let mut even = vec![0; 64];
    let output = SendPtr::new(&mut even);
    keys.par_chunks(BLOCK)
        .enumerate()
        .for_each(|(number, block)| {
            let mut next = starts[number];
            for &key in block {
                if key % 2 == 0 {
                    unsafe { *output.at(next) = key };
                    next += 1;
                }
            }
        });
    let expected: Vec<u32> = keys.iter().copied().filter(|key| key % 2 == 0).collect();
    assert_eq!(even[..expected.len()], expected);
    println!("{} even keys", starts[starts.len() - 1]);
}
