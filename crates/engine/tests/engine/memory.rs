//! The memory budget bounds what a program can still reach, and nothing else changes with it.

use crate::common::compile;
use finishline_engine::depth_first::{self, End, Outcome, Program};
use finishline_engine::interleavings::{self, Budget, Granularity, Interleavings, explore};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::{Settings, program, render};
use finishline_ir::machine::{Limits, TrapKind};
use finishline_ir::{Module, cost};
use finishline_model::Event;
use finishline_model::event::Record;
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 3000;
const FUEL: u64 = 100_000;

fn within(memory: u64) -> Limits {
    Limits {
        memory,
        ..Limits::default()
    }
}

fn run(module: &Module, memory: u64) -> (Outcome, Vec<Record>) {
    let mut records: Vec<Record> = Vec::new();
    let program = Program {
        module,
        arguments: &[],
        limits: within(memory),
    };
    let (output, progress) = (&mut std::io::sink(), AtomicU64::new(0));
    let outcome = depth_first::run_for(FUEL, program, &mut records, output, &progress);
    (outcome, records)
}

/// The bytes that a failure for want of memory says would have been enough.
fn wanted(outcome: &Outcome) -> Option<u64> {
    match outcome.trap()?.kind {
        TrapKind::Memory {
            request: Some(request),
            used,
            ..
        } => Some(used + request),
        _ => None,
    }
}

/// Asks for the least budget that does, by giving what the last failure asked for. With each of the
/// budgets up to there the program tells the same until it fails, and with the last one it ends as
/// with a large one, though then a collection comes before almost every object. Whether any object
/// had to give way; none if the program takes too long.
fn compare(module: &Module) -> Result<Option<bool>, String> {
    let (plenty, expected) = run(module, 1 << 30);
    if matches!(plenty.result, End::OutOfFuel) {
        return Ok(None);
    }
    let alloc = |record: &&Record| matches!(record, Record::Event(Event::Alloc { .. }));
    let objects = expected.iter().filter(alloc).count() as u64;
    let mut memory = 0;
    loop {
        let (outcome, records) = run(module, memory);
        if !expected.starts_with(&records) {
            return Err(format!("with {memory} bytes it tells something else"));
        }
        let Some(more) = wanted(&outcome) else {
            let end = |outcome: &Outcome| format!("{:?}", outcome.result);
            return match end(&outcome) == end(&plenty) && records.len() == expected.len() {
                true => Ok(Some(objects * cost::OBJECT > memory)),
                false => Err(format!("with {memory} bytes it ends otherwise")),
            };
        };
        if more <= memory {
            return Err(format!("{more} bytes wanted, but {memory} were there"));
        }
        memory = more;
    }
}

#[test]
fn collections_change_nothing_in_random_programs() {
    let first = setting("FINISHLINE_SEED", 1);
    let count = setting("FINISHLINE_SEEDS", PROGRAMS * 10) / 10;
    let (compared, gave_way) = (AtomicU64::new(0), AtomicU64::new(0));
    in_parallel(first..first + count, |seed| {
        let source = render(&program(seed, &Settings::default()));
        let result = compile(&source).and_then(|module| compare(&module));
        match result {
            Ok(done) => {
                compared.fetch_add(u64::from(done.is_some()), Ordering::Relaxed);
                gave_way.fetch_add(u64::from(done == Some(true)), Ordering::Relaxed);
            }
            Err(error) => panic!("seed {seed}: {error}\n{source}"),
        }
    });
    let (compared, gave_way) = (compared.into_inner(), gave_way.into_inner());
    assert!(compared > count * 9 / 10, "only {compared} of {count}");
    assert!(gave_way >= count / 50, "only in {gave_way} of {count}");
}

#[test]
fn a_loop_that_allocates_runs_in_bounded_memory() {
    const TASKS: u64 = 10_000;
    let source = "struct Node { next: Node, value: int[] }
        fn main() {
            finish {
                for i in 0..10000 {
                    async {
                        let node = new Node();
                        node.next = node;
                        node.value = new int[100];
                        node.value[7] = i;
                        assert(node.next.value[7] == i);
                    }
                }
            }
        }";
    let module = compile(source).expect("a program");
    let iteration = 2 * cost::OBJECT + 2 * cost::FIELD + 100 * 8;
    let program = Program {
        module: &module,
        arguments: &[],
        // What stays of an ended task counts for ever, apart from objects.
        limits: within(TASKS * cost::TASK_RECORD + 10_000),
    };
    assert!(TASKS * iteration > 50 * program.limits.memory);
    let (output, progress) = (&mut std::io::sink(), AtomicU64::new(0));
    let outcome = depth_first::run(program, &mut (), output, &progress);
    assert!(matches!(outcome.result, End::Finished), "{outcome:?}");
}

/// Every schedule under a memory limit.
fn explored(source: &str, memory: u64) -> Interleavings {
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}"));
    explore(
        &module,
        &[],
        within(memory),
        Granularity::Visible,
        Budget::default(),
    )
}

#[test]
fn schedules_are_told_apart_by_objects_that_are_gone() {
    // When both have ended nothing refers to the array any more, but its contents depend on the
    // schedule.
    let source = "fn main() {
            let A = new int[1];
            async { A[0] = 1; }
            A[0] = 2;
        }";
    let found = explored(source, 1 << 20);
    assert!(!found.gave_up);
    assert_eq!(found.outcomes.len(), 2);
}

#[test]
fn a_schedule_fails_for_memory_only_if_it_can_reach_too_much() {
    let source = "fn make(): int { let A = new int[100]; A[0] = 1; return A[0]; }
        fn main() { async { make(); } make(); make(); }";
    let array = cost::OBJECT + 800;
    let trapped = |found: &Interleavings| {
        let mut outcomes = found.outcomes.iter();
        outcomes.any(|outcome| matches!(outcome, interleavings::Outcome::Trapped { .. }))
    };
    let enough = explored(source, cost::OBJECT + 3 * array);
    assert!(!enough.gave_up && !trapped(&enough), "{enough:?}");
    // All schedules need two at a time at most; three do not fit, so what is gone can't be kept.
    let tight = explored(source, cost::OBJECT + 2 * array);
    assert!(tight.gave_up && !trapped(&tight), "{tight:?}");
    // In some schedules two are reachable at a time.
    let less = explored(source, cost::OBJECT + array);
    assert!(trapped(&less), "{less:?}");
}
