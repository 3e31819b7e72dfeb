//! What tasks find by the thread that they are on, and what belongs to the thread that runs them.

use crate::package::Package;
use libtest_mimic::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("lenders::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial("tasks_are_on_their_threads", tasks_are_on_their_threads),
        trial("a_task_that_overflows_is_told_so", a_task_that_overflows),
    ]
}

const PARTS: &str = "
    use rayon::prelude::*;
    use rayon::{ThreadPool, ThreadPoolBuilder, join, scope};
    use std::cell::{Cell, RefCell};
    use std::hint::black_box;
    use std::panic::catch_unwind;
    use std::ptr::null_mut;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;

    unsafe extern \"C\" {
        fn pthread_self() -> usize;
        fn pthread_getattr_np(thread: usize, attributes: *mut [u64; 16]) -> i32;
        fn pthread_attr_getstack(of: *const [u64; 16], start: *mut u64, bytes: *mut u64) -> i32;
        fn raise(signal: i32) -> i32;
        fn sigaction(signal: i32, new: *const [usize; 19], old: *mut [usize; 19]) -> i32;
    }

    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(0) };
        static KEPT: RefCell<Option<Dropped>> = const { RefCell::new(None) };
    }

    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Dropped;
    impl Drop for Dropped {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
        }
    }

    fn pool(threads: usize) -> ThreadPool {
        ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    fn values_are_dropped_with_their_pool() {
        let own = pool(4);
        own.broadcast(|_| KEPT.with_borrow_mut(|kept| *kept = Some(Dropped)));
        assert_eq!(DROPS.load(SeqCst), 0);
        drop(own);
        assert_eq!(DROPS.load(SeqCst), 4);
    }

    fn the_stack_is_the_one_in_use() {
        let of_task = |here: *const u64| {
            let (mut attributes, mut start, mut bytes) = ([0; 16], 0, 0);
            unsafe {
                pthread_getattr_np(pthread_self(), &mut attributes);
                pthread_attr_getstack(&attributes, &mut start, &mut bytes);
            }
            assert!((start..start + bytes).contains(&(here as u64)));
        };
        scope(|scope| {
            scope.spawn(|_| {
                let here = black_box(0);
                of_task(&here);
            });
        });
    }

    static HANDLED_BY: AtomicUsize = AtomicUsize::new(0);
    extern \"C\" fn handler(_: i32) {
        HANDLED_BY.store(unsafe { pthread_self() }, SeqCst);
    }

    fn handlers_run_as_the_thread_that_runs() {
        const USER: i32 = 10;
        let (mut action, mut known) = ([0; 19], [0; 19]);
        action[0] = handler as *const () as usize;
        unsafe { sigaction(USER, &action, null_mut()) };
        unsafe { sigaction(USER, null_mut(), &mut known) };
        assert_eq!(known[0], action[0]);
        let main = unsafe { pthread_self() };
        scope(|scope| {
            scope.spawn(|_| {
                assert_ne!(unsafe { pthread_self() }, main);
                unsafe { raise(USER) };
                assert_ne!(unsafe { pthread_self() }, main);
            });
        });
        assert_eq!(HANDLED_BY.load(SeqCst), main);
    }

    fn panics_are_counted_where_they_are_caught() {
        for _ in 0..3 {
            let panicked = || scope(|scope| scope.spawn(|_| _ = join(|| panic!(), || ())));
            assert!(catch_unwind(panicked).is_err());
            let panicked = || pool(2).install(|| panic!());
            assert!(catch_unwind(panicked).is_err());
            assert!(!thread::panicking());
        }
    }

    fn several_threads_share_a_pool() {
        let total = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    (0..200).into_par_iter().for_each(|i| {
                        NUMBER.set(NUMBER.get() + 1);
                        *total.lock().unwrap() += i;
                    });
                });
            }
        });
        assert_eq!(*total.lock().unwrap(), 3 * 19_900);
    }

    fn handlers_and_names_are_those_of_the_thread() {
        let own = ThreadPoolBuilder::new()
            .num_threads(3)
            .thread_name(|index| format!(\"worker {index}\"))
            .start_handler(|index| NUMBER.set(100 + index))
            .build()
            .unwrap();
        let names = own.broadcast(|context| {
            assert_eq!(NUMBER.get(), 100 + context.index());
            thread::current().name().unwrap().to_owned()
        });
        assert_eq!(names, [\"worker 0\", \"worker 1\", \"worker 2\"]);
    }

    fn threads_of_the_program_lend_themselves() {
        let mut threads = Vec::new();
        let own = ThreadPoolBuilder::new()
            .num_threads(3)
            .spawn_handler(|thread| {
                threads.push(thread::spawn(move || {
                    NUMBER.set(7 + thread.index());
                    thread.run();
                }));
                Ok(())
            })
            .build()
            .unwrap();
        assert_eq!(own.broadcast(|_| NUMBER.get()), [7, 8, 9]);
        let ids: Vec<_> = threads.iter().map(|it| it.thread().id()).collect();
        assert_eq!(own.broadcast(|_| thread::current().id()), ids);
        drop(own);
        for thread in threads {
            thread.join().unwrap();
        }
    }

    fn scoped_threads_have_what_their_wrapper_sets() {
        let set = ThreadPoolBuilder::new().num_threads(2).build_scoped(
            |thread| {
                NUMBER.set(55);
                thread.run();
            },
            |own| own.install(|| join(|| NUMBER.get(), || NUMBER.get())),
        );
        assert_eq!(set.unwrap(), (55, 55));
    }

    fn main() {
        values_are_dropped_with_their_pool();
        the_stack_is_the_one_in_use();
        handlers_run_as_the_thread_that_runs();
        panics_are_counted_where_they_are_caught();
        several_threads_share_a_pool();
        handlers_and_names_are_those_of_the_thread();
        threads_of_the_program_lend_themselves();
        scoped_threads_have_what_their_wrapper_sets();
        println!(\"done\");
    }";

/// With few threads, tasks meet on all of them. None of that is a race.
fn tasks_are_on_their_threads() {
    let package = Package::with_rayon("tasks_are_on_their_threads", PARTS);
    for options in [
        &["--logical-threads=16"][..],
        &["--logical-threads=3", "--release"],
        &["--logical-threads=2", "--release", "--first=right"],
    ] {
        let called = package.finishline(&[&["run"], options].concat()).expect(0);
        assert_eq!(called.stdout, "done\n");
        // There are threads of std.
        assert!(called.stderr.contains("\nobserved: "), "{}", called.stderr);
    }
}

const OVERFLOWS: &str = "
    fn deep(n: u64) -> u64 {
        let here = std::hint::black_box([n; 100]);
        if n == u64::MAX { n } else { deep(n + 1) + here[7] }
    }

    fn main() {
        rayon::scope(|scope| scope.spawn(|_| println!(\"{}\", deep(0))));
    }";

/// std's handler looks for the guard page of the thread that runs.
fn a_task_that_overflows() {
    let package = Package::with_rayon("a_task_that_overflows", OVERFLOWS);
    let called = package.finishline(&["run"]).expect(3);
    assert!(
        called.stderr.contains("has overflowed its stack"),
        "{}",
        called.stderr
    );
}
