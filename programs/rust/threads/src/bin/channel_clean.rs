//! The repair of `channel_racy`: the creator waits for the answer before it looks.
//!
//! The message and the answer order the two accesses. That they do is seen for this schedule.

//@ verdict: observed
//@ determinacy: atomic-ordered lock-ordered

use send_ptr::SendPtr;
use std::sync::mpsc;

fn main() {
    let mut cell = Box::new(1u64);
    let place = SendPtr::to(&mut *cell);
    let (sender, receiver) = mpsc::channel();
    let (answers, answer) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let more: u64 = receiver.recv().unwrap();
        unsafe { place.at(0).write_volatile(more) };
        answers.send(()).unwrap();
    });
    sender.send(41).unwrap();
    answer.recv().unwrap();
    let seen = unsafe { place.at(0).read_volatile() };
    worker.join().unwrap();
    println!("saw {seen}, then {cell}");
}
