//! parking_lot's `RwLock`, with a write through `data_ptr` under the read lock.
//!
//! The two halves of the join may hold the read lock at the same time, so the write of one and the read of the other are parallel.
//! The repair is to take the write lock for the write.

//@ verdict: race
//@ object: stack

use parking_lot::RwLock;
use std::hint::black_box;

fn main() {
    let hits = RwLock::new(0u64);
    let ((), seen) = rayon::join(
        || {
            let _guard = hits.read();
            unsafe { *hits.data_ptr() = black_box(1) }; //~ race write
        },
        || {
            let _guard = hits.read();
            unsafe { hits.data_ptr().read_volatile() } //~ race read
        },
    );
    println!("seen {seen}");
}
