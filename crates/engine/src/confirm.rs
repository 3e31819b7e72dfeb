//! Confirms races that were found without running the program, by running it.
//!
//! The smallest case of such a race has arguments for `main`. The program is run on them, and the
//! race is *confirmed* if the same two accesses of the source race in that run, by definition: the
//! [oracle](finishline_detect::oracle) knows every pair. The run also tells what the location is
//! called, which depends on how many objects of that name there were before.
//!
//! A pair that the isolated blocks of a run keep apart is only *apparent* in it. Under another
//! order of the blocks the accesses might never both happen.
//!
//! The first run is depth-first, or cooperative with promises. If it fails, takes too long or has
//! apparent races, the tasks take turns in a second one: it gets past tasks that never end, and its
//! isolated blocks come in another order. What races in the part of a run that was made races,
//! whatever would have followed. Small cases are prone to fail, by an index out of bounds of an
//! empty array say. If no run gets to the race, larger cases are tried. One that is confirmed takes
//! the place of the smallest.
//!
//! A race that a run does not have is not counted any longer: neither by its kernel's verdict nor
//! by the program's. Nobody asked for these runs, so they must be short, each one and all together.

use crate::arguments;
use crate::cooperative::Cooperative;
use crate::depth_first::DepthFirst;
use crate::executor::uses;
use crate::names::{Names, place};
use crate::run::{End, Outcome, Program, Schedule, run_for};
use crate::teller::replay;
use crate::turns::Turns;
use finishline_answer::answer::{About, Answer};
use finishline_answer::claim::{Claim, Confirmation, Witness};
use finishline_answer::finding::FoundAccess;
use finishline_answer::{Location as Told, rules};
use finishline_detect::oracle::{Mode, Oracle};
use finishline_ir::Module;
use finishline_ir::listener::{Allocated, Listener};
use finishline_ir::machine::{Limits, Trap, TrapKind};
use finishline_model::{Access, AccessId, Event, Location, Observer};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::AtomicU64;

/// The most lists of arguments that are tried.
const MOST_RUNS: usize = 256;
/// The most further ones, if smaller ones fail.
const MOST_LARGER_RUNS: usize = 16;
/// The most steps and bytes that a run may take.
const STEPS: u64 = 2_000_000;
const MEMORY: u64 = 64 << 20;
/// The most steps of all runs together.
const STEPS_IN_ALL: u64 = 32_000_000;
/// The most steps that the oracle keeps, and the most pairs of accesses that it compares.
const ORACLE_STEPS: usize = 4000;
const MOST_PAIRS: u64 = 30_000_000;
/// Two accesses may race at many locations. At most this many are named.
const MOST_LOCATIONS: usize = 64;

/// Runs the smallest case of each race and notes the result in it. Then judges the kernels again by
/// the races that are left.
pub fn confirm(answer: &mut Answer, module: &Module) {
    let About::Proof(proof) = &mut answer.about else {
        return;
    };
    let mut runs = Runs {
        module,
        known: BTreeMap::new(),
        steps: STEPS_IN_ALL,
    };
    for finding in &mut answer.findings {
        let pair = ids([&finding.first, &finding.second]);
        if let (Some(pair), Some(claim)) = (pair, &mut finding.claim)
            && let Some(witness) = &mut claim.witness
        {
            runs.tell(pair, witness, MOST_RUNS);
        }
    }
    for finding in &mut answer.findings {
        let pair = ids([&finding.first, &finding.second]);
        if let Some(claim) = &mut finding.claim {
            if let Some(pair) = pair {
                runs.try_larger(pair, claim);
            }
            finding.rule = rules::claim(claim.witness.as_ref(), proof.may_stop);
        }
    }
    for (index, kernel) in proof.kernels.iter_mut().enumerate() {
        let of_kernel = (answer.findings.iter())
            .filter(|finding| finding.claim.as_ref().is_some_and(|it| it.kernel == index));
        let left = of_kernel.map(|finding| finding.rule);
        kernel.verdict = rules::kernel_after_runs(kernel.verdict, left);
    }
    answer.verdict = rules::proof(proof.kernels.iter().map(|kernel| kernel.verdict));
}

/// The two accesses of a pair.
fn ids([first, second]: [&FoundAccess; 2]) -> Option<[AccessId; 2]> {
    Some([first.id?, second.id?])
}

