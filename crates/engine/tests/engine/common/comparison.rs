//! Compares a compiled program with the reference interpreter.
//!
//! Events, output and failures must be the same. A detector whose fast path is inline must find
//! what a detector finds that hears of every access.

use super::takes_turns;
use finishline_detect::detectors::{self, ORACLE_STEPS, Uses};
use finishline_detect::history::Isolated;
use finishline_detect::oracle::Oracle;
use finishline_detect::order::EspBags;
use finishline_detect::serial::Serial;
use finishline_detect::{Findings, LocationSet};
use finishline_engine::cooperative::Cooperative;
use finishline_engine::depth_first::DepthFirst;
use finishline_engine::run::{End, Program, run_for};
use finishline_ir::listener::{Allocated, Creation, Listener};
use finishline_ir::machine::{Datum, Limits, Trap};
use finishline_ir::verify::verify;
use finishline_ir::{Construct, Module};
use finishline_model::event::{Record, replay};
use finishline_model::{Access, AccessId, Detector, Event, Observer, Passes, TaskId};
use finishline_opt::{HOLD_IN_FAILED_RUNS, for_speed, reduce, without_proved};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;

/// Instructions that the interpreter makes before a program is left out.
const FUEL: u64 = 30_000_000;

/// Everything that can be heard of a run.
#[derive(Default)]
struct Heard {
    records: Vec<Record>,
    /// Captures and shapes, in words.
    details: Vec<String>,
}

impl Observer for Heard {
    fn event(&mut self, event: &Event) {
        self.records.push(Record::Event(*event));
    }
    fn access(&mut self, access: &Access) {
        self.records.push(Record::Access(*access));
    }
}

impl Listener for Heard {
    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        let captures: Vec<String> = (creation.captures)().iter().map(Datum::to_string).collect();
        let Creation {
            parent,
            index,
            site,
            construct,
            function,
            ..
        } = creation;
        let told =
            format!("{task} of {parent} {index} {site} {construct:?} {function} {captures:?}");
        self.details.push(told);
    }
    fn allocated(&mut self, object: &Allocated<'_>) {
        self.details.push(format!("{object:?}"));
    }
}

pub(crate) struct Run {
    heard: Heard,
    output: Vec<u8>,
    /// Its failure.
    pub(crate) trap: Option<Trap>,
}

/// None if it goes on for too long.
pub(crate) fn interpret(module: &Module, arguments: &[Datum], limits: Limits) -> Option<Run> {
    let (mut heard, mut output) = (Heard::default(), Vec::new());
    let program = Program {
        module,
        arguments,
        limits,
    };
    let progress = AtomicU64::new(0);
    let outcome = if takes_turns(module) {
        let mut schedule = Cooperative::default();
        run_for(
            FUEL,
            program,
            &mut schedule,
            &mut heard,
            &mut output,
            &progress,
        )
    } else {
        let mut schedule = DepthFirst::default();
        run_for(
            FUEL,
            program,
            &mut schedule,
            &mut heard,
            &mut output,
            &progress,
        )
    };
    let trap = outcome.trap().cloned();
    (!matches!(outcome.result, End::OutOfFuel)).then_some(Run {
        heard,
        output,
        trap,
    })
}

pub(crate) fn compiled<'a>(
    module: &'a Module,
    arguments: &'a [Datum],
    limits: Limits,
    progress: &'a AtomicU64,
) -> finishline_jit::Program<'a> {
    finishline_jit::Program {
        module,
        arguments,
        limits,
        progress,
    }
}

pub(crate) fn trap(end: finishline_jit::End) -> Option<Trap> {
    match end {
        finishline_jit::End::Finished => None,
        finishline_jit::End::Trapped(trap) => Some(trap),
        finishline_jit::End::OutputError(error) => panic!("{error}"),
        finishline_jit::End::Stopped => panic!("nobody stops it"),
    }
}

/// Compares compiled runs of one form of the program with what the interpreter did.
fn same_run(
    what: &str,
    module: &Module,
    arguments: &[Datum],
    limits: Limits,
    expected: &Run,
) -> Result<(), String> {
    let progress = AtomicU64::new(0);
    let program = compiled(module, arguments, limits, &progress);
    let (mut heard, mut output) = (Heard::default(), Vec::new());
    let end = finishline_jit::tell(program, &mut heard, &mut output).map_err(|e| e.to_string())?;
    same(what, "failure", &trap(end), &expected.trap)?;
    same(what, "output", &output, &expected.output)?;
    same_list(what, "events", &heard.records, &expected.heard.records)?;
    same_list(what, "details", &heard.details, &expected.heard.details)?;

    let mut output = Vec::new();
    let end = finishline_jit::run(program, 1, &mut output).map_err(|e| e.to_string())?;
    same(what, "failure, unchecked", &trap(end), &expected.trap)?;
    same(what, "output, unchecked", &output, &expected.output)
}

fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    which: &str,
    found: &T,
    expected: &T,
) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!(
        "{what}: {which}: compiled {found:?}, interpreted {expected:?}"
    ))
}

fn same_list<T: PartialEq + std::fmt::Debug>(
    what: &str,
    which: &str,
    found: &[T],
    expected: &[T],
) -> Result<(), String> {
    let agree = found.iter().zip(expected).take_while(|(a, b)| a == b);
    let at = agree.count();
    same(
        what,
        &format!("{which} at {at}"),
        &found.get(at),
        &expected.get(at),
    )
}

