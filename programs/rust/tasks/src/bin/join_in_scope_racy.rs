//! A `join` inside a scope, taken to wait for what its halves have spawned into the scope.
//!
//! A `join` waits for its two halves. A task that a half spawns into the scope belongs to the scope: it may still run when the join
//! has returned, so the write after the join is parallel to it. The repair is to end the scope first.

//@ verdict: race
//@ object: stack

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut cell = 0;
    let place = SendPtr::to(&mut cell);
    rayon::scope(|scope| {
        let write_later = || {
            scope.spawn(|scope| {
                scope.spawn(|_| {
                    unsafe { *place.at(0) = black_box(1) }; //~ race write
                });
            });
        };
        rayon::join(write_later, || ());
        unsafe { *place.at(0) = black_box(2) }; //~ race write
    });
    println!("the cell is {cell}");
}
