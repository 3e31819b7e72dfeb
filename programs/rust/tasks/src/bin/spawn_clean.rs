//! The repair of `spawn_racy`: the result comes through a channel. Receiving it is ordered after sending it.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use std::hint::black_box;
use std::sync::mpsc;

static mut RESULT: u64 = 0;

fn main() {
    let (sender, receiver) = mpsc::channel();
    rayon::spawn(move || {
        unsafe { RESULT = black_box(42) };
        sender.send(()).unwrap();
    });
    receiver.recv().unwrap();
    let seen = unsafe { black_box(RESULT) };
    assert_eq!(seen, 42);
    println!("seen {seen}");
}
