//! A counter that is incremented by an instruction written down as such: `counter_clean` out of sight.
//!
//! There is no race, since the instruction is atomic. But what inline assembly accesses and orders is not seen, so the answer is about this
//! run alone, and names the instruction.

//@ verdict: observed
//@ class: unseen

use rayon::prelude::*;
use std::arch::asm;
use std::sync::atomic::AtomicU64;

fn add(total: &AtomicU64, value: u64) {
    unsafe {
        asm!("lock add [{total}], {value}", total = in(reg) total.as_ptr(), value = in(reg) value); //~ unseen
    }
}

fn main() {
    let total = AtomicU64::new(0);
    (0..100u64).into_par_iter().for_each(|i| add(&total, i));
    assert_eq!(total.into_inner(), 4950);
    println!("the total is 4950");
}
