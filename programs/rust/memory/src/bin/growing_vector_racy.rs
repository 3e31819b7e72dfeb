//! A vector that grows while another task has a pointer to its elements.
//!
//! To grow is to move to a larger block and to free the old one. Whether the allocator finds room behind the old one, and the elements
//! stay where they are, is chance.
//! The repair is to reserve the room before the tasks begin.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut numbers = black_box(vec![1u64, 2, 3, 4]);
    let first = SendPtr::new(&mut numbers);
    let (_, seen) = rayon::join(
        || numbers.push(5),                        //~ race free
        || unsafe { first.at(0).read_volatile() }, //~ race read
    );
    println!("{} numbers, {}", numbers.len(), seen == seen);
}
