//! What the fast path decides and what it leaves to the detector, counted in small programs and worked out by hand from its table.
//!
//! That it never decides wrongly is compared with the oracle elsewhere; here, that it decides what it is made for. The stamp of
//! `main` is 1, and tasks have the next ones in the order in which they begin. In this notation the sites of accesses are three in
//! turn, so every third access has the same place in the memo.

mod common;

use common::{InlineChecks, parse, tell};
use finishline_detect::order::{EspBags, Order, SpBags};
use finishline_model::Location;

const LOCATIONS: u64 = 26;

fn undecided<O: Order>(program: &str) -> usize {
    let mut checks = InlineChecks::<O>::new(LOCATIONS);
    tell(&parse(program), LOCATIONS, &mut checks);
    checks.undecided
}

fn leaves(expected: usize, program: &str) {
    assert_eq!(undecided::<EspBags>(program), expected, "{program}");
}

#[test]
fn what_is_serial_is_decided() {
    leaves(0, "ra wa ra wa wb rb wb");
    // Whoever did it, if all tasks of that time have been waited for.
    leaves(0, "finish{ async{ wa rb } async{ wc } } ra wb rc wc");
    leaves(0, "wa finish{ async{ ra wa } } async{ wa ra }");
    // While task 2 may still run only what is older is known to be serial.
    leaves(0, "wa rb async{ } ra wb");
    leaves(1, "async{ } finish{ async{ wa } } ra ra");
    leaves(1, "async{ } finish{ async{ wa } } wa wa");
}

/// Task 3 is not below 2, the first that is parallel to it.
#[test]
fn what_the_running_task_did_is_decided() {
    leaves(0, "async{ } async{ ra ra }");
    leaves(0, "async{ } async{ wa wa }");
    leaves(0, "async{ } async{ wa ra wa ra }");
    leaves(0, "async{ } async{ ra wa ra }");
}

#[test]
fn what_the_tasks_of_a_loop_read_is_decided() {
    leaves(0, "wa finish{ async{ ra } async{ ra } async{ ra ra } } wa");
    // Main is parallel to them too, but to itself it is not.
    leaves(0, "wa finish{ async{ ra } async{ ra } ra }");
    // A writer among them is a race, and so is a write of what they read.
    leaves(1, "async{ wa } async{ ra }");
    leaves(1, "async{ ra } async{ wa }");
}

/// Task 3 is parallel to 4 but not of the tasks from 2 on that are known to be: the finish may end before 4 begins.
#[test]
fn a_parallel_reader_is_asked_about_once_a_site_and_step() {
    leaves(
        1,
        "async{ } finish{ async{ ra } async{ ra rb rb ra rb rb ra } }",
    );
    leaves(2, "async{ } finish{ async{ ra } async{ ra ra rb ra ra } }");
    leaves(
        2,
        "async{ } finish{ async{ ra } async{ ra rb rb finish{ } ra } }",
    );
    // The place is taken by another reader in between.
    leaves(
        3,
        "async{ } finish{ async{ ra } async{ rb } async{ rc rc ra rc rc rb rc rc ra } }",
    );
}

#[test]
fn isolated_blocks_and_what_they_have_accessed_are_left_to_the_detector() {
    leaves(3, "isolated{ ra wa ra }");
    leaves(4, "isolated{ ra } ra ra wa rb");
    leaves(2, "isolated{ ra } isolated{ } wb rb isolated{ wb } wc");
}

/// SP-bags knows of nobody but the running task without a look-up.
#[test]
fn spawn_and_sync() {
    assert_eq!(undecided::<SpBags>("wa ra wb wa"), 0);
    assert_eq!(
        undecided::<SpBags>("scope{ spawn{ wa } sync ra ra wa wa }"),
        2
    );
}

/// The fast path is not the detector's any more once it is detached, and what was found stays.
#[test]
fn a_detached_detector_goes_on() {
    let mut checks = InlineChecks::<EspBags>::new(LOCATIONS);
    checks.detector.detach();
    tell(
        &parse("async{ wa } ra isolated{ rb }"),
        LOCATIONS,
        &mut checks,
    );
    assert_eq!(checks.undecided, 3);
    let racing = checks.detector.finish(3).expect("a judgement").racing;
    assert_eq!(racing.in_order(), [Location(0)]);
}
