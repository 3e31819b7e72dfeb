//! The writer locks, the reader does not: "it is only a read".
//!
//! A lock that one side does not take protects nothing. The read is parallel to the writes and can see any of them.
//! The repair is to read under the lock too, or after the tasks have been joined.

//@ verdict: race
//@ object: heap
//@ fin: lessons/isolated_against_plain_racy.fin

use send_ptr::SendPtr;
use std::sync::Mutex;

fn main() {
    let mut progress = Box::new(0u64);
    let counter = SendPtr::to(&mut *progress);
    let lock = Mutex::new(());
    let seen = rayon::join(
        || {
            for step in 1..=3 {
                let _guard = lock.lock().unwrap();
                unsafe { counter.at(0).write_volatile(step) }; //~ race write
            }
        },
        || unsafe { counter.at(0).read_volatile() }, //~ race read
    );
    println!("seen {}, at the end {progress}", seen.1);
}