/// The runs made so far, by their arguments.
struct Runs<'m> {
    module: &'m Module,
    /// None: arguments that can't be passed.
    known: BTreeMap<Vec<i64>, Option<Run>>,
    /// The steps that further runs may make.
    steps: u64,
}

impl Runs<'_> {
    /// Runs a case of a race and notes the result, unless `most` runs have been made already.
    fn tell(&mut self, pair: [AccessId; 2], case: &mut Witness, most: usize) {
        let arguments = &case.arguments;
        if !self.known.contains_key(arguments) {
            // A case takes at most four runs. None of them is cut short for want of steps.
            if self.known.len() >= most || self.steps < 4 * STEPS {
                return;
            }
            let run = run(self.module, arguments, &mut self.steps);
            self.known.insert(arguments.clone(), run);
        }
        if let Some(Some(run)) = self.known.get(arguments) {
            run.tell(self.module, pair, case);
        }
    }

    /// Looks for a larger case if the smallest one fails or takes too long.
    fn try_larger(&mut self, pair: [AccessId; 2], claim: &mut Claim) {
        let smallest = claim.witness.as_ref().map(|case| &case.confirmation);
        let is_open = matches!(
            smallest,
            Some(Confirmation::Failed(_) | Confirmation::TooCostly | Confirmation::Apparent)
        );
        if !is_open {
            return;
        }
        for case in &mut claim.larger {
            self.tell(pair, case, MOST_RUNS + MOST_LARGER_RUNS);
            if let Confirmation::Confirmed
            | Confirmation::ConfirmedInTurns
            | Confirmation::Contradicted = case.confirmation
            {
                claim.witness = Some(case.clone());
                return;
            }
        }
    }
}

/// What came of the runs on a list of arguments.
struct Run {
    /// The arguments as one would type them.
    words: Vec<String>,
    /// By the accesses that race, the smaller one first.
    races: BTreeMap<[AccessId; 2], Shown>,
    /// Pairs that race only apparently, in every run that has them.
    apparent: BTreeSet<[AccessId; 2]>,
    end: RunEnd,
}

/// A race that a run has.
struct Shown {
    by: Confirmation,
    locations: Vec<Told>,
}

/// Why a race that no run shows is not there.
enum RunEnd {
    Ended,
    Failed(String),
    TooCostly,
}

/// Runs the program on a list of arguments. The steps made are taken from `steps`.
fn run(module: &Module, numbers: &[i64], steps: &mut u64) -> Option<Run> {
    let words = arguments::words(module, numbers);
    let arguments = arguments::parse(module, &words).ok()?;
    let program = Program {
        module,
        arguments: &arguments,
        limits: Limits {
            memory: MEMORY,
            ..Limits::default()
        },
    };
    let mut run = Run {
        words,
        races: BTreeMap::new(),
        apparent: BTreeSet::new(),
        end: RunEnd::TooCostly,
    };
    let by = Confirmation::Confirmed;
    run.end = match uses(module).turns() {
        true => run.judge(program, Cooperative::default, by, steps),
        false => run.judge(program, DepthFirst::default, by, steps),
    };
    if !matches!(run.end, RunEnd::Ended) || !run.apparent.is_empty() {
        let by = Confirmation::ConfirmedInTurns;
        let second = run.judge(program, Turns::default, by, steps);
        if let (RunEnd::TooCostly, RunEnd::Failed(_)) = (&run.end, &second) {
            run.end = second;
        }
    }
    Some(run)
}

/// Runs a program for at most [`STEPS`]. Those that it makes are taken from those that are left.
fn run_shortly(
    program: Program<'_>,
    schedule: &mut impl Schedule,
    listener: &mut impl Listener,
    left: &mut u64,
) -> Outcome {
    let (progress, mut output) = (AtomicU64::new(0), io::sink());
    let outcome = run_for(STEPS, program, schedule, listener, &mut output, &progress);
    *left = left.saturating_sub(outcome.steps.unwrap_or(0));
    outcome
}

fn is_of_memory(kind: &TrapKind) -> bool {
    matches!(
        kind,
        TrapKind::Memory { .. } | TrapKind::SystemMemory { .. }
    )
}

