//! Stacks of calls in findings. They are numbered from the entry of each task, and listed as a
//! whole: the calls of the task, then those of its creator where it made the task, and so on.

use finishline_model::findings::{FindingsFile, ListedObject};
use finishline_model::kinds::rayon;
use finishline_model::{AccessKind, FinishId};
use finishline_native::checker::findings::{Process, findings};
use finishline_native::checker::options::Options;
use finishline_native::checker::{Checker, Here};
use finishline_native::facts::calls::CallNode;
use finishline_native::facts::structure::{FinishKind, TaskKind};
use finishline_native::facts::synchronisation::{How, Operation};
use std::ops::Range;

const STACK: Range<u64> = 0x10_0000..0x20_0000;
const OTHER_STACK: Range<u64> = 0x30_0000..0x40_0000;
const BLOCK: u64 = 0x7000_0000_0000;
const LOCK: u64 = 0x7100_0000_0000;

fn checker() -> Checker {
    Checker::new(Options::default(), STACK, 0..0).unwrap()
}

/// The frames of a call so deep.
fn frame(depth: u64) -> u64 {
    STACK.end - 16 * depth
}

/// A scope's task, called from place 1000 in it; the task's first function is called from 2000.
fn in_task(checker: &mut Checker, finish: FinishId, depth: u64, body: impl FnOnce(&mut Checker)) {
    let kind = TaskKind::Rayon(rayon::TaskKind::ScopeSpawn);
    checker.begin_task(kind, finish, 1000, frame(depth));
    checker.calls.enter(2000, frame(depth + 1));
    body(checker);
    checker.calls.leave();
    checker.end_task();
}

fn scope(checker: &mut Checker, body: impl FnOnce(&mut Checker, FinishId)) {
    let finish = checker.begin_finish(FinishKind::Rayon(rayon::FinishKind::Scope), 900);
    body(checker, finish);
    checker.end_finish(finish);
}

fn write(checker: &mut Checker, address: u64, place: u64) {
    let here = Here {
        place,
        stack_pointer: u64::MAX,
    };
    checker.access(AccessKind::Write, address, 8, here);
}

fn file(checker: &Checker) -> FindingsFile {
    findings(checker, &Process::default())
}

/// The stack as places behind the calls, innermost first.
fn stack(file: &FindingsFile, number: usize) -> Vec<u64> {
    file.stacks[number]
        .iter()
        .map(|inside| inside + 1)
        .collect()
}

/// Both halves of a recursion write, in one function each, which calls itself in a task.
fn recursion(checker: &mut Checker, levels: u64, depth: u64) {
    checker.calls.enter(3000, frame(depth));
    write(checker, BLOCK + 8 * (depth % 64), 50);
    if levels > 0 {
        scope(checker, |checker, finish| {
            for _ in 0..2 {
                in_task(checker, finish, depth + 1, |checker| {
                    recursion(checker, levels - 1, depth + 3);
                });
            }
        });
    }
    checker.calls.leave();
}

#[test]
fn the_tasks_of_a_recursion_share_their_numbers() {
    let mut checker = checker();
    recursion(&mut checker, 10, 1);
    assert_eq!(checker.structure.tasks(), (1 << 11) - 1);
    // The root; the first call of the recursion; and in a task its first function and the call.
    assert!(checker.calls.has(CallNode(3)));
    assert!(!checker.calls.has(CallNode(4)));
}

#[test]
fn a_listed_stack_goes_on_with_the_creators_calls() {
    let mut checker = checker();
    recursion(&mut checker, 2, 1);
    let file = file(&checker);
    let race = &file.races[0];
    // The first race is between the innermost tasks.
    let expected = [50, 3000, 2000, 3000, 2000, 3000];
    assert_eq!(stack(&file, race.first.stack), expected);
    assert_eq!(race.first.stack, race.second.stack, "each is listed once");
    let task = file.tasks.iter().find(|task| task.id == race.first.task);
    let created = task.and_then(|task| task.stack).unwrap();
    assert_eq!(stack(&file, created), [1000, 3000, 2000, 3000]);
    let opened = file.finishes[0].stack.unwrap();
    assert_eq!(stack(&file, opened), [900, 3000]);
}

#[test]
fn a_creator_goes_on_with_its_own_calls() {
    let mut checker = checker();
    checker.calls.enter(3000, frame(1));
    scope(&mut checker, |checker, finish| {
        in_task(checker, finish, 2, |checker| {
            // More functions are left than the task has entered, as `longjmp` may do.
            for _ in 0..3 {
                checker.calls.leave();
            }
            checker.calls.enter(2500, frame(3));
            write(checker, BLOCK, 50);
        });
        checker.calls.enter(3500, frame(2));
        write(checker, BLOCK, 60);
        checker.calls.leave();
    });
    let file = file(&checker);
    let race = &file.races[0];
    assert_eq!(stack(&file, race.first.stack), [50, 2500, 3000]);
    assert_eq!(stack(&file, race.second.stack), [60, 3500, 3000]);
}

#[test]
fn places_of_blocks_and_locks_are_those_of_their_tasks() {
    let mut checker = checker();
    checker.calls.enter(3000, frame(1));
    let lock = |checker: &mut Checker, takes: bool| {
        let operation = Operation {
            address: LOCK,
            before: Some(u64::from(!takes)),
            after: Some(u64::from(takes)),
            how: How::Replaced,
            acquires: takes,
            releases: !takes,
        };
        let here = Here {
            place: 70,
            stack_pointer: u64::MAX,
        };
        checker.atomic(&operation, 4, here);
    };
    scope(&mut checker, |checker, finish| {
        in_task(checker, finish, 2, |checker| {
            checker.allocated(BLOCK, 8, 40)
        });
        in_task(checker, finish, 2, |checker| {
            lock(checker, true);
            write(checker, BLOCK, 50);
            lock(checker, false);
        });
        in_task(checker, finish, 2, |checker| write(checker, BLOCK, 60));
    });
    let file = file(&checker);
    let race = &file.races[0];
    assert_eq!(stack(&file, race.first.locks[0].stack), [70, 2000, 3000]);
    let ListedObject::Heap { stack: made, .. } = race.object else {
        panic!("the race is on a block of the heap");
    };
    assert_eq!(stack(&file, made), [40, 2000, 3000]);
}

#[test]
fn a_threads_stack_ends_in_the_thread() {
    let mut checker = checker();
    checker.calls.enter(3000, frame(1));
    let thread = checker.begin_thread(800, OTHER_STACK.end, OTHER_STACK, 0..0);
    checker.calls.enter(4000, OTHER_STACK.end - 16);
    scope(&mut checker, |checker, finish| {
        in_task(checker, finish, 2, |checker| write(checker, BLOCK, 50));
    });
    checker.calls.leave();
    checker.end_thread(7);
    checker.run_thread(finishline_model::TaskId::MAIN);
    write(&mut checker, BLOCK, 60);
    let file = file(&checker);
    let race = &file.races[0];
    assert_eq!(stack(&file, race.first.stack), [50, 2000, 4000]);
    assert_eq!(stack(&file, race.second.stack), [60, 3000]);
    let listed = file
        .tasks
        .iter()
        .find(|task| task.id == u64::from(thread.0));
    let created = listed.and_then(|task| task.stack).unwrap();
    assert_eq!(stack(&file, created), [800, 3000]);
}
