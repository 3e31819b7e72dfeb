//! A `Once` used as a flag: the value is written after `call_once`, not in it.
//!
//! Whoever finds the `Once` completed is ordered after what its closure did, and after nothing else. The value is written later, so
//! the other task reads it in parallel.
//! The repair is to write the value inside the closure.

//@ verdict: race
//@ object: global

use std::hint::black_box;
use std::sync::Once;

static DECIDED: Once = Once::new();
static mut SEED: u64 = 0;

fn seed() -> u64 {
    if !DECIDED.is_completed() {
        DECIDED.call_once(|| {});
        unsafe { SEED = black_box(42) }; //~ race write
        return 42;
    }
    unsafe { SEED } //~ race read
}

fn main() {
    let (left, right) = rayon::join(seed, seed);
    println!("{left} {right}");
}