fn failure(module: &Module, trap: &Trap) -> String {
    let place = place(&module.source, trap.site);
    let (file, line, column) = (place.file, place.line, place.column);
    format!("{} at {file}:{line}:{column}", trap.kind.message())
}

impl Run {
    /// Runs a program under a schedule and notes the races that are not known yet. How the run
    /// ended.
    fn judge<S: Schedule>(
        &mut self,
        program: Program<'_>,
        schedule: impl Fn() -> S,
        by: Confirmation,
        steps: &mut u64,
    ) -> RunEnd {
        let module = program.module;
        let mut judge = Judge(Oracle::new(ORACLE_STEPS));
        let outcome = run_shortly(program, &mut schedule(), &mut judge, steps);
        let Judge(oracle) = judge;
        let is_compared = oracle.pairs() <= MOST_PAIRS;
        if is_compared {
            let found = self.new_races(&oracle);
            if !found.is_empty() {
                let wanted: BTreeSet<Location> = found.values().flatten().copied().collect();
                let wanted: Vec<Location> = wanted.into_iter().collect();
                let mut namer = Namer(Names::new(module, &wanted, None));
                run_shortly(program, &mut schedule(), &mut namer, steps);
                let Namer(names) = namer;
                for (pair, at) in found {
                    let (by, at) = (by.clone(), at.into_iter());
                    let locations = at.map(|location| names.location(location)).collect();
                    self.races.insert(pair, Shown { by, locations });
                }
            }
        }
        match outcome.result {
            // Within the memory that `finishline check` allows it might have ended.
            End::Trapped(trap) if is_of_memory(&trap.kind) => RunEnd::TooCostly,
            End::Trapped(trap) => RunEnd::Failed(failure(module, &trap)),
            End::Finished | End::OutputError(_) if is_compared && !oracle.gave_up() => {
                RunEnd::Ended
            }
            _ => RunEnd::TooCostly,
        }
    }

    /// The races of a run that are not known yet. Notes those that are only apparent.
    fn new_races(&mut self, oracle: &Oracle) -> BTreeMap<[AccessId; 2], BTreeSet<Location>> {
        let mut found: BTreeMap<[AccessId; 2], BTreeSet<Location>> = BTreeMap::new();
        oracle.each_race(|location, a, b| {
            let pair = [a.access.min(b.access), a.access.max(b.access)];
            if self.races.contains_key(&pair) {
                return;
            }
            if oracle.ordered(Mode::Observed, a, b) {
                self.apparent.insert(pair);
                return;
            }
            let locations = found.entry(pair).or_default();
            if locations.len() < MOST_LOCATIONS {
                locations.insert(location);
            }
        });
        self.apparent.retain(|pair| !found.contains_key(pair));
        found
    }

    /// Notes in a case of a race between two accesses what the runs say to it.
    fn tell(&self, module: &Module, [first, second]: [AccessId; 2], witness: &mut Witness) {
        let pair = [first.min(second), first.max(second)];
        let Some(shown) = self.races.get(&pair) else {
            witness.confirmation = match &self.end {
                _ if self.apparent.contains(&pair) => Confirmation::Apparent,
                RunEnd::Ended => Confirmation::Contradicted,
                RunEnd::Failed(failure) => Confirmation::Failed(failure.clone()),
                RunEnd::TooCostly => Confirmation::TooCostly,
            };
            return;
        };
        witness.confirmation = shown.by.clone();
        if !shown.locations.contains(&witness.location)
            && let Some(location) = shown.locations.first()
        {
            witness.location.clone_from(location);
            let location = location.to_string();
            witness.replay = replay(&module.source.path, &self.words, None, &location);
        }
    }
}

/// Judges a run as it goes.
struct Judge(Oracle);

impl Observer for Judge {
    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }

    fn access(&mut self, access: &Access) {
        self.0.access(access);
    }
}

impl Listener for Judge {}

/// Hears of objects and names their locations.
struct Namer<'m>(Names<'m>);

impl Observer for Namer<'_> {
    fn event(&mut self, _: &Event) {}

    fn access(&mut self, _: &Access) {}
}

impl Listener for Namer<'_> {
    fn allocated(&mut self, object: &Allocated<'_>) {
        self.0.allocated(object);
    }
}
