//! A pointer to an element of a vector that has grown since.
//!
//! To grow is to move to a larger block and to free the old one. Whether the allocator finds room
//! behind the old one, and the pointer still leads to the element, is chance.
//! The repair is to ask the vector for the element again.

//@ verdict: trap

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let (seen, ()) = rayon::join(
        || {
            let mut numbers = black_box(vec![1u64, 2, 3, 4]);
            let first = SendPtr::new(&mut numbers);
            numbers.push(5); //~ after-free free
            black_box(&numbers);
            unsafe { first.at(0).read_volatile() } //~ after-free read
        },
        || (),
    );
    println!("some number was seen: {}", seen == seen);
}
