//! Panics arrive where they arrive with rayon, after everything that would have run has run.

mod recorder;

use rayon_core::{broadcast, join, scope, scope_fifo, spawn, ThreadPoolBuilder};
use recorder::{note, structure, structure_of_panic};
use std::process::Command;
use std::sync::{Arc, Mutex};

#[test]
fn both_halves_run_and_the_left_panic_wins() {
    let (text, message) = structure_of_panic(|| {
        join(
            || panic!("left"),
            || {
                note("right runs");
                panic!("right")
            },
        );
    });
    assert_eq!(text, "join1(left1{} right1{right runs})");
    assert_eq!(message, "left");
}

#[test]
fn the_left_panic_wins_even_if_the_right_half_runs_first() {
    recorder::run_right_first();
    let (text, message) = structure_of_panic(|| {
        join(|| panic!("left"), || panic!("right"));
    });
    assert_eq!(text, "join1(right1{} left1{})");
    assert_eq!(message, "left");
}

#[test]
fn the_result_of_the_other_half_is_dropped() {
    let result = Arc::new(());
    let (_, message) = structure_of_panic(|| {
        join(|| Arc::clone(&result), || panic!("right"));
    });
    assert_eq!(message, "right");
    let (_, message) = structure_of_panic(|| {
        join(|| panic!("left"), || Arc::clone(&result));
    });
    assert_eq!(message, "left");
    assert_eq!(Arc::strong_count(&result), 1);
}

#[test]
fn a_scope_passes_on_the_first_panic_after_all_tasks() {
    let (text, message) = structure_of_panic(|| {
        scope(|s| {
            s.spawn(|_| panic!("first"));
            s.spawn(|_| note("still runs"));
            s.spawn(|_| panic!("second"));
            panic!("body");
        });
    });
    assert_eq!(
        text,
        "scope1(spawn-in-scope1{} spawn-in-scope1{still runs} spawn-in-scope1{})"
    );
    assert_eq!(message, "first");
}

#[test]
fn the_body_of_a_scope_may_be_the_one_that_panics() {
    let (text, message) = structure_of_panic(|| {
        scope_fifo(|s| {
            s.spawn_fifo(|_| note("task"));
            panic!("body");
        });
    });
    assert_eq!(text, "scope-fifo1(spawn-fifo-in-scope1{task})");
    assert_eq!(message, "body");
}

#[test]
fn a_panic_in_an_inner_scope_reaches_the_outer_one_as_its_own() {
    let (text, message) = structure_of_panic(|| {
        scope(|outer| {
            outer.spawn(|_| scope(|inner| inner.spawn(|_| panic!("inner"))));
            note("outer goes on");
        });
    });
    assert_eq!(
        text,
        "scope1(spawn-in-scope1{scope2(spawn-in-scope2{})} outer goes on)"
    );
    assert_eq!(message, "inner");
}

#[test]
fn a_broadcast_passes_on_the_panic_of_the_lowest_index() {
    let (text, message) = structure_of_panic(|| {
        broadcast(|context| match context.index() {
            0 => (),
            index => panic!("{index}"),
        });
    });
    assert_eq!(text, "broadcast1(each1{} each1{} each1{} each1{})");
    assert_eq!(message, "1");
}

#[test]
fn a_scope_passes_on_the_panic_of_a_spawned_broadcast() {
    let (_, message) = structure_of_panic(|| {
        scope(|s| s.spawn_broadcast(|_, context| panic!("{}", context.index())));
    });
    assert_eq!(message, "0");
}

#[test]
fn install_is_left_by_the_panic_and_so_is_the_pool() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (_, message) = structure_of_panic(|| pool.install(|| panic!("inside")));
    assert_eq!(message, "inside");
    assert_eq!(pool.current_thread_index(), None);
}

#[test]
fn the_pool_handles_the_panics_that_nobody_waits_for() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let of_handler = Arc::clone(&seen);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .panic_handler(move |payload| {
            let message = payload.downcast::<&str>().expect("a message");
            of_handler.lock().unwrap().push(*message);
        })
        .exit_handler(|_| panic!("exit"))
        .start_handler(|_| panic!("start"))
        .build()
        .unwrap();
    let text = structure(|| {
        pool.spawn(|| {
            spawn(|| panic!("nested"));
            panic!("outer")
        });
        pool.spawn_fifo(|| panic!("fifo"));
        pool.spawn_broadcast(|_| panic!("broadcast"));
    });
    assert_eq!(
        text,
        "spawn0{spawn0{}} spawn-fifo0{} spawn-broadcast0{broadcast1(each1{} each1{})}"
    );
    drop(pool);
    assert_eq!(
        *seen.lock().unwrap(),
        [
            "start",
            "start",
            "nested",
            "outer",
            "fifo",
            "broadcast",
            "broadcast",
            "exit",
            "exit"
        ]
    );
}

#[test]
fn without_a_handler_the_process_is_aborted() {
    const CHILD: &str = "FINISHLINE_TEST_ABORTS";
    if std::env::var_os(CHILD).is_some() {
        spawn(|| panic!("nobody waits"));
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "without_a_handler_the_process_is_aborted"])
        .arg("--nocapture")
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), None, "ended by a signal");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("nobody waits"), "{errors}");
    assert!(errors.contains("aborting"), "{errors}");
}
