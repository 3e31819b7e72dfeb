//! A semaphore with two permits, used as if it were a lock.
//!
//! Two tasks may have a permit at the same time, so both count the same vote. The repair is one permit.

//@ verdict: race
//@ object: stack

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
        permits: 2,
    };
    let mut votes = 0;
    let counter = SendPtr::to(&mut votes);
    let vote = || {
        semaphore.acquire();
        let votes = unsafe { black_box(*counter.at(0)) }; //~ race read
        unsafe { *counter.at(0) = votes + 1 }; //~ race write
        semaphore.release();
    };
    rayon::join(vote, vote);
    println!("at most 2 votes: {votes}");
}
