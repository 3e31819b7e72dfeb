//! The repair of `parking_lot_mutex_racy`: both tasks lock.

//@ verdict: certified-order
//@ determinacy: lock-ordered
//@ fin: lessons/reduction_isolated_clean.fin

use parking_lot::Mutex;

fn main() {
    let level = Mutex::new(1u64);
    rayon::join(|| *level.lock() += 4, || *level.lock() += 5);
    assert_eq!(level.into_inner(), 10);
    println!("the level is 10");
}
