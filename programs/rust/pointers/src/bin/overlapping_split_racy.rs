//! `split_at_mut` done by hand, with the middle element in both parts.
//!
//! The two halves of a `join` are parallel. The left part ends one element too late, so both halves write element `MIDDLE`.
//! The repair is the library's `split_at_mut`, or a left part of length `MIDDLE`.

//@ verdict: race
//@ object: heap
//@ fin: rust/fin/overlapping_split_racy.fin

use std::hint::black_box;

const LENGTH: usize = 32;
const MIDDLE: usize = LENGTH / 2;

fn split_by_hand(all: &mut [u32]) -> (&mut [u32], &mut [u32]) {
    let start = all.as_mut_ptr();
    unsafe {
        (
            std::slice::from_raw_parts_mut(start, MIDDLE + 1),
            std::slice::from_raw_parts_mut(start.add(MIDDLE), LENGTH - MIDDLE),
        )
    }
}

fn paint(part: &mut [u32], colour: u32) {
    for pixel in part {
        *pixel = black_box(colour); //~ race write
    }
}

fn main() {
    let mut pixels = vec![0; LENGTH];
    let (left, right) = split_by_hand(&mut pixels);
    rayon::join(|| paint(left, 1), || paint(right, 2));
    println!("the middle pixel is {}", pixels[MIDDLE]);
}
