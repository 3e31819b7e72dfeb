//! The repair of `subtracting_lock_racy`: both tasks take the lock.
//!
//! A mutex that is given up by a subtraction, as that of parking_lot 0.13. Readers of a lock leave in the same way, but nobody
//! gets in here who does not find it free.

//@ verdict: certified-order
//@ determinacy: lock-ordered

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
        unsafe { *counter.at(0) = votes + 1 };
        lock.unlock();
    };
    rayon::join(vote, || rayon::join(vote, vote));
    assert_eq!(votes, 3);
    println!("{votes} votes");
}
