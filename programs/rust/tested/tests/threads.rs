//! Tests whose tasks ask which thread they are on.

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use std::collections::HashSet;
use std::sync::Mutex;
use std::thread;

/// Each task looks at the handle of its own thread. The handle of the thread that runs the test is another one. Tasks on one
/// thread count their references to its handle, in whatever order.
//@ verdict: certified-order
//@ determinacy: atomic-ordered
#[test]
fn a_task_has_the_number_of_its_thread() {
    let of_test = thread::current().id();
    let ids: Vec<_> = (0..64)
        .into_par_iter()
        .map(|_| thread::current().id())
        .collect();
    assert!(ids.iter().all(|id| *id != of_test));
    assert!(ids.iter().collect::<HashSet<_>>().len() > 1);
}

/// Threads have the names that the pool gives them.
//@ verdict: certified-order
//@ determinacy: lock-ordered
#[test]
fn threads_have_their_names() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .thread_name(|index| format!("worker {index}"))
        .build()
        .unwrap();
    let names = Mutex::new(HashSet::new());
    pool.broadcast(|context| {
        let name = thread::current().name().map(str::to_owned);
        assert_eq!(name, Some(format!("worker {}", context.index())));
        names.lock().unwrap().insert(name);
    });
    assert_eq!(names.into_inner().unwrap().len(), 3);
}
