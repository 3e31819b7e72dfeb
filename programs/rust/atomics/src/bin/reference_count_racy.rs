//! A reference count made by hand, decremented with `Relaxed`: the last owner clears the value.
//!
//! The last to decrement knows that the others are done with the value only if their decrements release and its own acquires.
//! Relaxed, another owner's read is not ordered before the clearing write.
//! The repair is what `Arc` does: decrement with `Release`, and an `Acquire` before the value is taken apart.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::sync::atomic::{AtomicUsize, Ordering};

fn main() {
    let mut value = Box::new(7u64);
    let place = SendPtr::to(&mut *value);
    let owners = AtomicUsize::new(2);
    let owner = || {
        let seen = unsafe { place.at(0).read_volatile() }; //~ race read
        if owners.fetch_sub(1, Ordering::Relaxed) == 1 {
            unsafe { place.at(0).write_volatile(0) }; //~ race write
        }
        seen
    };
    let (left, right) = rayon::join(owner, owner);
    println!("seen {left} and {right}, then {value}");
}
