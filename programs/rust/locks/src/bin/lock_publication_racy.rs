//! A message announced under a lock before it is written.
//!
//! The writer sets the flag under the mutex and writes the message afterwards. The reader that finds the flag set is ordered after
//! the critical section, not after what the writer did later: its read is parallel to the write.
//! The repair is to write the message first and to announce it then.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::sync::Mutex;

fn main() {
    let mut message = Box::new(0u64);
    let place = SendPtr::to(&mut *message);
    let announced = Mutex::new(false);
    rayon::scope(|scope| {
        scope.spawn(|_| {
            *announced.lock().unwrap() = true;
            unsafe { place.at(0).write_volatile(42) }; //~ race write
        });
        scope.spawn(|_| {
            if *announced.lock().unwrap() {
                let _ = unsafe { place.at(0).read_volatile() }; //~ race read
            }
        });
    });
    println!("the message is {message}");
}
