//! The repair of `ping_pong_racy`: who writes has the cell.

//@ verdict: observed
//@ determinacy: atomic-ordered lock-ordered

use send_ptr::SendPtr;
use std::sync::mpsc;

const ROUNDS: u64 = 20;

fn main() {
    let mut cell = Box::new(0u64);
    let place = SendPtr::to(&mut *cell);
    let (ping, pings) = mpsc::channel();
    let (pong, pongs) = mpsc::channel();
    let other = std::thread::spawn(move || {
        while pings.recv().is_ok() {
            let value = unsafe { place.at(0).read_volatile() };
            unsafe { place.at(0).write_volatile(value + 1) };
            pong.send(()).unwrap();
        }
    });
    for _ in 0..ROUNDS {
        let value = unsafe { place.at(0).read_volatile() };
        unsafe { place.at(0).write_volatile(value + 1) };
        ping.send(()).unwrap();
        pongs.recv().unwrap();
    }
    drop(ping);
    other.join().unwrap();
    assert_eq!(*cell, 2 * ROUNDS);
    println!("the cell is {cell}");
}
