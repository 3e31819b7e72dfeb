//! A task that panics, and a sibling that reads what it was about to write.
//!
//! A panic is passed on when the scope ends. Until then the siblings run on, and whatever the panicking task wrote before is as
//! parallel to them as without the panic. The repair is to give each task its own cell.

//@ verdict: race
//@ object: stack
//@ fin: rust/fin/panic_racy.fin

use send_ptr::SendPtr;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn main() {
    std::panic::set_hook(Box::new(|_| ()));
    let mut cell = 0u64;
    let place = SendPtr::to(&mut cell);
    let result = catch_unwind(AssertUnwindSafe(|| {
        rayon::scope(|scope| {
            scope.spawn(|_| {
                unsafe { place.at(0).write_volatile(1) }; //~ race write
                panic!("after the write");
            });
            scope.spawn(|_| _ = unsafe { place.at(0).read_volatile() }); //~ race read
        });
    }));
    println!(
        "the scope panicked: {}, the cell is {cell}",
        result.is_err()
    );
}
