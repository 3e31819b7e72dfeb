//! The repair of `free_racy`: both halves read, and the block is freed behind the `join`.
//!
//! What the halves free is their own.

//@ verdict: certified

use send_ptr::SendPtr;

fn main() {
    let mut ticket = Box::new(7u64);
    let place = SendPtr::to(&mut *ticket);
    let read = || {
        let own = Box::new(unsafe { place.at(0).read_volatile() });
        *own + 1
    };
    let (left, right) = rayon::join(read, read);
    drop(ticket);
    assert_eq!((left, right), (8, 8));
    println!("seen {left} and {right}");
}
