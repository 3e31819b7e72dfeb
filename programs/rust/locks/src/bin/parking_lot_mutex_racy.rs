//! parking_lot's `data_ptr`, used to skip the lock where "nobody else writes".
//!
//! One half of the join writes under the lock, the other reads through the raw pointer without it: nothing orders the two.
//! The repair is to lock in both.

//@ verdict: race
//@ object: stack

use parking_lot::Mutex;
use std::hint::black_box;

fn main() {
    let level = Mutex::new(0u64);
    let ((), seen) = rayon::join(
        || *level.lock() = black_box(5),                //~ race write
        || unsafe { level.data_ptr().read_volatile() }, //~ race read
    );
    println!("seen {seen}, at the end {}", level.into_inner());
}
