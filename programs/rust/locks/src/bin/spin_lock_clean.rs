//! The repair of `spin_lock_racy`: `Acquire` to lock, `Release` to unlock, so that each holder sees what the one before it wrote.

//@ verdict: certified-order
//@ determinacy: lock-ordered

use send_ptr::SendPtr;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

struct SpinLock(AtomicBool);

impl SpinLock {
    fn lock(&self) {
        while self
            .0
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            std::hint::spin_loop();
        }
    }

    fn unlock(&self) {
        self.0.store(false, Ordering::Release);
    }
}

fn main() {
    let lock = SpinLock(AtomicBool::new(false));
    let mut votes = 0;
    let counter = SendPtr::to(&mut votes);
    let vote = || {
        lock.lock();
        let votes = unsafe { black_box(*counter.at(0)) };
        unsafe { *counter.at(0) = votes + 1 };
        lock.unlock();
    };
    rayon::join(vote, vote);
    assert_eq!(votes, 2);
    println!("{votes} votes");
}
