//! Two threads that take two locks in different orders, each when the other one has its first.
//!
//! The barrier sees to it that both have their first lock, so they wait for each other in every schedule. Such a run must end, and say where. The repair is
//! to take locks in one order everywhere.

//@ verdict: unknown
//@ class: stopped
//@ determinacy: atomic-ordered

use std::sync::{Barrier, Mutex};

fn main() {
    let (left, right) = (Mutex::new(1), Mutex::new(2));
    let both = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let first = left.lock().unwrap();
            both.wait();
            println!("{}", *first + *right.lock().unwrap()); //~ waits
        });
        let first = right.lock().unwrap();
        both.wait();
        println!("{}", *first + *left.lock().unwrap());
    });
}
