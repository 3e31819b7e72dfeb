//! The repair of `after_join_trap`: the block is freed behind the second `join`. A block that comes
//! to the same address is another one.

//@ verdict: certified

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut ticket = black_box(Box::new(7u64));
    let place = SendPtr::to(&mut *ticket);
    rayon::join(|| drop(black_box(Box::new(1u64))), || ());
    rayon::join(|| unsafe { place.at(0).write_volatile(8) }, || ());
    assert_eq!(*ticket, 8);
    drop(ticket);
    let again = || drop(black_box(Box::new(black_box(2u64))));
    rayon::join(again, again);
    println!("written");
}
