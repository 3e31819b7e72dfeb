//! A task that needs a lock which its parent holds while it spawns the task.
//!
//! The parent releases the lock a little later, which a second thread can wait for. If the thread of the parent runs the task before
//! it goes on, the task waits for ever. The repair is to release the lock before spawning.

//@ verdict: unknown
//@ class: stopped

use std::sync::Mutex;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let budget = Mutex::new(100);
    pool.in_place_scope(|scope| {
        let mut held = budget.lock().unwrap();
        scope.spawn(|_| {
            *budget.lock().unwrap() -= 1; //~ waits
        });
        *held += 10;
    });
    println!("the budget is {}", budget.into_inner().unwrap());
}
