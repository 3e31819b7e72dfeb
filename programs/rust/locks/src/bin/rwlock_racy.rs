//! Writing under the read lock of an `RwLock`, through a cell with `unsafe impl Sync`.
//!
//! Any number of readers hold the lock at once: a read lock orders a task against writers only. Two tasks that both hold it
//! and both write are parallel. The repair is the write lock.

//@ verdict: race
//@ object: stack

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::RwLock;

struct Cache(UnsafeCell<u64>);

unsafe impl Sync for Cache {}

fn main() {
    let cache = RwLock::new(Cache(UnsafeCell::new(0)));
    rayon::join(
        || {
            let cache = cache.read().unwrap();
            unsafe { *cache.0.get() = black_box(1) }; //~ race write
        },
        || {
            let cache = cache.read().unwrap();
            unsafe { *cache.0.get() = black_box(2) }; //~ race write
        },
    );
    println!("cached {}", cache.into_inner().unwrap().0.into_inner());
}
