//! The repair of `after_free_trap`: the task reads the block before it frees it.

//@ verdict: certified

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let (seen, ()) = rayon::join(
        || {
            let mut ticket = black_box(Box::new(7u64));
            let place = SendPtr::to(&mut *ticket);
            let seen = unsafe { place.at(0).read_volatile() };
            drop(ticket);
            seen
        },
        || (),
    );
    assert_eq!(seen, 7);
    println!("seen {seen}");
}
