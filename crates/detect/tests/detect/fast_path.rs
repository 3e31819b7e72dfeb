//! What the fast path decides and what it leaves to the detector, counted in small programs and
//! worked out by hand from its table.
//!
//! That it never decides wrongly is compared with the oracle elsewhere; here, that it decides what
//! it is made for. The stamp of `main` is 1, and tasks have the next ones in the order in which
//! they begin. In this notation the sites of accesses are three in turn, so every third access has
//! the same place in the memo.

use crate::common::{InlineChecks, parse, tell};
use finishline_detect::Failure;
use finishline_detect::inline::{FastPath, Inline, SLOTS};
use finishline_detect::order::{EspBags, Order, SpBags};
use finishline_model::event::{Record, replay};
use finishline_model::{AllocationId, Event, Location, TaskId};
use std::ptr::NonNull;

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

/// Task 4 is parallel to 5 but not of the tasks from 2 on that are known to be: 3, between them, is
/// not.
#[test]
fn a_parallel_reader_is_asked_about_once_a_site_and_step() {
    leaves(
        1,
        "async{ } finish{ finish{ async{ } } async{ ra } async{ ra rb rb ra rb rb ra } }",
    );
    leaves(
        2,
        "async{ } finish{ finish{ async{ } } async{ ra } async{ ra ra rb ra ra } }",
    );
    leaves(
        2,
        "async{ } finish{ finish{ async{ } } async{ ra } async{ ra rb rb finish{ } ra } }",
    );
    // The place is taken by another parallel reader in between, but not by one that is found to be
    // serial.
    leaves(
        3,
        "async{ } finish{ finish{ async{ } } async{ ra } async{ rb } async{ rc rc ra rc rc rb rc rc ra } }",
    );
    leaves(
        2,
        "async{ } finish{ finish{ async{ } } async{ ra } finish{ async{ rb } } async{ rc rc ra rc rc rb rc rc ra } }",
    );
}

fn recorded(program: &str) -> Vec<Record> {
    let mut records = Vec::new();
    tell(&parse(program), LOCATIONS, &mut records);
    records
}

/// An allocation ends no step.
#[test]
fn a_parallel_reader_is_known_across_allocations() {
    let mut run =
        recorded("async{ } finish{ finish{ async{ } } async{ ra } async{ ra rb rb ra } }");
    let accesses = |record: &Record| matches!(record, Record::Access(_));
    let last = run.iter().rposition(accesses).expect("an access");
    let allocation = Event::Alloc {
        task: TaskId(4),
        allocation: AllocationId(1),
        first: Location(LOCATIONS),
        count: 10,
    };
    run.insert(last, Record::Event(allocation));
    let mut checks = InlineChecks::<EspBags>::new(LOCATIONS);
    replay(&run, &mut checks);
    assert_eq!(checks.undecided, 1);
}

/// In the first run the fifth task learns that the fourth is parallel; in the second main must
/// learn that it is not.
#[test]
fn a_run_that_was_cut_short_leaves_nothing_behind() {
    let mut checks = InlineChecks::<EspBags>::new(LOCATIONS);
    let run = recorded("async{ } finish{ finish{ async{ } } async{ ra } async{ ra } }");
    let accesses = |record: &Record| matches!(record, Record::Access(_));
    let last = run.iter().rposition(accesses).expect("an access");
    replay(&run[..=last], &mut checks);
    assert_eq!(checks.undecided, 1);
    checks.clear();
    replay(
        &recorded("async{ } finish{ finish{ async{ } } async{ ra } } ra"),
        &mut checks,
    );
    assert_eq!(checks.undecided, 1);
}

/// Whoever used the fast path before.
#[test]
fn a_fast_path_is_made_true() {
    let mut fast = Box::new(FastPath::IDLE);
    fast.beside = [3; SLOTS];
    let mut detector = Inline::<EspBags>::new().expect("memory for a detector");
    // SAFETY: the box lives as long as the detector and does not move, and is read only between
    // calls of the detector.
    unsafe { detector.attach(NonNull::from(&mut *fast)) };
    for record in recorded("") {
        match record {
            Record::Event(event) => detector.event(&event),
            Record::Access(_) => unreachable!("an empty program makes no access"),
        }
    }
    // SAFETY: the detector is not running.
    let fast = unsafe { (&raw const *fast).read_volatile() };
    assert!(!fast.beside.contains(&3));
}

#[test]
fn isolated_blocks_and_what_they_have_accessed_are_left_to_the_detector() {
    leaves(3, "isolated{ ra wa ra }");
    leaves(4, "isolated{ ra } ra ra wa rb");
    leaves(2, "isolated{ ra } isolated{ } wb rb isolated{ wb } wc");
}

/// What main has done under a lock, or waited for, can't race with anything any more.
#[test]
fn what_precedes_all_the_rest_is_forgotten() {
    leaves(2, "lock0{ ra } ra ra wa rb");
    leaves(2, "finish{ async{ lock0{ wa } } } ra ra wa async{ ra } wb");
    leaves(4, "async{ finish{ async{ lock0{ wa } } } ra ra wa wb }");
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

#[test]
fn an_order_without_a_rule_for_it_fails_in_the_end() {
    let mut checks = InlineChecks::<SpBags>::new(LOCATIONS);
    tell(&parse("async{ wa } ra"), LOCATIONS, &mut checks);
    let failure = checks.detector.finish(2).expect_err("no judgement");
    assert_eq!(failure, Failure::Unsupported("async"));
}
