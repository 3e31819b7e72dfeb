//! A block freed by one half of a `join` while the other half reads it through a raw pointer.
//!
//! Freeing is a use of the whole block: whoever else uses it must be done by then, or else reads what somebody else has put
//! there since. Here nothing says so, and either half may come first.
//! The repair is to free it behind the `join`.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;

fn main() {
    let mut ticket = Box::new(7u64);
    let place = SendPtr::to(&mut *ticket);
    let ((), seen) = rayon::join(
        move || drop(ticket),                      //~ race free
        || unsafe { place.at(0).read_volatile() }, //~ race read
    );
    println!("some number was seen: {}", seen == seen);
}
