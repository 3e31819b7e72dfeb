//! Two mutexes for one datum: each task locks, but not the same lock.
//!
//! A lock orders only those who take it. The two halves of the join hold different mutexes, so nothing keeps their writes apart.
//! The repair is one mutex that owns the datum, as Rust's `Mutex<T>` does.

//@ verdict: race
//@ object: stack

use send_ptr::SendPtr;
use std::hint::black_box;
use std::sync::Mutex;

fn main() {
    let mut balance = 100;
    let account = SendPtr::to(&mut balance);
    let (deposits, withdrawals) = (Mutex::new(()), Mutex::new(()));
    rayon::join(
        || {
            let _guard = deposits.lock().unwrap();
            unsafe { *account.at(0) = black_box(120) }; //~ race write
        },
        || {
            let _guard = withdrawals.lock().unwrap();
            unsafe { *account.at(0) = black_box(80) }; //~ race write
        },
    );
    println!("the balance is {balance}");
}
