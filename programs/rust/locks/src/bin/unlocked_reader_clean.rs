//! The repair of `unlocked_reader_racy`: the reader takes the lock too.
//!
//! It can still see any of the steps, which is no race but depends on the schedule: `--determinacy` says so.

//@ verdict: certified-order
//@ determinacy: lock-ordered
//@ fin: rust/fin/unlocked_reader_order.fin

use std::sync::Mutex;

fn main() {
    let progress = Mutex::new(0u64);
    let ((), seen) = rayon::join(
        || {
            for step in 1..=3 {
                *progress.lock().unwrap() = step;
            }
        },
        || *progress.lock().unwrap(),
    );
    assert!(seen <= 3);
    assert_eq!(*progress.lock().unwrap(), 3);
    println!("seen {seen}, at the end 3");
}
