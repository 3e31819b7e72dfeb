//! A creator that holds the lock while it starts a thread, and goes on with the data after it has given the lock up.
//!
//! The thread waits for the lock. As soon as the creator has given it up the two run beside each other. The repair is to keep the guard as long as the
//! data are used.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::sync::Mutex;

fn main() {
    let mut total = Box::new(0u64);
    let place = SendPtr::to(&mut *total);
    let lock = Mutex::new(());
    std::thread::scope(|scope| {
        let guard = lock.lock().unwrap();
        scope.spawn(|| {
            let _guard = lock.lock().unwrap();
            unsafe { place.at(0).write_volatile(2) }; //~ race write
        });
        drop(guard);
        unsafe { place.at(0).write_volatile(1) }; //~ race write
    });
    println!("the total is {total}");
}
