//! The repair of `lazy_lock_racy`: what is inside the `LazyLock` protects itself, by a `Mutex`.
//!
//! Additions commute, so the result is the same in every schedule; that the two tasks' additions conflict, `--determinacy` says.

//@ verdict: certified-order
//@ determinacy: atomic-ordered lock-ordered

use std::sync::{LazyLock, Mutex};

static TOTAL: LazyLock<Mutex<u64>> = LazyLock::new(|| Mutex::new(1));

fn main() {
    rayon::join(
        || *TOTAL.lock().unwrap() += 2,
        || *TOTAL.lock().unwrap() += 3,
    );
    assert_eq!(*TOTAL.lock().unwrap(), 6);
    println!("the total is 6");
}
