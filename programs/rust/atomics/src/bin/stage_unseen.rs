//! A message published by raising the stage with `fetch_max`: ordered in truth, and reported.
//!
//! A reader that finds the stage raised is ordered after the write, by `Release` and `Acquire`. But the instrumentation leaves `fetch_max`
//! out, so its release is never heard of, and the write and the read seem to be parallel. The report must say that it may be
//! wrong, and where: what an operation that is not seen orders is taken for unordered. `stage_clean` says the same by `fetch_update`.

//@ verdict: race
//@ class: unseen
//@ object: heap

use send_ptr::SendPtr;
use std::sync::atomic::{AtomicU32, Ordering};

fn main() {
    let mut message = Box::new(0u64);
    let place = SendPtr::to(&mut *message);
    let stage = AtomicU32::new(0);
    rayon::scope(|scope| {
        scope.spawn(|_| {
            unsafe { place.at(0).write_volatile(42) }; //~ race write
            stage.fetch_max(1, Ordering::Release); //~ unseen
        });
        scope.spawn(|_| {
            if stage.load(Ordering::Acquire) >= 1 {
                assert_eq!(unsafe { place.at(0).read_volatile() }, 42); //~ race read
            }
        });
    });
    println!("the message is {message}");
}
