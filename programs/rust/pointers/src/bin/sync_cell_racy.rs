//! A cell with `unsafe impl Sync`, so that all iterations can note the best value so far.
//!
//! `Sync` is a promise that sharing is safe, not something that makes it so. The iterations are parallel: one compares with a best
//! that another is just replacing, and a better value can be lost.
//! The repair is to let rayon combine: `max()` needs no shared state. (An `AtomicU64` with `fetch_max` would do as well.)

//@ verdict: race
//@ object: stack
//@ fin: rust/fin/sync_cell_racy.fin

use rayon::prelude::*;
use std::cell::UnsafeCell;

struct Best(UnsafeCell<u64>);

unsafe impl Sync for Best {}

impl Best {
    fn offer(&self, candidate: u64) {
        let best = unsafe { self.0.get().read_volatile() }; //~ race read
        if candidate > best {
            unsafe { self.0.get().write_volatile(candidate) }; //~ race write
        }
    }
}

fn main() {
    let best = Best(UnsafeCell::new(0));
    (0..100u64)
        .into_par_iter()
        .for_each(|i| best.offer((i * 61 + 1) % 101));
    println!("the best is {}", best.0.into_inner());
}
