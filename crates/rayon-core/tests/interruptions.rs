//! Tasks that begin in the midst of another one: which may, when, and on which thread. Each test
//! has pools of its own, since tests that run side by side take each other's threads.

mod recorder;

use rayon_core::{current_thread_index, join, scope, ThreadPool, ThreadPoolBuilder};
use recorder::{interrupt, note, structure};

fn pool(threads: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap()
}

#[test]
fn the_second_half_may_begin_in_the_first() {
    recorder::offer_halves();
    let pool = pool(4);
    let program = || {
        let both = join(
            || {
                note("a");
                let interrupted = interrupt(true);
                note("b");
                assert!(!interrupt(true), "it has begun");
                interrupted
            },
            || {
                note("c");
                2
            },
        );
        note("after");
        assert_eq!(both, (true, 2));
    };
    assert_eq!(
        structure(|| pool.install(program)),
        "join1(+1 left1{a -1 right1{c} b}) after"
    );
    recorder::run_right_first();
    let program = || {
        join(|| note("a"), || assert!(interrupt(true)));
    };
    assert_eq!(
        structure(|| pool.install(program)),
        "join1(+2 right1{-2 left1{a}})"
    );
}

#[test]
fn the_only_thread_of_a_pool_begins_with_the_left_half() {
    recorder::offer_halves();
    recorder::run_right_first();
    let halves = || {
        join(|| assert!(!interrupt(true)), || note("right"));
    };
    assert_eq!(
        structure(|| pool(1).install(halves)),
        "join1(left1{} right1{right})"
    );
}

#[test]
fn a_half_that_has_not_begun_runs_in_its_turn() {
    recorder::offer_halves();
    let program = || {
        let both = join(|| 1, || 2);
        assert_eq!(both, (1, 2));
        assert!(!interrupt(true), "nothing is offered any more");
    };
    assert_eq!(structure(program), "join1(+1 left1{} -1 right1{})");
}

#[test]
fn panics_of_interrupting_halves_wait_for_the_join() {
    recorder::offer_halves();
    let halves = || {
        join(
            || {
                interrupt(true);
                note("goes on");
            },
            || panic!("right"),
        );
    };
    let (text, message) = recorder::structure_of_panic(|| pool(4).install(halves));
    assert_eq!(text, "join1(+1 left1{-1 right1{} goes on})");
    assert_eq!(message, "right");
}

#[test]
fn tasks_of_scopes_may_begin_in_the_body_and_in_each_other() {
    recorder::defer();
    let pool = pool(4);
    let text = structure(|| {
        pool.scope(|s| {
            s.spawn(|_| note("first"));
            s.spawn(|_| note("second"));
            s.spawn(|_| {
                note("third");
                assert!(interrupt(false));
            });
            note("body");
            assert!(interrupt(false));
        });
    });
    assert_eq!(
        text,
        "scope1(+1 +2 +3 body -1 spawn-in-scope1{first} \
         -3 spawn-in-scope1{third -2 spawn-in-scope1{second}})"
    );
}

/// What a task keeps by thread must not be met by the task that interrupts it.
#[test]
fn no_task_comes_to_the_thread_of_an_interrupted_one() {
    recorder::offer_halves();
    recorder::defer();
    let pool = pool(3);
    fn inner(held: &[usize]) {
        // More tasks than threads are left.
        let halves = || {
            let index = current_thread_index().unwrap();
            assert!(!held.contains(&index), "{index} is held");
        };
        for _ in 0..5 {
            join(halves, || {
                join(halves, halves);
            });
        }
        scope(|s| {
            for _ in 0..5 {
                s.spawn(|_| halves());
            }
        });
    }
    pool.install(|| {
        let first = current_thread_index().unwrap();
        join(
            || assert!(interrupt(true)),
            || {
                let second = current_thread_index().unwrap();
                assert_ne!(first, second);
                inner(&[first]);
                join(
                    || assert!(interrupt(true)),
                    || {
                        let third = current_thread_index().unwrap();
                        assert!(![first, second].contains(&third));
                        inner(&[first, second]);
                        join(
                            || assert!(!interrupt(true), "no thread is left"),
                            || assert_eq!(current_thread_index(), Some(third)),
                        );
                    },
                );
            },
        );
        // Nothing is held any more.
        let mut seen = [false; 3];
        for _ in 0..6 {
            let (_, index) = join(|| (), || current_thread_index().unwrap());
            seen[index] = true;
        }
        assert_eq!(seen.iter().filter(|seen| **seen).count(), 2);
    });
}

#[test]
fn a_left_half_begins_on_the_thread_of_its_join() {
    recorder::offer_halves();
    recorder::run_right_first();
    let pool = pool(4);
    pool.install(|| {
        let here = current_thread_index();
        let left = join(
            || current_thread_index(),
            || {
                assert_ne!(current_thread_index(), here);
                assert!(interrupt(true));
            },
        );
        assert_eq!(left.0, here);
    });
}

#[test]
fn tasks_of_another_pool_do_not_interrupt() {
    recorder::offer_halves();
    recorder::defer();
    let (one, other) = (pool(2), pool(2));
    let text = structure(|| {
        one.install(|| {
            join(
                || other.install(|| assert!(!interrupt(true))),
                || note("right"),
            );
        });
        // Outside of all pools nothing is held.
        one.in_place_scope(|s| {
            s.spawn(|_| note("task"));
            assert!(interrupt(true));
            note("body");
        });
    });
    assert_eq!(
        text,
        "join1(+1 left1{} -1 right1{right}) in-place-scope2(+2 -2 spawn-in-scope2{task} body)"
    );
}

#[test]
fn tasks_that_nobody_waits_for_run_before_their_pool_ends() {
    recorder::defer();
    let text = structure(|| {
        let pool = pool(2);
        pool.spawn(|| note("first"));
        pool.spawn(|| note("second"));
        assert!(interrupt(true));
        note("body");
    });
    assert_eq!(text, "+1 +2 -2 spawn0{second} body -1 spawn0{first}");
}

#[test]
fn a_left_half_does_not_begin_in_a_task_that_its_thread_took_on() {
    recorder::offer_halves();
    recorder::run_right_first();
    let pool = pool(2);
    pool.install(|| {
        let here = current_thread_index();
        let inner = || {
            // Both threads wait for a half, so this one goes to the first.
            assert_eq!(current_thread_index(), here);
            assert!(!interrupt(false));
        };
        join(
            || assert_eq!(current_thread_index(), here),
            || join(|| (), inner),
        );
    });
}
