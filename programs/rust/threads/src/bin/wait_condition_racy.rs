//! A thread that waits on a condition variable until it is told that a value is there, by a creator that tells it too early.
//!
//! The creator sets the flag under the lock, and only then writes the value. The thread finds the flag, and whether it finds the value is up to the
//! schedule. The repair is to write first.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::sync::{Condvar, Mutex};

fn main() {
    let mut value = Box::new(0u64);
    let place = SendPtr::to(&mut *value);
    let (ready, told) = (Mutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut is_ready = ready.lock().unwrap();
            while !*is_ready {
                is_ready = told.wait(is_ready).unwrap();
            }
            drop(is_ready);
            let seen = unsafe { place.at(0).read_volatile() }; //~ race read
            println!("saw {seen}");
        });
        *ready.lock().unwrap() = true;
        told.notify_one();
        unsafe { place.at(0).write_volatile(42) }; //~ race write
    });
    println!("the value is {value}");
}
