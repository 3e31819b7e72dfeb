//! A message published by an atomic flag, with `Relaxed` on both sides.
//!
//! The flag is atomic, the message is not. A relaxed store orders nothing that came before it, so a reader that finds the flag set
//! may still read an old message: the plain write and the plain read are parallel.
//! The repair is `Release` for the store and `Acquire` for the load.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::sync::atomic::{AtomicBool, Ordering};

fn main() {
    let mut message = Box::new(0u64);
    let place = SendPtr::to(&mut *message);
    let ready = AtomicBool::new(false);
    rayon::scope(|scope| {
        scope.spawn(|_| {
            unsafe { place.at(0).write_volatile(42) }; //~ race write
            ready.store(true, Ordering::Relaxed);
        });
        scope.spawn(|_| {
            if ready.load(Ordering::Relaxed) {
                let _ = unsafe { place.at(0).read_volatile() }; //~ race read
            }
        });
    });
    println!("the message is {message}");
}
