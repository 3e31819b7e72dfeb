//! The repair of `big_free_racy`: the block is freed behind the `join`. What the halves free is their
//! own, though its addresses may be used again.

//@ verdict: certified

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut samples = black_box(vec![1u64; 1 << 17]);
    let place = SendPtr::new(&mut samples);
    let read = || {
        let own = black_box(vec![unsafe { place.at(70_000).read_volatile() }; 1 << 17]);
        own[70_000] + own[7]
    };
    let (left, right) = rayon::join(read, read);
    drop(samples);
    assert_eq!((left, right), (2, 2));
    println!("seen {left} and {right}");
}
