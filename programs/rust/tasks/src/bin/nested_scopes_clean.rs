//! The repair of `nested_scopes_racy`: the task is spawned into the inner scope, whose end waits for it.
//!
//! A second task goes to the outer scope on purpose, from a task of the inner one, and touches a cell that nobody reads before the
//! outer scope has ended.

//@ verdict: certified

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut cells = [0, 0];
    let cell = SendPtr::new(&mut cells);
    rayon::scope(|outer| {
        rayon::scope(|inner| {
            inner.spawn(|_| {
                unsafe { *cell.at(0) = black_box(1) };
                outer.spawn(|_| unsafe { *cell.at(1) = black_box(10) });
            });
        });
        unsafe { *cell.at(0) += 1 };
    });
    assert_eq!(cells, [2, 10]);
    println!("the cells are {cells:?}");
}
