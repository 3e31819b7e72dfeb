//! The repair of `overlapping_split_racy`: a left part of length `MIDDLE`, as `split_at_mut` makes it.

//@ verdict: certified
//@ fin: rust/fin/overlapping_split_clean.fin

use std::hint::black_box;

const LENGTH: usize = 32;
const MIDDLE: usize = LENGTH / 2;

fn split_by_hand(all: &mut [u32]) -> (&mut [u32], &mut [u32]) {
    let start = all.as_mut_ptr();
    unsafe {
        (
            std::slice::from_raw_parts_mut(start, MIDDLE),
            std::slice::from_raw_parts_mut(start.add(MIDDLE), LENGTH - MIDDLE),
        )
    }
}

fn paint(part: &mut [u32], colour: u32) {
    for pixel in part {
        *pixel = black_box(colour);
    }
}

fn main() {
    let mut pixels = vec![0; LENGTH];
    let (left, right) = split_by_hand(&mut pixels);
    rayon::join(|| paint(left, 1), || paint(right, 2));
    let (left, right) = pixels.split_at_mut(MIDDLE);
    rayon::join(|| paint(&mut left[1..], 3), || paint(&mut right[1..], 4));
    assert_eq!(pixels.iter().sum::<u32>(), 1 + 15 * 3 + 2 + 15 * 4);
    println!("the middle pixel is {}", pixels[MIDDLE]);
}
