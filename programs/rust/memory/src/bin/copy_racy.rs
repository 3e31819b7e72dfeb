//! Blocks copied with `copy_from_slice`, into places that overlap.
//!
//! The halves of the join copy 100 bytes each, to offsets 0 and 99: the last byte of one is the first of the other. A copy is one
//! call, but it writes byte by byte as far as races are concerned. The repair is offset 100.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let source: Vec<u8> = (0..200).collect();
    let (one, two) = source.split_at(black_box(100));
    let mut copy = vec![0u8; 200];
    let target = SendPtr::new(&mut copy);
    rayon::join(
        || unsafe { std::slice::from_raw_parts_mut(target.at(0), one.len()).copy_from_slice(one) }, //~ race write
        || unsafe { std::slice::from_raw_parts_mut(target.at(99), two.len()).copy_from_slice(two) }, //~ race write
    );
    println!("byte 99 is {}", copy[99]);
}
