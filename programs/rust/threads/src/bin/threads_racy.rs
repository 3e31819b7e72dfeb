//! Two threads of the standard library that write one variable.
//!
//! A thread runs beside its creator and its siblings from its creation until it is joined. `std::thread::scope` joins both threads at its
//! end, and nothing orders them before that. The repair is a variable for each.

//@ verdict: race
//@ object: stack

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut cell = 0;
    let place = SendPtr::to(&mut cell);
    std::thread::scope(|scope| {
        scope.spawn(|| unsafe { *place.at(0) = black_box(1) }); //~ race write
        scope.spawn(|| unsafe { *place.at(0) = black_box(2) }); //~ race write
    });
    println!("the cell is {cell}");
}
