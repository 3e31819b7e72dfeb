//! The second oracle: what the detectors say of one run, against every interleaving of the program.
//!
//! Programs are tiny and their control flow does not depend on shared data, so every schedule
//! accesses the same locations.

use crate::common::{Judge, compile, run};
use finishline_engine::interleavings::{Budget, Granularity, LocationName, explore};
use finishline_generate::campaign::{in_parallel_with, setting};
use finishline_generate::small::Small;
use finishline_generate::{Program, Settings, program, render};
use finishline_ir::Construct;
use finishline_ir::listener::{Creation, Listener};
use finishline_ir::machine::{Limits, ObjectName};
use finishline_model::event::Record;
use finishline_model::{Access, Event, Location, Observer, TaskId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 3000;
const SHARE: u64 = 30;

/// Hears the paths of tasks and the objects of a run, for names that mean the same in every
/// schedule.
#[derive(Default)]
struct Namer {
    /// By task: its path of spawn indices, and how many objects it has made.
    tasks: BTreeMap<TaskId, (Vec<u32>, u32)>,
    /// By first location. Empty ones are left out.
    objects: BTreeMap<Location, ObjectName>,
}

impl Namer {
    fn names(&self, locations: &BTreeSet<Location>) -> BTreeSet<LocationName> {
        let name = |location: &Location| {
            let object = self.objects.range(..=location).next_back();
            let (first, object) = object.expect("a location of the run");
            LocationName {
                object: object.clone(),
                offset: location.0 - first.0,
            }
        };
        locations.iter().map(name).collect()
    }
}

impl Observer for Namer {
    fn event(&mut self, event: &Event) {
        let Event::Alloc {
            task, first, count, ..
        } = event
        else {
            return;
        };
        let (creator, made) = self.tasks.entry(*task).or_default();
        let name = ObjectName {
            creator: creator.clone(),
            ordinal: *made,
        };
        *made += 1;
        if *count > 0 {
            self.objects.insert(*first, name);
        }
    }

    fn access(&mut self, _: &Access) {}
}

impl Listener for Namer {
    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        let mut path = self.tasks[&creation.parent].0.clone();
        path.push(creation.index);
        self.tasks.insert(task, (path, 0));
    }
}

/// Compares; false if there were too many interleavings.
fn compare(judge: &mut Judge, program: &Program) -> Result<bool, String> {
    let source = render(program);
    let module = compile(&source)?;
    let mut heard = (Vec::<Record>::new(), Namer::default());
    run(&module, 1_000_000, &mut heard)?;
    let (records, namer) = heard;
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
    let (racing, real) = (namer.names(&judged.racing), namer.names(&judged.real));
    let isolated = module.uses(Construct::Isolated).is_some();
    if !isolated && racing != all.conflicts {
        return Err(format!(
            "racing: {racing:?}, in some schedule: {:?}",
            all.conflicts
        ));
    }
    // With isolated blocks: what is called a race is one, and what races is reported, at least as
    // apparent.
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
    if racing.is_empty() && !judged.conflict && all.outcomes.len() != 1 {
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
    in_parallel_with(first..first + count, Judge::new, |judge, seed| {
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
        in_parallel_with(0..small.count(), Judge::new, |judge, number| {
            let program = small.program(number);
            match compare(judge, &program) {
                Ok(done) => assert!(done, "program {number} of {statements} statements is small"),
                Err(error) => panic!("{error}\n{}", render(&program)),
            }
        });
    }
}
