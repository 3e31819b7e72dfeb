//! A block behind a mutex: one task takes it out and frees it, the other one uses it if it is still there.
//!
//! Under the lock, or behind it: who has taken the block out is alone with it, and whoever used it before did so under the lock.

//@ verdict: certified-order
//@ determinacy: lock-ordered

use std::sync::Mutex;

fn main() {
    for under_the_lock in [true, false] {
        let shared = Mutex::new(Some(Box::new(7u64)));
        rayon::join(
            || {
                let mut guard = shared.lock().unwrap();
                let taken = guard.take();
                if under_the_lock {
                    drop(taken);
                } else {
                    drop(guard);
                    drop(taken);
                }
            },
            || {
                if let Some(number) = &mut *shared.lock().unwrap() {
                    **number += 1;
                }
            },
        );
        assert!(shared.lock().unwrap().is_none());
    }
    println!("freed twice, once under the lock");
}
