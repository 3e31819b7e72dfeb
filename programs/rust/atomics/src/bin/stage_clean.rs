//! A message published by raising the stage with `fetch_update`, which is seen: `stage_unseen` as it can be checked.
//!
//! Whether the reader finds the stage raised depends on the schedule, so the answer holds for the observed order.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use send_ptr::SendPtr;
use std::sync::atomic::{AtomicU32, Ordering};

fn main() {
    let mut message = Box::new(0u64);
    let place = SendPtr::to(&mut *message);
    let stage = AtomicU32::new(0);
    rayon::scope(|scope| {
        scope.spawn(|_| {
            unsafe { place.at(0).write_volatile(42) };
            let raised = |stage| (stage < 1).then_some(1);
            _ = stage.fetch_update(Ordering::Release, Ordering::Relaxed, raised);
        });
        scope.spawn(|_| {
            if stage.load(Ordering::Acquire) >= 1 {
                assert_eq!(unsafe { place.at(0).read_volatile() }, 42);
            }
        });
    });
    println!("the message is {message}");
}
