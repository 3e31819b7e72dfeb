//! A task that frees a block and then reads it by a pointer that it has kept.
//!
//! No other task takes part, so this is no race. The memory is nobody's by then: the number that is
//! read may be another block's.
//! The repair is to read before the block is freed.

//@ verdict: trap

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let (seen, ()) = rayon::join(
        || {
            let mut ticket = black_box(Box::new(7u64));
            let place = SendPtr::to(&mut *ticket);
            drop(ticket); //~ after-free free
            unsafe { place.at(0).read_volatile() } //~ after-free read
        },
        || (),
    );
    println!("some number was seen: {}", seen == seen);
}
