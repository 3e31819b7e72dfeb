//! A task spawned into the outer scope from inside an inner one.
//!
//! The end of the inner scope waits for the tasks of the inner scope. The task belongs to the outer scope, so it may still run when
//! the inner one has ended: the write after it is parallel. The repair is to spawn into the inner scope.

//@ verdict: race
//@ object: stack

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut cell = 0;
    let place = SendPtr::to(&mut cell);
    rayon::scope(|outer| {
        rayon::scope(|_inner| {
            outer.spawn(|_| unsafe { *place.at(0) = black_box(1) }); //~ race write
        });
        unsafe { *place.at(0) = black_box(2) }; //~ race write
    });
    println!("the cell is {cell}");
}
