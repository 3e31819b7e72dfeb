//! The repair of `semaphore_racy`: one permit, so that holders exclude each other.
//!
//! It is taken and given up as a reader-writer lock is by readers, who may be inside together: by counting. Only the number of
//! permits tells the two apart, and one run of the tasks one after the other does not show it.

//@ verdict: certified-order
//@ determinacy: lock-ordered

use send_ptr::SendPtr;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Semaphore {
    taken: AtomicUsize,
    permits: usize,
}

impl Semaphore {
    fn acquire(&self) {
        loop {
            let taken = self.taken.load(Ordering::Relaxed);
            if taken < self.permits
                && self
                    .taken
                    .compare_exchange(taken, taken + 1, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return;
            }
            std::hint::spin_loop();
        }
    }

    fn release(&self) {
        self.taken.fetch_sub(1, Ordering::Release);
    }
}

fn main() {
    let semaphore = Semaphore {
        taken: AtomicUsize::new(0),
        permits: 1,
    };
    let mut votes = 0;
    let counter = SendPtr::to(&mut votes);
    let vote = || {
        semaphore.acquire();
        let votes = unsafe { black_box(*counter.at(0)) };
        unsafe { *counter.at(0) = votes + 1 };
        semaphore.release();
    };
    rayon::join(vote, vote);
    assert_eq!(votes, 2);
    println!("{votes} votes");
}
