//! The repair of `copy_racy`: the blocks are copied side by side, by `memcpy` and by `memmove`. The source may be shared, it is only
//! read.

//@ verdict: certified

use std::hint::black_box;

fn main() {
    let source: Vec<u8> = (0..200).collect();
    let mut copy = vec![0u8; 400];
    let (left, right) = copy.split_at_mut(200);
    rayon::join(
        || left[..black_box(200)].copy_from_slice(&source),
        || right[..black_box(200)].copy_from_slice(&source),
    );
    let (left, right) = copy.split_at_mut(black_box(200));
    rayon::join(|| left.copy_within(..199, 1), || right.copy_within(1.., 0));
    assert_eq!((copy[1], copy[199], copy[200], copy[398]), (0, 198, 1, 199));
    println!("byte 199 is {}", copy[199]);
}
