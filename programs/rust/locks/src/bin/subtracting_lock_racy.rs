//! A mutex that is given up by a subtraction, and a task that reads without it.
//!
//! The lock orders the two tasks that take it. The third one reads beside both. The repair is to take the lock there too.

//@ verdict: race
//@ object: stack

use send_ptr::SendPtr;
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};

struct Lock(AtomicU8);

impl Lock {
    fn lock(&self) {
        while self
            .0
            .compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            std::hint::spin_loop();
        }
    }

    fn unlock(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

fn main() {
    let lock = Lock(AtomicU8::new(0));
    let mut votes = 0;
    let counter = SendPtr::to(&mut votes);
    let vote = || {
        lock.lock();
        let votes = unsafe { black_box(*counter.at(0)) };
        unsafe { *counter.at(0) = votes + 1 }; //~ race write
        lock.unlock();
    };
    let look = || {
        unsafe { counter.at(0).read_volatile() } //~ race read
    };
    let (_, (_, seen)) = rayon::join(vote, || rayon::join(vote, look));
    println!("{votes} votes, {seen} at some time");
}
