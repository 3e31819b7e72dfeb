//! Races that were found without running the program, held to runs of it.
//!
//! The smallest case of such a race has arguments for `main`. The program is run on them under a detector, and the race is *confirmed* if
//! its location races in that run, or the same two accesses of the source do: a detector names every racing location, but not every pair. A race that a
//! run does not have is not counted any longer: neither by its kernel's verdict nor by the program's.
//!
//! Nobody asked for these runs, so they must be short. The program is interpreted, for a limited number of steps, before it is checked: what has ended so
//! once ends again, since a depth-first run is deterministic. Arguments are small, and so is the memory.

use crate::depth_first::{self, End, Program};
use crate::executor::{Executor, Forms};
use crate::question::Question;
use crate::{arguments, check};
use finishline_ir::Module;
use finishline_ir::machine::{Limits, TrapKind};
use finishline_model::proof::{Confirmation, Kernel, Proof, StaticAccess, StaticRace};
use finishline_model::summary::{AccessSummary, RaceSummary, Summary};
use finishline_model::{Passes, Verdict};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicU64;

/// Arguments of a larger magnitude are not tried.
const LARGEST_ARGUMENT: u64 = 64;
/// So many different lists of arguments are tried.
const MOST_RUNS: usize = 16;
/// The instructions that a run may take, and the bytes.
const STEPS: u64 = 2_000_000;
const MEMORY: u64 = 64 << 20;

/// Runs the smallest cases of the races, notes in each what its run showed, and gives kernels whose races are all refuted the verdict
/// that is left.
pub fn confirm(proof: &mut Proof, module: &Module) {
    let mut runs: BTreeMap<Vec<i64>, Run> = BTreeMap::new();
    for kernel in &mut proof.kernels {
        for race in &mut kernel.races {
            let Some(witness) = &race.witness else {
                continue;
            };
            let arguments = &witness.arguments;
            let run = match runs.contains_key(arguments) {
                false if runs.len() == MOST_RUNS => continue,
                _ => (runs.entry(arguments.clone())).or_insert_with(|| run(module, arguments)),
            };
            let confirmation = run.says_to(race);
            if let Some(witness) = &mut race.witness {
                witness.confirmation = confirmation;
            }
        }
        if kernel.verdict == Verdict::Race && !kernel.races.iter().any(StaticRace::stands) {
            kernel.verdict = Verdict::Unknown;
        }
    }
    let any = |verdict| (proof.kernels.iter()).any(|kernel: &Kernel| kernel.verdict == verdict);
    if proof.verdict == Verdict::Race && !any(Verdict::Race) {
        proof.verdict = Verdict::Unknown;
    }
}

/// What came of a run.
enum Run {
    None,
    TooCostly,
    Checked(Box<Summary>),
}

fn run(module: &Module, numbers: &[i64]) -> Run {
    if (numbers.iter()).any(|number| number.unsigned_abs() > LARGEST_ARGUMENT) {
        return Run::None;
    }
    let words = arguments::words(module, numbers);
    let Ok(arguments) = arguments::parse(module, &words) else {
        return Run::None;
    };
    let limits = Limits {
        memory: MEMORY,
        ..Limits::default()
    };
    let program = Program {
        module,
        arguments: &arguments,
        limits,
    };
    let progress = AtomicU64::new(0);
    let alone = depth_first::run_for(STEPS, program, &mut (), &mut io::sink(), &progress);
    match alone.result {
        End::OutOfFuel => return Run::TooCostly,
        // Within the memory that `finishline check` allows it might have ended.
        End::Trapped(trap) if is_of_memory(&trap.kind) => {
            return Run::TooCostly;
        }
        End::Finished | End::Trapped(_) | End::OutputError(_) => {}
    }
    let question = Question {
        module,
        forms: Forms::new(module, Executor::Interpreted, Passes::NONE),
        words,
        arguments,
        limits,
        max_races: usize::MAX,
        suppressions: None,
        watch: None,
        progress,
    };
    match check::check(&question, check::choose(module), &mut io::sink()) {
        Ok(summary) => Run::Checked(Box::new(summary)),
        Err(_) => Run::None,
    }
}

fn is_of_memory(kind: &TrapKind) -> bool {
    matches!(
        kind,
        TrapKind::Memory { .. } | TrapKind::SystemMemory { .. }
    )
}

impl Run {
    fn says_to(&self, race: &StaticRace) -> Confirmation {
        let summary = match self {
            Run::None => return Confirmation::NotRun,
            Run::TooCostly => return Confirmation::TooCostly,
            Run::Checked(summary) => summary,
        };
        if has(summary, race) {
            return Confirmation::Confirmed;
        }
        match (&summary.failure, summary.verdict) {
            (Some(failure), _) => {
                let (message, place) = (&failure.message, &failure.place);
                let (file, line, column) = (&place.file, place.line, place.column);
                Confirmation::Failed(format!("{message} at {file}:{line}:{column}"))
            }
            // The detector could not judge the run.
            (None, Verdict::Unknown) => Confirmation::NotRun,
            (None, _) => Confirmation::Contradicted,
        }
    }
}

/// Whether the run has the race.
fn has(summary: &Summary, race: &StaticRace) -> bool {
    let location = race.witness.as_ref().map(|witness| &witness.location);
    let racing = &summary.racing_locations.shown;
    location.is_some_and(|location| racing.contains(location))
        || (summary.races.iter()).any(|found| same_accesses(found, race))
}

fn same_accesses(found: &RaceSummary, race: &StaticRace) -> bool {
    let same = |found: &AccessSummary, expected: &StaticAccess| {
        let (at, expected_at) = (&found.place, &expected.place);
        found.kind == expected.kind
            && (at.line, at.column) == (expected_at.line, expected_at.column)
    };
    let (first, second) = (&found.first, &found.second);
    (same(first, &race.first) && same(second, &race.second))
        || (same(first, &race.second) && same(second, &race.first))
}
