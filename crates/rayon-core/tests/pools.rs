//! Pools: their numbers of threads, the indices that tasks see, handlers, and threads that the
//! program starts itself.

mod recorder;

use rayon_core::{
    current_num_threads, current_thread_has_pending_tasks, current_thread_index, in_place_scope,
    join, max_num_threads, scope, spawn, yield_local, yield_now, ThreadPool, ThreadPoolBuilder,
    Yield,
};
use recorder::note;
use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

fn pool_of(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

#[test]
fn the_program_decides_about_its_pools_and_the_runtime_about_the_rest() {
    assert_eq!(current_num_threads(), 4);
    assert_eq!(pool_of(0).current_num_threads(), 4);
    let pool = pool_of(7);
    assert_eq!(pool.current_num_threads(), 7);
    assert_eq!(pool.install(current_num_threads), 7);
    assert_eq!(pool_of(usize::MAX).current_num_threads(), max_num_threads());
    assert_eq!(current_num_threads(), 4);
}

#[test]
fn there_is_an_index_inside_of_pools_only() {
    let pool = pool_of(3);
    let other = pool_of(3);
    assert_eq!(current_thread_index(), None);
    assert_eq!(yield_now(), None);
    assert_eq!(yield_local(), None);
    assert_eq!(current_thread_has_pending_tasks(), None);
    pool.install(|| {
        assert!(current_thread_index().unwrap() < 3);
        assert_eq!(pool.current_thread_index(), current_thread_index());
        assert_eq!(other.current_thread_index(), None);
        assert_eq!(yield_now(), Some(Yield::Idle));
        assert_eq!(pool.yield_local(), Some(Yield::Idle));
        assert_eq!(other.yield_now(), None);
        assert_eq!(current_thread_has_pending_tasks(), Some(false));
        assert_eq!(other.current_thread_has_pending_tasks(), None);
        other.install(|| {
            assert_eq!(pool.current_thread_index(), None);
            assert!(other.current_thread_index().unwrap() < 3);
        });
        assert!(pool.current_thread_index().is_some());
    });
    assert_eq!(current_thread_index(), None);

    join(
        || assert!(current_thread_index().is_some()),
        || assert!(current_thread_index().is_some()),
    );
    scope(|_| assert!(current_thread_index().is_some()));
    in_place_scope(|s| {
        assert_eq!(current_thread_index(), None);
        s.spawn(|_| assert!(current_thread_index().is_some()));
    });
    spawn(|| assert!(current_thread_index().is_some()));
    assert_eq!(current_thread_index(), None);
}

#[test]
fn a_task_keeps_its_index_and_the_tasks_it_may_run_beside_get_others() {
    let pool = pool_of(4);
    pool.scope(|s| {
        let body = current_thread_index().unwrap();
        for _ in 0..20 {
            s.spawn(move |s| {
                let child = current_thread_index().unwrap();
                assert_ne!(child, body);
                s.spawn(move |_| {
                    let grandchild = current_thread_index().unwrap();
                    assert_ne!(grandchild, child);
                    assert_ne!(grandchild, body);
                });
                assert_eq!(current_thread_index(), Some(child));
            });
        }
        let (left, right) = join(current_thread_index, current_thread_index);
        assert_eq!(left, Some(body));
        assert_ne!(right, Some(body));
        assert_eq!(current_thread_index(), Some(body));
    });
}

#[test]
fn all_threads_get_work_and_nesting_deeper_than_their_number_is_fine() {
    fn descend(levels: usize, seen: &[AtomicUsize]) {
        seen[current_thread_index().unwrap()].fetch_add(1, Ordering::Relaxed);
        if levels > 0 {
            join(|| (), || descend(levels - 1, seen));
        }
    }
    for threads in [1, 2, 3] {
        let seen: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
        pool_of(threads).install(|| descend(12, &seen));
        let counts: Vec<_> = seen.into_iter().map(AtomicUsize::into_inner).collect();
        assert_eq!(counts.iter().sum::<usize>(), 13);
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
    }
}

#[test]
fn a_broadcast_is_on_the_threads_it_says() {
    let pool = pool_of(5);
    let indices = pool.broadcast(|context| {
        assert_eq!(Some(context.index()), current_thread_index());
        assert_eq!(context.num_threads(), current_num_threads());
        context.index()
    });
    assert_eq!(indices, [0, 1, 2, 3, 4]);
}

#[test]
fn tasks_that_a_spawn_starts_are_in_its_pool() {
    let pool = pool_of(9);
    let (sender, receiver) = std::sync::mpsc::channel();
    pool.spawn(move || spawn(move || sender.send(current_num_threads()).unwrap()));
    assert_eq!(receiver.recv().unwrap(), 9);
}

#[test]
fn handlers_are_on_their_thread() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (of_start, of_exit) = (Arc::clone(&seen), Arc::clone(&seen));
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .start_handler(move |index| {
            assert_eq!(current_thread_index(), Some(index));
            of_start.lock().unwrap().push(("start", index));
        })
        .exit_handler(move |index| {
            assert_eq!(current_thread_index(), Some(index));
            of_exit.lock().unwrap().push(("exit", index));
        })
        .build()
        .unwrap();
    let started = [("start", 0), ("start", 1), ("start", 2)];
    assert_eq!(*seen.lock().unwrap(), started);
    drop(pool);
    let ended = [("exit", 0), ("exit", 1), ("exit", 2)];
    assert_eq!(seen.lock().unwrap()[3..], ended);
    assert_eq!(Arc::strong_count(&seen), 1, "handlers go with the pool");
}

