//! A thread that is told to go on by `unpark` before the value is there.
//!
//! Whoever returns from `park` because of a token knows what was done before the token was put there, and nothing of what comes
//! after. The new thread runs first, so the token is there before `park` is called, which then does not wait.
//! The repair is to write first.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::thread;

fn main() {
    let mut value = Box::new(0u64);
    let place = SendPtr::to(&mut *value);
    let main = thread::current();
    thread::scope(|scope| {
        scope.spawn(move || {
            main.unpark();
            unsafe { place.at(0).write_volatile(42) }; //~ race write
        });
        thread::park();
        let _ = unsafe { place.at(0).read_volatile() }; //~ race read
    });
    println!("the value is {value}");
}
