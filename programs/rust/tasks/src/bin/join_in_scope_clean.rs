//! The repair of `join_in_scope_racy`: the write waits for the end of the scope, which waits for children and grandchildren.

//@ verdict: certified

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut cell = 0;
    let place = SendPtr::to(&mut cell);
    rayon::scope(|scope| {
        let write_later = || {
            scope.spawn(|scope| {
                scope.spawn(|_| {
                    unsafe { *place.at(0) = black_box(1) };
                });
            });
        };
        rayon::join(write_later, || ());
    });
    unsafe { *place.at(0) = black_box(2) };
    assert_eq!(cell, 2);
    println!("the cell is {cell}");
}
