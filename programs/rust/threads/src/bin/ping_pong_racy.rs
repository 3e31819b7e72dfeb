//! Two threads that hand a cell to and fro by messages, one of them too late.
//!
//! Whoever has received the message has the cell until it sends one. The creator writes after it has sent, when the cell is the
//! other thread's. The repair is to write before.

//@ verdict: race
//@ object: heap

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
            let value = unsafe { place.at(0).read_volatile() }; //~ race read
            pong.send(value).unwrap();
        }
    });
    let mut total = 0;
    for round in 0..ROUNDS {
        ping.send(()).unwrap();
        unsafe { place.at(0).write_volatile(round) }; //~ race write
        total += pongs.recv().unwrap();
    }
    drop(ping);
    other.join().unwrap();
    println!("the total is {total}, the cell {cell}");
}
