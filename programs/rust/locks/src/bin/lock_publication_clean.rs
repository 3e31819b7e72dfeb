//! The repair of `lock_publication_racy`: the message is written before it is announced under the lock.
//!
//! The write and the read are not themselves under the lock. They are ordered because the reader reads only after it found the flag
//! set, which the writer did after the write: unlocking publishes all that came before.

//@ verdict: certified-order
//@ determinacy: lock-ordered

use send_ptr::SendPtr;
use std::sync::Mutex;

fn main() {
    let mut message = Box::new(0u64);
    let place = SendPtr::to(&mut *message);
    let announced = Mutex::new(false);
    rayon::scope(|scope| {
        scope.spawn(|_| {
            unsafe { place.at(0).write_volatile(42) };
            *announced.lock().unwrap() = true;
        });
        scope.spawn(|_| {
            if *announced.lock().unwrap() {
                assert_eq!(unsafe { place.at(0).read_volatile() }, 42);
            }
        });
    });
    println!("the message is {message}");
}
