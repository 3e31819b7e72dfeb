//! The repair of `mutex_racy`: one mutex, which owns the balance.
//!
//! The deposits commute, so the result is the same in every order of the critical sections; that there are conflicting ones,
//! `--determinacy` says.

//@ verdict: certified-order
//@ determinacy: lock-ordered
//@ fin: lessons/reduction_isolated_clean.fin

use std::sync::Mutex;

fn main() {
    let balance = Mutex::new(100);
    rayon::join(
        || *balance.lock().unwrap() += 20,
        || *balance.lock().unwrap() -= 20,
    );
    let balance = balance.into_inner().unwrap();
    assert_eq!(balance, 100);
    println!("the balance is {balance}");
}
