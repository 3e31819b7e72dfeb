//! A thread that spins until a flag is set, with `Relaxed`.
//!
//! It sees the flag, but nothing makes the value that was written before visible to it. The repair is `Release` and `Acquire`.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::sync::atomic::{AtomicBool, Ordering};

static READY: AtomicBool = AtomicBool::new(false);

fn main() {
    let mut value = Box::new(0u64);
    let place = SendPtr::to(&mut *value);
    let reader = std::thread::spawn(move || {
        while !READY.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        unsafe { place.at(0).read_volatile() } //~ race read
    });
    unsafe { place.at(0).write_volatile(42) }; //~ race write
    READY.store(true, Ordering::Relaxed);
    println!("saw {} of {value}", reader.join().unwrap());
}
