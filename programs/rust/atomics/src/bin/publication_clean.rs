//! The repair of `publication_racy`: `Release` and `Acquire`. A reader that finds the flag set is ordered after the write.
//!
//! Whether it finds it set depends on the schedule, so the answer holds for the observed order.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use send_ptr::SendPtr;
use std::sync::atomic::{AtomicBool, Ordering};

fn main() {
    let mut message = Box::new(0u64);
    let place = SendPtr::to(&mut *message);
    let ready = AtomicBool::new(false);
    rayon::scope(|scope| {
        scope.spawn(|_| {
            unsafe { place.at(0).write_volatile(42) };
            ready.store(true, Ordering::Release);
        });
        scope.spawn(|_| {
            if ready.load(Ordering::Acquire) {
                assert_eq!(unsafe { place.at(0).read_volatile() }, 42);
            }
        });
    });
    println!("the message is {message}");
}
