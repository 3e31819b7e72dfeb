//! The address of a thread-local variable, handed to a task on another thread.
//!
//! The variable belongs to the thread that asked for its address, and that thread's task counts in it. The other task has the
//! address and counts there too: the two are parallel, and not on one thread if the second one is stolen.
//! The repair is to let each task use its own thread's variable.

//@ verdict: race
//@ object: thread-local

use send_ptr::SendPtr;
use std::cell::Cell;
use std::hint::black_box;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn main() {
    rayon::scope(|scope| {
        let count = COUNT.with(|count| SendPtr::to(unsafe { &mut *count.as_ptr() }));
        scope.spawn(move |_| {
            unsafe { *count.at(0) += black_box(1) }; //~ race write read?
        });
        COUNT.with(|count| unsafe { *count.as_ptr() += black_box(1) }); //~ race write read?
    });
    println!("at most 2: {}", COUNT.get());
}
