//! A block that one task frees, and that a task of a later `join` writes.
//!
//! The first `join` waits for the task that frees, so the two are ordered, and this is no race. The
//! write comes too late in every schedule.
//! The repair is to free the block when the last task that uses it is done.

//@ verdict: trap

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut ticket = black_box(Box::new(7u64));
    let place = SendPtr::to(&mut *ticket);
    rayon::join(
        move || drop(ticket), //~ after-free free
        || (),
    );
    rayon::join(
        || unsafe { place.at(0).write_volatile(8) }, //~ after-free write
        || (),
    );
    println!("written");
}
