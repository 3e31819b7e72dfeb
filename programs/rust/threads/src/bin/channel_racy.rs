//! A worker thread that is sent its work, and a creator that does not wait for the answer.
//!
//! The worker waits for the message, so what the creator did before it sent is done. Nothing orders what the creator does afterwards with the
//! worker. The repair is to wait for an answer.

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;
use std::sync::mpsc;

fn main() {
    let mut cell = Box::new(1u64);
    let place = SendPtr::to(&mut *cell);
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let more: u64 = receiver.recv().unwrap();
        unsafe { place.at(0).write_volatile(more) }; //~ race write
    });
    sender.send(41).unwrap();
    let seen = unsafe { place.at(0).read_volatile() }; //~ race read
    worker.join().unwrap();
    println!("saw {seen}, then {cell}");
}
