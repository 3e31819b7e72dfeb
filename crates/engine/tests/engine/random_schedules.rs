//! Generated programs with promises and futures, run in other orders than the cooperative one.
//!
//! Detectors for any order agree with the oracle on each. What the cooperative run certifies every
//! other run confirms: no races, the same end, the same lines. And a run is repeated exactly by its
//! script.

use crate::common::{Judge, compile, takes_turns};
use finishline_engine::cooperative::Cooperative;
use finishline_engine::replay::{Departure, Recorded, Script, Why, replay};
use finishline_engine::run::{End, Outcome, Program, Schedule, run_for};
use finishline_generate::campaign::{in_parallel_with, setting};
use finishline_generate::rng::Rng;
use finishline_generate::{Settings, program, render};
use finishline_ir::Module;
use finishline_ir::machine::{Limits, Machine, Progress, Status};
use finishline_model::TaskId;
use finishline_model::event::Record;
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 1_500;
const FUEL: u64 = 10_000_000;

/// Any task that can go on, for some steps.
struct AtRandom {
    rng: Rng,
    /// The steps of the turn, on average.
    turn: u32,
}

impl AtRandom {
    fn new(seed: u64) -> AtRandom {
        let mut rng = Rng::new(seed);
        let turn = rng.pick(&[1, 3, 20]);
        AtRandom { rng, turn }
    }
}

impl Schedule for AtRandom {
    fn next(
        &mut self,
        current: TaskId,
        progress: Progress,
        machine: &Machine<'_>,
    ) -> Option<TaskId> {
        let can_go_on = |task: TaskId| machine.status(task) == Status::Runnable;
        let goes_on = !matches!(progress, Progress::Blocked | Progress::Ended);
        if goes_on && can_go_on(current) && self.rng.below(self.turn) > 0 {
            return Some(current);
        }
        let tasks = (0..machine.tasks_created()).map(TaskId::from_index);
        let able: Vec<TaskId> = tasks.filter(|&task| can_go_on(task)).collect();
        (!able.is_empty()).then(|| self.rng.pick(&able))
    }
}

fn input(module: &Module) -> Program<'_> {
    Program {
        module,
        arguments: &[],
        limits: Limits::default(),
    }
}

/// What was told of a run, and what it printed.
#[derive(Default, PartialEq, Debug)]
struct Told {
    records: Vec<Record>,
    output: Vec<u8>,
}

impl Told {
    /// The lines in sorted order.
    fn lines(&self) -> Vec<&[u8]> {
        let mut lines: Vec<&[u8]> = self.output.split(|byte| *byte == b'\n').collect();
        lines.sort_unstable();
        lines
    }
}

fn recorded<S: Schedule>(module: &Module, schedule: S) -> (Told, Outcome, Script) {
    let mut recorded = Recorded::new(schedule);
    let mut told = Told::default();
    let outcome = run_for(
        FUEL,
        input(module),
        &mut recorded,
        &mut told.records,
        &mut told.output,
        &AtomicU64::new(0),
    );
    let script = recorded.into_script(&outcome);
    (told, outcome, script)
}

fn repeated(module: &Module, script: &Script) -> Result<(Told, Outcome), Departure> {
    let mut told = Told::default();
    let progress = AtomicU64::new(0);
    let outcome = replay(
        script,
        input(module),
        &mut told.records,
        &mut told.output,
        &progress,
    )?;
    Ok((told, outcome))
}

fn compare(judge: &mut Judge, module: &Module, seed: u64) -> Result<bool, String> {
    let (cooperative, end, _) = recorded(module, Cooperative::default());
    let judged = judge.judge(module, &cooperative.records)?;
    let finished = matches!(end.result, End::Finished);
    let certified = finished && judged.racing.is_empty() && !judged.conflict && !judged.lock_cycle;

    let (told, outcome, script) = recorded(module, AtRandom::new(seed));
    if matches!(outcome.result, End::OutOfFuel) {
        return Ok(false);
    }
    let judged = judge.judge(module, &told.records)?;
    if certified {
        if !judged.racing.is_empty() || outcome.trap().is_some() {
            return Err("certified, and another schedule races or fails".to_owned());
        }
        if told.lines() != cooperative.lines() {
            return Err("certified, and another schedule prints other lines".to_owned());
        }
    }
    let script: Script = script.to_string().parse().map_err(|it| format!("{it}"))?;
    let (again, end) = repeated(module, &script).map_err(|it| it.to_string())?;
    if told != again || format!("{:?}", outcome.result) != format!("{:?}", end.result) {
        return Err("the script of a run repeats another one".to_owned());
    }
    Ok(certified)
}

#[test]
fn other_schedules_tell_the_same() {
    let first = setting("FINISHLINE_SEED", 1);
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    let (certified, made) = (AtomicU64::new(0), AtomicU64::new(0));
    in_parallel_with(first..first + count, Judge::new, |judge, seed| {
        let settings = match seed % 3 {
            0 => Settings::locks(seed / 3),
            _ => Settings::promises(seed),
        };
        let source = render(&program(seed, &settings));
        let module = compile(&source).expect("a generated program");
        if !takes_turns(&module) {
            return;
        }
        for schedule in 0..3 {
            match compare(judge, &module, seed * 3 + schedule) {
                Ok(is_certified) => {
                    certified.fetch_add(u64::from(is_certified), Ordering::Relaxed);
                    made.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => panic!("seed {seed}, schedule {schedule}: {error}\n{source}"),
            }
        }
    });
    let (certified, made) = (certified.into_inner(), made.into_inner());
    assert!(
        count < 1000 || certified > made / 20,
        "{certified} of {made}"
    );
}

/// A script that does not fit is refused where it departs.
#[test]
fn a_script_must_fit() {
    let source =
        "fn main() { let p: promise<int> = new promise<int>(); async { p.get(); } p.set(1); }";
    let module = compile(source).expect("a right program");
    let (_, _, script) = recorded(&module, AtRandom::new(7));
    assert!(repeated(&module, &script).is_ok(), "its own script");
    let departs = |written: &str| {
        let script: Script = written.parse().expect("a script");
        repeated(&module, &script)
            .map(|_| ())
            .map_err(|it| (it.turn, it.why))
    };
    assert_eq!(departs(""), Err((0, Why::MainIsFirst)));
    assert_eq!(departs("1:1"), Err((0, Why::MainIsFirst)));
    assert_eq!(departs("0:1 9:1"), Err((1, Why::NotLive(TaskId(9)))));
    assert_eq!(departs("0:1"), Err((1, Why::Unfinished(TaskId(0)))));
    // The task gets the promise before main has set it.
    let (_, _, script) = recorded(&module, Cooperative::default());
    let spawned = script.turns()[0].steps;
    let waits = departs(&format!("0:{spawned} 1:100"));
    assert_eq!(waits, Err((1, Why::Waits(TaskId(1)))));
    for wrong in ["0", "0:", ":1", "0:0", "a:1", "0:1:2", "-1:3", "0:1,1:2"] {
        let error = wrong.parse::<Script>().expect_err(wrong);
        assert!(error.to_string().contains("is not a turn"), "{wrong}");
    }
}
