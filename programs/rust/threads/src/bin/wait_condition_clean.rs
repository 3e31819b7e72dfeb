//! The repair of `wait_condition_racy`: the value is written before the flag is set.

//@ verdict: observed
//@ determinacy: atomic-ordered lock-ordered

use send_ptr::SendPtr;
use std::sync::{Condvar, Mutex};

fn main() {
    let mut value = Box::new(0u64);
    let place = SendPtr::to(&mut *value);
    let (ready, told) = (Mutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut is_ready = ready.lock().unwrap();
            while !*is_ready {
                is_ready = told.wait(is_ready).unwrap();
            }
            drop(is_ready);
            let seen = unsafe { place.at(0).read_volatile() };
            println!("saw {seen}");
        });
        unsafe { place.at(0).write_volatile(42) };
        *ready.lock().unwrap() = true;
        told.notify_one();
    });
    println!("the value is {value}");
}
