//! Two threads that take two locks in different orders, each when the other one has its first.
//!
//! Messages see to it that both have their first lock, so they wait for each other in every schedule. Such a run must end, and say where. The repair is to take
//! locks in one order everywhere.

//@ verdict: unknown
//@ class: stopped

use std::sync::{Mutex, mpsc};

fn main() {
    let (left, right) = (Mutex::new(1), Mutex::new(2));
    let (has_left, left_is_taken) = mpsc::channel();
    let (has_right, right_is_taken) = mpsc::channel();
    std::thread::scope(|scope| {
        let (left, right) = (&left, &right);
        scope.spawn(move || {
            let first = left.lock().unwrap();
            has_left.send(()).unwrap();
            right_is_taken.recv().unwrap();
            println!("{}", *first + *right.lock().unwrap()); //~ waits
        });
        let first = right.lock().unwrap();
        has_right.send(()).unwrap();
        left_is_taken.recv().unwrap();
        println!("{}", *first + *left.lock().unwrap());
    });
}
