//! Records of 7 bytes in one buffer, written as 8-byte words: the last byte of each record's word belongs to its neighbour.
//!
//! Each record is written by its own task, and the words of two neighbours share one byte. None of the words is aligned, and some
//! lie across the border of two machine words. The repair is to write 7 bytes.

//@ verdict: race
//@ object: heap

use rayon::prelude::*;
use send_ptr::SendPtr;
use std::hint::black_box;

const RECORD: usize = 7;

fn main() {
    let mut bytes = vec![0u8; 32 * RECORD + 1];
    let byte = SendPtr::new(&mut bytes);
    (0..32).into_par_iter().for_each(|i| {
        let word = byte.at(i * RECORD).cast::<u64>();
        unsafe { word.write_unaligned(black_box(i as u64)) }; //~ race write
    });
    println!("{} bytes", bytes.len());
}
