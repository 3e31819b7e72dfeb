//! Publication by fences: a relaxed store after a release fence, a relaxed load before an acquire fence.
//!
//! Together they order the write before the read as a releasing store and an acquiring load would.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use send_ptr::SendPtr;
use std::sync::atomic::{AtomicBool, Ordering, fence};

fn main() {
    let mut message = Box::new(0u64);
    let place = SendPtr::to(&mut *message);
    let ready = AtomicBool::new(false);
    rayon::scope(|scope| {
        scope.spawn(|_| {
            unsafe { place.at(0).write_volatile(42) };
            fence(Ordering::Release);
            ready.store(true, Ordering::Relaxed);
        });
        scope.spawn(|_| {
            if ready.load(Ordering::Relaxed) {
                fence(Ordering::Acquire);
                assert_eq!(unsafe { place.at(0).read_volatile() }, 42);
            }
        });
    });
    println!("the message is {message}");
}