#[test]
fn a_spawn_handler_starts_threads_that_live_as_long_as_the_pool() {
    let mut threads = Vec::new();
    let alive = Arc::new(AtomicUsize::new(0));
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .thread_name(|index| format!("worker {index}"))
        .stack_size(1 << 20)
        .spawn_handler(|thread| {
            assert_eq!(thread.index(), threads.len());
            assert_eq!(thread.name(), Some(&*format!("worker {}", threads.len())));
            assert_eq!(thread.stack_size(), Some(1 << 20));
            let alive = Arc::clone(&alive);
            threads.push(thread::spawn(move || {
                alive.fetch_add(1, Ordering::Relaxed);
                thread.run();
                assert_eq!(current_thread_index(), None);
                alive.fetch_sub(1, Ordering::Relaxed);
            }));
            Ok(())
        })
        .build()
        .unwrap();
    assert_eq!(threads.len(), 3);
    while alive.load(Ordering::Relaxed) < 3 {
        thread::yield_now();
    }
    assert_eq!(pool.install(current_num_threads), 3);
    assert_eq!(alive.load(Ordering::Relaxed), 3);
    drop(pool);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_spawn_handler_that_fails_takes_back_what_it_started() {
    let mut threads = Vec::new();
    let error = ThreadPoolBuilder::new()
        .num_threads(3)
        .spawn_handler(|thread| match thread.index() {
            2 => Err(io::Error::other("no more")),
            _ => {
                threads.push(thread::spawn(|| thread.run()));
                Ok(())
            }
        })
        .build()
        .unwrap_err();
    assert_eq!(error.to_string(), "no more");
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(threads.len(), 2);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn threads_of_a_pool_that_fails_have_started_and_exited() {
    let (text, message) = recorder::structure_of_panic(|| {
        let _ = ThreadPoolBuilder::new()
            .num_threads(5)
            .thread_name(|index| match index {
                2 => panic!("no name"),
                _ => index.to_string(),
            })
            .start_handler(|index| note(format!("start{index}")))
            .exit_handler(|index| note(format!("exit{index}")))
            .build();
    });
    assert_eq!(message, "no name");
    assert_eq!(
        text,
        "broadcast1(each1{start0} each1{start1}) spawn-broadcast0{exit0} spawn-broadcast0{exit1}"
    );
}

#[test]
fn the_building_thread_can_be_the_first_of_the_pool() {
    thread::spawn(|| {
        let started = Arc::new(Mutex::new(Vec::new()));
        let of_handler = Arc::clone(&started);
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .start_handler(move |index| of_handler.lock().unwrap().push(index))
            .build()
            .unwrap();
        assert_eq!(*started.lock().unwrap(), [1]);
        assert_eq!(pool.current_thread_index(), Some(0));
        assert_eq!(current_num_threads(), 2);
        let second = ThreadPoolBuilder::new().use_current_thread().build();
        assert_eq!(
            second.unwrap_err().to_string(),
            "The current thread is already part of another thread pool."
        );
        pool.spawn(|| assert_eq!(current_thread_index(), Some(1)));
        drop(pool);
        assert_eq!(current_thread_index(), Some(0));
    })
    .join()
    .unwrap();
}

thread_local! {
    static WRAPPED: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn the_wrappers_of_a_scoped_pool_are_around_its_work() {
    let text = recorder::structure(|| {
        let result = ThreadPoolBuilder::new()
            .num_threads(2)
            .start_handler(|index| note(format!("start{index}")))
            .exit_handler(|index| note(format!("exit{index}")))
            .build_scoped(
                |thread| {
                    let index = thread.index();
                    note(format!("in{index}"));
                    WRAPPED.set(WRAPPED.get() + 1);
                    thread.run();
                    WRAPPED.set(WRAPPED.get() - 1);
                    note(format!("out{index}"));
                },
                |pool| {
                    assert_eq!(current_thread_index(), None);
                    assert_eq!(pool.install(|| WRAPPED.get()), 2);
                    pool.join(|| note("a"), || note("b"));
                    "result"
                },
            )
            .unwrap();
        assert_eq!(result, "result");
    });
    assert_eq!(
        text,
        "in0 start0 in1 start1 join1(left1{a} right1{b}) exit1 out1 exit0 out0"
    );
}

#[test]
fn wrappers_that_do_not_run_their_thread_here_do_no_harm() {
    let builder = || ThreadPoolBuilder::new().num_threads(3);
    let never = builder().build_scoped(drop, |pool| pool.current_num_threads());
    assert_eq!(never.unwrap(), 3);

    let threads = Mutex::new(Vec::new());
    let here = thread::current().id();
    let elsewhere = builder().build_scoped(
        |thread| {
            threads.lock().unwrap().push(thread::spawn(|| thread.run()));
            // Gives `run` time to do something wrong: the work is not for that thread.
            thread::sleep(Duration::from_millis(50));
        },
        |pool| {
            assert_eq!(thread::current().id(), here);
            pool.install(current_num_threads)
        },
    );
    assert_eq!(elsewhere.unwrap(), 3);

    let later = Mutex::new(Vec::new());
    let kept = builder().build_scoped(
        |thread| later.lock().unwrap().push(thread),
        |pool| pool.install(current_num_threads),
    );
    assert_eq!(kept.unwrap(), 3);
    for thread in later.into_inner().unwrap() {
        thread.run();
    }
    for thread in threads.into_inner().unwrap() {
        thread.join().unwrap();
    }
}

#[test]
fn a_panic_inside_of_a_scoped_pool_passes_its_wrappers_by() {
    let (text, message) = recorder::structure_of_panic(|| {
        let _ = ThreadPoolBuilder::new().num_threads(1).build_scoped(
            |thread| {
                thread.run();
                note("unharmed");
            },
            |_| panic!("inside"),
        );
    });
    assert_eq!(text, "unharmed");
    assert_eq!(message, "inside");
}
