//! A block of a megabyte freed by one half of a `join` while the other half reads it.
//!
//! The allocator gives so big a block back to the system at once. The read then finds no memory, if
//! it comes last, or another block. Nothing orders the two.
//! The repair is to free it behind the `join`.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut samples = black_box(vec![1u64; 1 << 17]);
    let place = SendPtr::new(&mut samples);
    let ((), seen) = rayon::join(
        move || drop(samples),                          //~ race free
        || unsafe { place.at(70_000).read_volatile() }, //~ race read
    );
    println!("some number was seen: {}", seen == seen);
}
