//! Blocks, locks and thread-local variables, told as a program would.

use super::*;
use crate::checker::findings::{self, Process};
use crate::facts::races::{ConflictingPair, Manner, Object, OrderedBy};
use crate::facts::structure::FinishKind;
use crate::facts::synchronisation::{How, Operation};
use finishline_model::AccessKind;
use finishline_model::kinds::rayon::{self, INTERFACE_VERSION};

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

fn under_other_lock(checker: &mut Checker) {
    let here = Here {
        place: 21,
        stack_pointer: u64::MAX,
    };
    let take = Operation {
        address: LOCK + 128,
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

const VARIABLES: Range<u64> = 0x7200_0000_0000..0x7200_0000_0100;

/// What `does` does on this thread.
fn on(thread: u32, does: impl FnOnce(&mut Checker)) -> impl FnOnce(&mut Checker) {
    move |checker| {
        checker.begin_stay(thread);
        does(checker);
        checker.end_stay();
    }
}

/// Writes a block behind asking for the thread, or without.
fn write_having_asked(asks: bool) -> impl FnOnce(&mut Checker) {
    move |checker| {
        if asks {
            checker.asks();
        }
        write(checker);
    }
}

/// Two tasks on one thread that both asked may each have what the thread keeps.
#[test]
fn a_thread_orders_what_its_tasks_do_if_they_asked_for_it() {
    for (threads, asks, races) in [
        ([1, 1], [true, true], 0),
        ([1, 1], [true, false], 1),
        ([1, 1], [false, true], 1),
        ([1, 1], [false, false], 1),
        ([1, 2], [true, true], 1),
    ] {
        let mut checker = with_block(8);
        checker.new_thread(VARIABLES);
        checker.new_thread(VARIABLES.end..VARIABLES.end + 8);
        let [first, second] = [0, 1].map(|it| on(threads[it], write_having_asked(asks[it])));
        // While something is parallel, so that a stay begins without having asked.
        beside(
            &mut checker,
            |_| (),
            |checker| beside(checker, first, second),
        );
        assert_eq!(
            checker.found.races.iter().count(),
            races,
            "{threads:?} {asks:?}"
        );
        assert_eq!(checker.found.by_thread.iter().count(), 1 - races);
        assert_eq!(checker.synchronised(), races == 0);
    }
}

/// One task makes a block and hands it out under a lock. Another one takes it there and keeps the
/// handle for its thread. A third one uses it.
#[test]
fn what_a_thread_keeps_is_relied_on() {
    let here = Here {
        place: 12,
        stack_pointer: u64::MAX,
    };
    let slot = |kind, thread: u64| {
        move |checker: &mut Checker| checker.access(kind, VARIABLES.start + 0x100 * thread, 8, here)
    };
    let (keeps, uses) = (AccessKind::Write, AccessKind::Read);
    for (takes, keeper, user, used, races) in [
        (true, 2, 2, uses, 0),
        // Whoever does not take the block does not know it.
        (false, 2, 2, uses, 1),
        // Another thread has another slot.
        (true, 2, 1, uses, 1),
        (true, 1, 2, uses, 1),
        // What was kept is replaced unread.
        (true, 2, 2, keeps, 1),
    ] {
        let mut checker = with_block(8);
        for thread in 1..=2 {
            let start = VARIABLES.start + 0x100 * thread;
            checker.new_thread(start..start + 0x100);
        }
        let makes = on(3, |checker| under_lock(checker, write));
        checker.new_thread(VARIABLES.start + 0x300..VARIABLES.start + 0x400);
        let keeps = on(keeper, |checker| {
            if takes {
                under_lock(checker, |_| ());
            }
            slot(keeps, u64::from(keeper))(checker);
        });
        let uses = on(user, |checker| {
            slot(used, u64::from(user))(checker);
            write(checker);
        });
        beside(&mut checker, makes, |checker| beside(checker, keeps, uses));
        let case = (takes, keeper, user, used);
        assert_eq!(checker.found.races.iter().count(), races, "{case:?}");
        assert_eq!(checker.found.through_threads, 1 - races as u64, "{case:?}");
    }
}

/// What a task does after its step has ended is not relied on with the step.
#[test]
fn of_a_task_that_kept_something_one_step_is_relied_on() {
    let here = Here {
        place: 12,
        stack_pointer: u64::MAX,
    };
    let slot = |kind| move |checker: &mut Checker| checker.access(kind, VARIABLES.start, 8, here);
    for (before, races) in [(true, 0), (false, 1)] {
        let mut checker = with_block(8);
        checker.new_thread(VARIABLES);
        let child = |checker: &mut Checker| beside(checker, |_| (), on(0, write));
        let keeps = on(1, |checker| {
            if before {
                child(checker);
            }
            slot(AccessKind::Write)(checker);
            if !before {
                child(checker);
            }
        });
        let uses = on(1, |checker| {
            slot(AccessKind::Read)(checker);
            write(checker);
        });
        beside(&mut checker, |_| (), |checker| beside(checker, keeps, uses));
        assert_eq!(checker.found.races.iter().count(), races, "{before}");
        assert_eq!(checker.found.through_threads, 1 - races as u64, "{before}");
        let class = match races {
            0 => r#""class":"thread-ordered""#,
            _ => r#""class":"race""#,
        };
        let text = findings_of(&mut checker);
        assert!(text.contains(class), "{text}");
    }
}

/// The same task is on one thread, then on another, and accesses the block on one of them.
#[test]
fn an_access_is_on_the_thread_where_it_was_made() {
    for (threads, races) in [([1, 1], 0), ([1, 2], 0), ([2, 1], 1)] {
        let mut checker = with_block(8);
        checker.new_thread(VARIABLES);
        checker.new_thread(VARIABLES.end..VARIABLES.end + 8);
        let both = |checker: &mut Checker| {
            on(threads[0], write_having_asked(true))(checker);
            on(threads[1], |checker| checker.asks())(checker);
        };
        beside(&mut checker, both, on(1, write_having_asked(true)));
        let found = checker.found.races.iter().count();
        assert_eq!(found, races, "{threads:?}");
    }
}

/// A variable of a thread is its own, unless another one has the address.
#[test]
fn thread_local_variables_are_shared_by_their_address_alone() {
    let here = Here {
        place: 10,
        stack_pointer: u64::MAX,
    };
    let set = |checker: &mut Checker| {
        checker.access(AccessKind::Write, VARIABLES.start + 8, 8, here);
    };
    for (threads, races) in [([1, 1], 0), ([1, 2], 1), ([2, 1], 1), ([2, 2], 1)] {
        let mut checker = checker();
        checker.new_thread(VARIABLES);
        checker.new_thread(VARIABLES.end..VARIABLES.end + 8);
        beside(&mut checker, on(threads[0], set), on(threads[1], set));
        let found: Vec<_> = checker.found.races.iter().collect();
        assert_eq!(found.len(), races, "{threads:?}");
        assert!(checker.found.by_thread.is_empty());
        let is_known = |pair: &&ConflictingPair| matches!(pair.names.object, Object::ThreadLocal);
        assert!(found.iter().all(is_known));
    }
}

/// To use a variable of the thread is to ask for it.
#[test]
fn a_variable_of_the_thread_tells_which_one_it_is() {
    for (address, races) in [(VARIABLES.start, 0), (VARIABLES.end, 1)] {
        let mut checker = with_block(8);
        checker.new_thread(VARIABLES);
        let here = Here {
            place: 11,
            stack_pointer: u64::MAX,
        };
        let reads_and_writes = |checker: &mut Checker| {
            checker.access(AccessKind::Read, address, 8, here);
            write(checker);
        };
        beside(
            &mut checker,
            |_| (),
            |checker| beside(checker, on(1, reads_and_writes), on(1, reads_and_writes)),
        );
        assert_eq!(checker.found.races.iter().count(), races);
    }
}

/// A look at the lock's word that somebody may have left, and what is told.
#[test]
fn what_may_still_be_found_is_told() {
    let here = Here {
        place: 20,
        stack_pointer: u64::MAX,
    };
    let look = Operation {
        address: LOCK + 64,
        before: Some(0),
        after: None,
        how: How::Replaced,
        acquires: false,
        releases: false,
    };
    let reads = move |checker: &mut Checker| {
        checker.atomic(&look, 4, here);
        let takes = Operation {
            after: Some(1),
            acquires: true,
            ..look
        };
        checker.atomic(&takes, 4, here);
        let leaves = Operation {
            before: Some(1),
            after: Some(0),
            how: How::Counted,
            releases: true,
            ..look
        };
        checker.atomic(&leaves, 4, here);
    };
    let told = |first: &dyn Fn(&mut Checker), second: &dyn Fn(&mut Checker), look: &Operation| {
        let mut checker = with_block(8);
        let mut told = None;
        beside(&mut checker, first, |checker| {
            second(checker);
            checker.atomic(look, 4, here);
            told = checker.is_told(LOCK + 64);
        });
        told
    };
    let nothing = |_: &mut Checker| ();
    assert_eq!(told(&reads, &nothing, &look), Some(1));
    let acquiring = Operation {
        acquires: true,
        ..look
    };
    assert_eq!(told(&reads, &nothing, &acquiring), None);
    assert_eq!(
        told(&nothing, &reads, &look),
        None,
        "it was the task itself"
    );
    let sequential = |checker: &mut Checker| checker.sequential();
    assert_eq!(told(&reads, &sequential, &look), None);
    let looks_before = |checker: &mut Checker| checker.atomic(&look, 4, here);
    assert_eq!(told(&reads, &looks_before, &look), None);
    let knows = |checker: &mut Checker| under_other_lock(checker);
    let leaves_and_tells = |checker: &mut Checker| {
        reads(checker);
        under_other_lock(checker);
    };
    assert_eq!(told(&leaves_and_tells, &knows, &look), None);
}

/// Whoever is told of a reader and goes in as well shows that there are readers.
#[test]
fn whoever_tries_to_be_a_reader_too_is_believed() {
    let here = Here {
        place: 20,
        stack_pointer: u64::MAX,
    };
    let reads_and_writes = |tried: Option<[u64; 2]>| {
        move |checker: &mut Checker| {
            let look = Operation {
                address: LOCK + 64,
                before: Some(0),
                after: None,
                how: How::Replaced,
                acquires: false,
                releases: false,
            };
            checker.atomic(&look, 4, here);
            if let Some([expected, new]) = tried {
                assert_eq!(checker.is_told(LOCK + 64), Some(1));
                checker.tries(LOCK + 64, expected, new);
                checker.atomic(&look, 4, here);
            }
            let takes = Operation {
                after: Some(1),
                acquires: true,
                ..look
            };
            checker.atomic(&takes, 4, here);
            write(checker);
            let leaves = Operation {
                before: Some(1),
                after: Some(0),
                how: How::Counted,
                releases: true,
                ..look
            };
            checker.atomic(&leaves, 4, here);
        }
    };
    for (tried, races) in [
        (Some([1, 2]), 1),
        (None, 0),
        (Some([0, 1]), 0),
        (Some([1, 3]), 0),
    ] {
        let mut checker = with_block(8);
        let [first, second] = [None, tried].map(reads_and_writes);
        beside(&mut checker, first, second);
        assert_eq!(checker.found.races.iter().count(), races, "{tried:?}");
    }
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
