//! The repair of `parking_lot_rwlock_racy`: the write lock for the write, the read lock for the read.

//@ verdict: certified-order
//@ determinacy: lock-ordered

use parking_lot::RwLock;

fn main() {
    let hits = RwLock::new(0u64);
    let ((), seen) = rayon::join(|| *hits.write() = 1, || *hits.read());
    assert!(seen <= 1);
    println!("seen {seen}, at the end {}", hits.into_inner());
}
