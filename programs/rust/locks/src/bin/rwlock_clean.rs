//! The repair of `rwlock_racy`: whoever writes takes the write lock; readers share the read lock.
//!
//! What the reader sees depends on the order in which the two get the lock.

//@ verdict: certified-order
//@ determinacy: lock-ordered

use std::sync::RwLock;

fn main() {
    let cache = RwLock::new(0u64);
    let ((), seen) = rayon::join(|| *cache.write().unwrap() = 1, || *cache.read().unwrap());
    assert!(seen <= 1);
    assert_eq!(*cache.read().unwrap(), 1);
    println!("seen {seen}");
}
