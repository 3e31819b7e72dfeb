//! Blocks, locks and thread-local variables, told as a program would.

use super::*;
use crate::checker::findings::{self, Process};
use crate::facts::races::{ConflictingPair, Manner, Object, OrderedBy};
use crate::facts::structure::FinishKind;
use crate::facts::synchronisation::{How, Operation};
use finishline_model::AccessKind;
use finishline_model::kinds::rayon::{self, INTERFACE_VERSION};

mod kept;
mod on_threads;
mod parallel_code;
mod readers;

/// What the detector can't follow is no reason to call a run clean.
#[test]
fn a_failure_of_the_detector_is_told() {
    let mut checker = Checker::new(Options::default(), 0..0, 0..0).unwrap();
    let ended = checker.begin_finish(FinishKind::Rayon(rayon::FinishKind::Scope), 1);
    checker.end_finish(ended);
    assert!(checker.failure().is_none());
    let complete = |checker: &Checker| {
        let text = findings::findings(checker, &Process::default()).text();
        text.contains(r#""complete":true"#)
    };
    assert!(complete(&checker));
    checker.begin_task(TaskKind::Rayon(rayon::TaskKind::ScopeSpawn), ended, 2, 0);
    checker.end_task();
    assert!(checker.failure().is_some());
    assert!(!complete(&checker));
}

/// A drop-in of another version may mean something else by the same call.
#[test]
fn a_drop_in_of_another_version_is_not_believed() {
    let checker = checker();
    let file = |drop_in| {
        let process = Process {
            drop_in,
            ..Process::default()
        };
        findings::findings(&checker, &process)
    };
    for (version, drop_in, complete) in [
        (None, false, true),
        (Some(INTERFACE_VERSION), true, true),
        (Some(INTERFACE_VERSION - 1), true, false),
        (Some(INTERFACE_VERSION + 1), true, false),
    ] {
        let file = file(version);
        assert_eq!((file.drop_in, file.complete), (drop_in, complete));
    }
}

const BLOCK: u64 = 0x7000_0000_0000;
const LOCK: u64 = 0x7100_0000_0000;

fn checker() -> Checker {
    Checker::new(Options::default(), 0..0, 0..0).unwrap()
}

/// Two tasks of one scope.
fn beside(
    checker: &mut Checker,
    first: impl FnOnce(&mut Checker),
    second: impl FnOnce(&mut Checker),
) {
    let finish = checker.begin_finish(FinishKind::Rayon(rayon::FinishKind::Scope), 1);
    checker.begin_task(TaskKind::Rayon(rayon::TaskKind::ScopeSpawn), finish, 2, 0);
    first(checker);
    checker.end_task();
    checker.begin_task(TaskKind::Rayon(rayon::TaskKind::ScopeSpawn), finish, 3, 0);
    second(checker);
    checker.end_task();
    checker.end_finish(finish);
}

fn write(checker: &mut Checker) {
    let here = Here {
        place: 10,
        stack_pointer: u64::MAX,
    };
    checker.access(AccessKind::Write, BLOCK, 8, here);
}

fn under_lock(checker: &mut Checker, body: impl FnOnce(&mut Checker)) {
    let here = Here {
        place: 20,
        stack_pointer: u64::MAX,
    };
    let take = Operation {
        address: LOCK,
        before: Some(0),
        after: Some(1),
        how: How::Replaced,
        acquires: true,
        releases: false,
    };
    let give_up = Operation {
        before: Some(1),
        after: Some(0),
        acquires: false,
        releases: true,
        ..take
    };
    checker.atomic(&take, 4, here);
    body(checker);
    checker.atomic(&give_up, 4, here);
}

/// A checker that knows the lock, and a block of this size.
fn with_block(bytes: u64) -> Checker {
    let mut checker = checker();
    let same = |checker: &mut Checker| under_lock(checker, |_| ());
    beside(&mut checker, same, same);
    checker.allocated(BLOCK, bytes, 4);
    checker
}

#[test]
fn a_freed_block_is_the_same_until_it_is_allocated_again() {
    let free = |checker: &mut Checker| checker.freed(BLOCK, 30);
    let again = |checker: &mut Checker| {
        checker.allocated(BLOCK, 8, 5);
        write(checker);
    };
    for (first, second, races) in [
        (
            &write as &dyn Fn(&mut Checker),
            &free as &dyn Fn(&mut Checker),
            1,
        ),
        (&free, &write, 1),
        (&free, &again, 0),
    ] {
        let mut checker = with_block(8);
        beside(&mut checker, first, second);
        assert_eq!(checker.found.races.iter().count(), races);
        assert!(checker.found.races.iter().all(|race| {
            let manners = [race.first.manner, race.second.manner];
            manners.contains(&Manner::Free)
                && matches!(race.names.object, Object::Heap { bytes: 8, .. })
        }));
    }
}

#[test]
fn a_block_that_goes_back_to_the_system_is_judged_and_forgotten() {
    let free = |checker: &mut Checker| checker.freed(BLOCK, 30);
    let mut checker = with_block(GIVEN_BACK);
    beside(&mut checker, write, free);
    assert_eq!(checker.found.races.iter().count(), 1);

    let mut checker = with_block(GIVEN_BACK);
    let write_and_free = |checker: &mut Checker| {
        write(checker);
        free(checker);
    };
    beside(&mut checker, write_and_free, write);
    assert!(checker.found.races.is_empty());

    let mut checker = with_block(GIVEN_BACK);
    let before = checker.detection.shadow.used_bytes();
    beside(&mut checker, free, |checker| {
        let after = checker.detection.shadow.used_bytes();
        assert_eq!(after, before, "nobody had accessed it");
        write(checker);
    });
    assert!(checker.found.races.is_empty());
}

#[test]
fn locks_protect_a_block_from_being_freed_and_not_what_is_freed() {
    let free = |checker: &mut Checker| under_lock(checker, |c| c.freed(BLOCK, 30));
    let locked = |checker: &mut Checker| under_lock(checker, write);
    let mut checker = with_block(8);
    beside(&mut checker, locked, free);
    assert!(checker.found.races.is_empty() && !checker.found.overlaps.is_empty());
    // Nobody may use it now, with or without a lock, though this one knows that it is freed.
    let mut checker = with_block(8);
    beside(&mut checker, write, free);
    assert_eq!(checker.found.races.iter().count(), 1);
}

#[test]
fn a_block_that_grows_in_place_has_ended_all_the_same() {
    let grow = |checker: &mut Checker| checker.reallocated(BLOCK, BLOCK, 16, 30);
    let grow_locked = |checker: &mut Checker| under_lock(checker, grow);
    let locked = |checker: &mut Checker| under_lock(checker, write);
    for (first, second, races) in [
        (
            &write as &dyn Fn(&mut Checker),
            &grow as &dyn Fn(&mut Checker),
            1,
        ),
        (&grow, &write, 1),
        (&write, &grow_locked, 1),
        (&locked, &grow_locked, 0),
        (&grow_locked, &locked, 0),
    ] {
        let mut checker = with_block(8);
        beside(&mut checker, first, second);
        assert_eq!(checker.found.races.iter().count(), races);
        assert_eq!(checker.heap.live(BLOCK).unwrap().bytes, 16);
    }
}

/// What is written down, with everything that `--determinacy` adds.
fn findings_of(checker: &mut Checker) -> String {
    checker.options.determinacy = true;
    findings::findings(checker, &Process::default()).text()
}

#[test]
fn a_lock_that_both_hold_is_named_with_where_each_took_it() {
    let mut checker = with_block(8);
    checker.allocated(LOCK - 16, 32, 5);
    let locked = |checker: &mut Checker| under_lock(checker, write);
    beside(&mut checker, locked, locked);
    let pair = checker.found.overlaps.iter().next().unwrap();
    let Some((OrderedBy::Lock(lock), Object::Heap { start, .. })) = pair.names.ordered_by else {
        panic!("{pair:?}");
    };
    assert_eq!(
        (checker.synchronisation.lock(lock).address, start),
        (LOCK, LOCK - 16)
    );
    for held in &pair.names.locks {
        let [(taken, Object::Heap { bytes: 32, .. })] = held[..] else {
            panic!("{pair:?}");
        };
        assert_eq!((taken.lock, taken.at.place), (lock, 20));
    }
    let text = findings_of(&mut checker);
    let lock = format!(
        r#"{{"kind":"lock","address":{LOCK},"object":{{"kind":"heap","start":{},"#,
        LOCK - 16
    );
    assert_eq!(text.matches(&lock).count(), 3, "{text}");
    assert!(text.contains(r#""class":"lock-ordered""#) && text.contains(r#""excludes":true"#));
}

/// The first task gives up the lock behind its access, the second one takes it before its own.
#[test]
fn a_lock_in_between_is_named() {
    let mut checker = with_block(8);
    let nothing = |_: &mut Checker| ();
    beside(
        &mut checker,
        |checker| {
            write(checker);
            under_lock(checker, nothing);
        },
        |checker| {
            under_lock(checker, nothing);
            write(checker);
        },
    );
    assert!(checker.found.races.is_empty());
    let text = findings_of(&mut checker);
    assert_eq!(text.matches("lock-ordered\"").count(), 1, "{text}");
    assert!(text.contains(&format!(
        r#""ordered_by":{{"synchroniser":{{"kind":"lock","address":{LOCK},"#
    )));
    assert!(text.contains(r#""excludes":false"#) && text.contains(r#""locks":[]"#));
}

/// Two writes of an atomic variable have no lock, and a variable that is not given up as locks are
/// is none.
#[test]
fn what_is_no_lock_is_not_named_as_one() {
    let mut checker = with_block(8);
    let count = |before: u64| {
        move |checker: &mut Checker| {
            let here = Here {
                place: 20,
                stack_pointer: u64::MAX,
            };
            let operation = Operation {
                address: LOCK + 8,
                before: Some(before),
                after: Some(before + 1),
                how: How::Replaced,
                acquires: true,
                releases: false,
            };
            checker.atomic(&operation, 8, here);
            write(checker);
        }
    };
    beside(&mut checker, count(0), count(1));
    assert_eq!(checker.found.races.iter().count(), 1);
    let text = findings_of(&mut checker);
    assert_eq!(text.matches(r#""ordered_by":null"#).count(), 2, "{text}");
    assert_eq!(text.matches(r#""locks":[]"#).count(), 4, "{text}");
    assert!(text.contains(r#""class":"atomic-ordered""#));
}

/// The place has written somewhere else before, and what it finds here was done under a lock.
#[test]
fn what_was_done_under_a_lock_is_not_taken_for_what_precedes() {
    let mut checker = with_block(8);
    let here = Here {
        place: 10,
        stack_pointer: u64::MAX,
    };
    for kind in [AccessKind::Read, AccessKind::Write] {
        beside(
            &mut checker,
            |checker| under_lock(checker, write),
            |checker| {
                checker.access(kind, BLOCK + 64, 8, here);
                checker.access(kind, BLOCK, 8, here);
            },
        );
        let racy = |race: &ConflictingPair| {
            (race.first.kind, race.second.kind) == (AccessKind::Write, kind)
        };
        assert!(checker.found.races.iter().any(racy), "{kind:?}");
    }
}

/// A task writes, passes a fence and sets a flag; the next one finds the flag set, passes a fence
/// and writes.
#[test]
fn fences_on_both_sides_order() {
    let here = Here {
        place: 20,
        stack_pointer: u64::MAX,
    };
    let set = Operation {
        address: LOCK + 8,
        before: None,
        after: Some(1),
        how: How::Replaced,
        acquires: false,
        releases: false,
    };
    let find = Operation {
        before: Some(1),
        after: None,
        ..set
    };
    for fences in [[true, true], [true, false], [false, true]] {
        let mut checker = with_block(8);
        beside(
            &mut checker,
            |checker| {
                write(checker);
                if fences[0] {
                    checker.fence(false, true);
                }
                checker.atomic(&set, 8, here);
            },
            |checker| {
                checker.atomic(&find, 8, here);
                if fences[1] {
                    checker.fence(true, false);
                }
                write(checker);
            },
        );
        assert_eq!(
            checker.found.races.is_empty(),
            fences == [true; 2],
            "{fences:?}"
        );
    }
}

/// The body of a scope calls a function after it has created a task, and the task runs behind it.
/// Their frames share addresses and nothing else.
#[test]
fn frames_of_the_body_are_not_those_of_a_task_that_runs_later() {
    let mut checker = Checker::new(Options::default(), 0x1000..0x9000, 0..0).unwrap();
    let local = |checker: &mut Checker, place, address| {
        let here = Here {
            place,
            stack_pointer: address,
        };
        checker.access(AccessKind::Write, address, 8, here);
    };
    let racing = |checker: &Checker| checker.found.races.addresses().iter().collect::<Vec<_>>();
    let kind = TaskKind::Rayon(rayon::TaskKind::ScopeSpawn);
    let finish = checker.begin_finish(FinishKind::Rayon(rayon::FinishKind::Scope), 1);
    let task = checker.create_task(kind, finish, 2);
    local(&mut checker, 3, 0x5000);
    local(&mut checker, 4, 0x7000);
    checker.run_created(task, 0x6000);
    local(&mut checker, 5, 0x5000);
    assert!(racing(&checker).is_empty());
    // A frame around both is another matter.
    local(&mut checker, 6, 0x7000);
    assert_eq!(racing(&checker), (0x7000..0x7008).collect::<Vec<u64>>());
    checker.end_task();
    checker.end_finish(finish);
}

#[test]
fn a_task_that_runs_later_gives_back_what_it_ran_on() {
    let mut checker = checker();
    let kind = TaskKind::Rayon(rayon::TaskKind::ScopeSpawn);
    let outer = checker.begin_finish(FinishKind::Rayon(rayon::FinishKind::Scope), 1);
    let later = checker.create_task(kind, outer, 2);
    assert!(checker.is_created(later));
    let inner = checker.begin_finish(FinishKind::Rayon(rayon::FinishKind::Scope), 3);
    checker.begin_task(kind, inner, 4, 0);
    let there = checker.structure.whereabouts();
    checker.run_created(later, 0);
    assert!(!checker.is_created(later));
    let whereabouts = checker.structure.whereabouts();
    assert_eq!((whereabouts.running, whereabouts.innermost), (later, outer));
    assert_eq!(checker.structure.task(later).parent, TaskId::MAIN);
    checker.end_task();
    assert_eq!(checker.structure.whereabouts(), there);
}
