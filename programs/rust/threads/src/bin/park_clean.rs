//! The repair of `park_racy`: the value is written before the token is put there that `park` takes.

//@ verdict: observed
//@ determinacy: atomic-ordered

use send_ptr::SendPtr;
use std::thread;

fn main() {
    let mut value = Box::new(0u64);
    let place = SendPtr::to(&mut *value);
    let main = thread::current();
    thread::scope(|scope| {
        scope.spawn(move || {
            unsafe { place.at(0).write_volatile(42) };
            main.unpark();
        });
        thread::park();
        assert_eq!(unsafe { place.at(0).read_volatile() }, 42);
    });
    println!("the value is {value}");
}
