//! The repair of `panic_racy`: each task has its own cell. What was written before a panic is ordered before what comes after the
//! scope or the join that passes the panic on.

//@ verdict: certified
//@ fin: rust/fin/panic_clean.fin

use rayon::prelude::*;
use send_ptr::SendPtr;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn main() {
    std::panic::set_hook(Box::new(|_| ()));
    let mut cells = [0u64; 4];
    let cell = SendPtr::new(&mut cells);
    let scope = catch_unwind(AssertUnwindSafe(|| {
        rayon::scope(|scope| {
            scope.spawn(|_| {
                unsafe { cell.at(0).write_volatile(1) };
                panic!("after the write");
            });
            scope.spawn(|_| unsafe { cell.at(1).write_volatile(2) });
        });
    }));
    assert!(scope.is_err());
    unsafe { cell.at(0).write_volatile(cell.at(0).read_volatile() + 10) };
    let join = catch_unwind(AssertUnwindSafe(|| {
        rayon::join(
            || panic!("the left half"),
            || unsafe { cell.at(2).write_volatile(3) },
        )
    }));
    assert!(join.is_err());
    let iterator = catch_unwind(AssertUnwindSafe(|| {
        (0..64).into_par_iter().for_each(|i| assert_ne!(i, 40));
    }));
    assert!(iterator.is_err());
    assert_eq!(cells, [11, 2, 3, 0]);
    println!("three panics passed on");
}
