//! The repair of `threads_racy`: a variable for each thread, and a third one under a lock. One of the threads uses rayon.
//!
//! Creating and joining a thread is ordered in every schedule. How threads meet at a lock is seen for this schedule only, and so is who
//! drops the last of the references that a thread and its handle share.

//@ verdict: observed
//@ determinacy: atomic-ordered lock-ordered

use rayon::prelude::*;
use std::sync::Mutex;

fn main() {
    let mut cells = [0u64; 2];
    let total = Mutex::new(0);
    let (left, right) = cells.split_at_mut(1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            left[0] = 1;
            *total.lock().unwrap() += 1;
        });
        scope.spawn(|| {
            right[0] = (0..10u64).into_par_iter().sum();
            *total.lock().unwrap() += 2;
        });
    });
    assert_eq!(cells, [1, 45]);
    assert_eq!(total.into_inner().unwrap(), 3);
    println!("the cells are {cells:?}");
}
