//! A spin lock made by hand with `Relaxed` everywhere.
//!
//! It keeps two tasks from being inside at once, but a relaxed store publishes nothing: what was written inside is not ordered
//! before the next holder's accesses, and the compiler and the processor may move accesses out of the critical section.
//! The repair is `Acquire` to lock and `Release` to unlock.

//@ verdict: race
//@ object: stack

use send_ptr::SendPtr;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

struct SpinLock(AtomicBool);

impl SpinLock {
    fn lock(&self) {
        while self
            .0
            .compare_exchange(false, true, Relaxed, Relaxed)
            .is_err()
        {
            std::hint::spin_loop();
        }
    }

    fn unlock(&self) {
        self.0.store(false, Relaxed);
    }
}

fn main() {
    let lock = SpinLock(AtomicBool::new(false));
    let mut votes = 0;
    let counter = SendPtr::to(&mut votes);
    let vote = || {
        lock.lock();
        let votes = unsafe { black_box(*counter.at(0)) }; //~ race read
        unsafe { *counter.at(0) = votes + 1 }; //~ race write
        lock.unlock();
    };
    rayon::join(vote, vote);
    println!("{votes} votes");
}