/// What a detector told of every access says of these events.
fn told(records: &[Record]) -> Findings {
    let mut detector = Serial::<EspBags, Isolated>::new().expect("memory for a detector");
    replay(records, &mut detector);
    detector
        .finish()
        .expect("a detector that can judge all of Fin")
}

/// The accesses that race with nothing, by the oracle; none if it gives up.
fn harmless(module: &Module, records: &[Record]) -> BTreeSet<AccessId> {
    let mut oracle = Oracle::new(ORACLE_STEPS);
    replay(records, &mut oracle);
    if oracle.gave_up() {
        return BTreeSet::new();
    }
    // A proof does not count on locks.
    let racing = oracle.conflicting_accesses();
    (0..module.source.accesses.len())
        .map(AccessId::from_index)
        .filter(|access| !racing.contains(access))
        .collect()
}

fn locations(set: &LocationSet) -> Vec<u64> {
    let mut locations: Vec<u64> = set.in_order().iter().map(|location| location.0).collect();
    locations.sort_unstable();
    locations
}

/// Compares inline detectors with the one that is told of every access of the program as written,
/// with few checks left out and with many.
fn same_findings(
    module: &Module,
    arguments: &[Datum],
    limits: Limits,
    whole: &Run,
) -> Result<(), String> {
    let all = told(&whole.heard.records);
    let unproved = without_proved(module, &harmless(module, &whole.heard.records));
    for (passes, module) in [
        (Passes::SEQUENTIAL, module),
        (Passes::UNPROVED, module),
        (Passes::ALL, &unproved),
    ] {
        let holds = whole.trap.is_none() || passes.intersection(HOLD_IN_FAILED_RUNS) == passes;
        for (what, form) in [
            (format!("reduced, {passes}"), reduce(module, passes)),
            (format!("optimised, {passes}"), for_speed(module, passes)),
        ] {
            verified(&form)?;
            let fewer = interpret(&form, arguments, limits)
                .ok_or("with fewer checks it goes on for too long")?;
            let some = told(&fewer.heard.records);
            let found = checked(&what, Detector::EspBags, &form, arguments, limits, whole)?;
            let racing = locations(&found.racing);
            same(&what, "statistics", &found.statistics, &some.statistics)?;
            same(&what, "racing", &racing, &locations(&some.racing))?;
            if holds {
                same(&what, "racing, of all", &racing, &locations(&all.racing))?;
                let conflict = found.isolated_conflict;
                same(&what, "conflict", &conflict, &all.isolated_conflict)?;
            }
        }
    }
    Ok(())
}

/// The same for a program whose tasks take turns, from which no check is left out. A detector of
/// depth-first runs finds the same, or refuses.
fn same_findings_in_turns(
    module: &Module,
    arguments: &[Datum],
    limits: Limits,
    whole: &Run,
) -> Result<(), String> {
    let uses = Uses {
        isolated: module.uses(Construct::Isolated).is_some(),
        promises: true,
        locks: module.uses(Construct::Lock).is_some(),
    };
    let all = |found: Findings| {
        let of_locks = (found.overlap, found.lock_cycle);
        let conflicts = (found.isolated_conflict, of_locks);
        (locations(&found.racing), conflicts, found.statistics)
    };
    let optimised = for_speed(module, Passes::NONE);
    for detector in [Detector::Finishline, Detector::EspBags, Detector::SpBags] {
        let mut constructs = module.constructs.iter();
        if !constructs.all(|used| detector.judges(used.construct)) {
            continue;
        }
        let told = detectors::first_pass(detector, uses, &*whole.heard.records);
        let told = told.map_err(|e| e.to_string());
        let told = told.map(|(_, findings)| all(findings));
        for (what, form) in [("checked", module), ("checked and optimised", &optimised)] {
            let what = format!("{what} by {detector}");
            let found = checked(&what, detector, form, arguments, limits, whole).map(all);
            // A task that went on may have failed before it did anything that others are told.
            if whole.trap.is_none() || found.is_ok() {
                same(&what, "findings", &found, &told)?;
            }
        }
    }
    Ok(())
}

/// What the inline detector finds in a run that must end like the whole one.
fn checked(
    what: &str,
    detector: Detector,
    module: &Module,
    arguments: &[Datum],
    limits: Limits,
    whole: &Run,
) -> Result<Findings, String> {
    let progress = AtomicU64::new(0);
    let program = compiled(module, arguments, limits, &progress);
    let mut output = Vec::new();
    let (end, findings) = finishline_jit::check(program, detector, &mut output)
        .expect("the detector has an inline form")
        .map_err(|e| e.to_string())?;
    same(what, "failure, checked", &trap(end), &whole.trap)?;
    same(what, "output, checked", &output, &whole.output)?;
    findings.map_err(|e| e.to_string())
}

fn verified(module: &Module) -> Result<(), String> {
    verify(module).map_err(|violations| format!("{violations:?}\n{module}"))
}

/// Whether the program was compared; it is not if it goes on for too long.
pub(crate) fn agrees(module: &Module, arguments: &[Datum], limits: Limits) -> Result<bool, String> {
    let Some(expected) = interpret(module, arguments, limits) else {
        return Ok(false);
    };
    same_run("as it is", module, arguments, limits, &expected)?;
    let fast = for_speed(module, Passes::NONE);
    verified(&fast)?;
    same_run("optimised", &fast, arguments, limits, &expected)?;
    if takes_turns(module) {
        same_findings_in_turns(module, arguments, limits, &expected)?;
    } else {
        same_findings(module, arguments, limits, &expected)?;
    }
    Ok(true)
}
