//! A copy that reads its source while another task shifts it in place.
//!
//! `copy_within` (a `memmove`) reads and writes the buffer, the other half of the join reads it by a `memcpy`.
//! The repair is to take the copy before the join.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut queue: Vec<u32> = (0..100).collect();
    let length = black_box(queue.len());
    let start = SendPtr::new(&mut queue);
    let ((), copy) = rayon::join(
        || unsafe { start.at(1).copy_to(start.at(0), length - 1) }, //~ race write
        || {
            let mut copy = vec![0; length];
            let target = copy.as_mut_ptr();
            unsafe { target.copy_from_nonoverlapping(start.at(0), length) }; //~ race read
            copy
        },
    );
    println!(
        "the copy starts with {}, the queue with {}",
        copy[0], queue[0]
    );
}
