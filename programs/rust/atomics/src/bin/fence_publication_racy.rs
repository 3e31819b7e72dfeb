//! A message written behind the release fence that was to publish it.
//!
//! A fence orders what comes before it in its task before whoever finds a value that was stored behind it. What comes between the fence and
//! the store is not ordered by either: the store itself is relaxed.
//! The repair is to write first and fence then, as in `fence_publication_clean`.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::sync::atomic::{AtomicBool, Ordering, fence};

fn main() {
    let mut message = Box::new(0u64);
    let place = SendPtr::to(&mut *message);
    let ready = AtomicBool::new(false);
    rayon::scope(|scope| {
        scope.spawn(|_| {
            fence(Ordering::Release);
            unsafe { place.at(0).write_volatile(42) }; //~ race write
            ready.store(true, Ordering::Relaxed);
        });
        scope.spawn(|_| {
            if ready.load(Ordering::Relaxed) {
                fence(Ordering::Acquire);
                let _ = unsafe { place.at(0).read_volatile() }; //~ race read
            }
        });
    });
    println!("the message is {message}");
}
