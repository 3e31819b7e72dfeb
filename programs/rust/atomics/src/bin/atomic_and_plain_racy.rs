//! An atomic counter, read through a plain pointer because "a read needs no atomic".
//!
//! An atomic access is ordered against other atomic ones. The plain read is parallel to the additions, and may be torn, cached or
//! moved by the compiler. The repair is `load(Relaxed)`, which costs nothing on most machines.

//@ verdict: race
//@ object: stack

use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    let hits = AtomicU64::new(0);
    let ((), seen) = rayon::join(
        || _ = hits.fetch_add(1, Ordering::Relaxed), //~ race write
        || unsafe { hits.as_ptr().read_volatile() }, //~ race read
    );
    println!("seen {seen}, at the end {}", hits.into_inner());
}
