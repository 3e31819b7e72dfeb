//! A list that the first task makes, and a handle to it that each thread keeps, as the crate `crossbeam-epoch` has it.
//!
//! The first task of a thread gets the list from a `OnceLock`, behind which its making is over. Later tasks of the thread use
//! the handle and ask nobody. They rely on the task that kept it, and by that on the making of the list.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use rayon::prelude::*;
use std::cell::Cell;
use std::hint::black_box;
use std::ptr::null;
use std::sync::OnceLock;

static LIST: OnceLock<Vec<u64>> = OnceLock::new();

thread_local! {
    static HANDLE: Cell<*const Vec<u64>> = const { Cell::new(null()) };
}

fn list() -> &'static Vec<u64> {
    if HANDLE.get().is_null() {
        HANDLE.set(LIST.get_or_init(|| black_box((0..1000).collect())));
    }
    // SAFETY: the list is never freed.
    unsafe { &*HANDLE.get() }
}

fn main() {
    let sum: u64 = (0..1000usize).into_par_iter().map(|i| list()[i]).sum();
    assert_eq!(sum, 499_500);
    println!("the list sums up to {sum}");
}
