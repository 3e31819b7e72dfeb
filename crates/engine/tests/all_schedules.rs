//! The second oracle: what the detectors say of one run, against every interleaving of the program.
//!
//! Programs are tiny and their control flow does not depend on shared data, so every schedule accesses the same locations.

mod common;

use common::{Judge, compile, in_parallel, run, setting};
use finishline_engine::interleavings::{Budget, Granularity, LocationName, explore};
use finishline_generate::small::Small;
use finishline_generate::{Program, Settings, program, render};
use finishline_ir::Construct;
use finishline_ir::machine::{Limits, Machine};
use finishline_model::Location;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 3000;
const SHARE: u64 = 30;

/// Names that mean the same in every schedule.
fn names(machine: &Machine, locations: &BTreeSet<Location>) -> BTreeSet<LocationName> {
    let name = |location: &Location| {
        let (object, offset) = machine
            .heap()
            .locate(*location)
            .expect("a location of the run");
        LocationName {
            object: machine.object_name(object),
            offset,
        }
    };
    locations.iter().map(name).collect()
}

/// Compares; false if there were too many interleavings.
fn compare(judge: &mut Judge, program: &Program) -> Result<bool, String> {
    let source = render(program);
    let module = compile(&source)?;
    let (records, outcome) = run(&module, 1_000_000)?;
    let judged = judge.judge(&module, &records)?;
    let all = explore(
        &module,
        &[],
        Limits::default(),
        Granularity::Visible,
        Budget {
            states: 20_000,
            steps: 2_000_000,
        },
    );
    if all.gave_up {
        return Ok(false);
    }
    let machine = outcome.machine.expect("the program started");
    let (racing, real) = (
        names(&machine, &judged.racing),
        names(&machine, &judged.real),
    );
    let isolated = module.uses(Construct::Isolated).is_some();
    if !isolated && racing != all.conflicts {
        return Err(format!(
            "racing: {racing:?}, in some schedule: {:?}",
            all.conflicts
        ));
    }
    // With isolated blocks: what is called a race is one, and what races is reported, at least as apparent.
    if !real.is_subset(&all.conflicts) {
        return Err(format!(
            "not a race in any schedule: {real:?}, only {:?}",
            all.conflicts
        ));
    }
    if !all.conflicts.is_subset(&racing) {
        return Err(format!(
            "missed: {:?}, found only {racing:?}",
            all.conflicts
        ));
    }
    if racing.is_empty() && !judged.isolated_conflict && all.outcomes.len() != 1 {
        return Err(format!(
            "certified, but it can end in {} ways",
            all.outcomes.len()
        ));
    }
    Ok(true)
}

#[test]
fn one_run_covers_every_schedule_of_random_programs() {
    let first = setting("FINISHLINE_SEED", 1);
    // Trying every schedule takes a thousand times as long as one: a share of the seeds asked for.
    let count = setting("FINISHLINE_SEEDS", PROGRAMS * SHARE) / SHARE;
    let explored = AtomicU64::new(0);
    in_parallel(first..first + count, Judge::new, |judge, seed| {
        let program = program(seed, &Settings::tiny());
        match compare(judge, &program) {
            Ok(done) => {
                explored.fetch_add(u64::from(done), Ordering::Relaxed);
            }
            Err(error) => panic!("seed {seed}: {error}\n{}", render(&program)),
        }
    });
    let explored = explored.into_inner();
    assert!(
        explored > count * 9 / 10,
        "only {explored} of {count} programs could be explored"
    );
}

#[test]
fn one_run_covers_every_schedule_of_all_small_programs() {
    for statements in 1..=4 {
        let small = Small::new(statements);
        in_parallel(0..small.count(), Judge::new, |judge, number| {
            let program = small.program(number);
            match compare(judge, &program) {
                Ok(done) => assert!(done, "program {number} of {statements} statements is small"),
                Err(error) => panic!("{error}\n{}", render(&program)),
            }
        });
    }
}
