//! Confirms races that were found without running the program, by running it.
//!
//! The smallest case of such a race has arguments for `main`, and the program is run on them. The
//! race is *confirmed* if the same two accesses of the source race in that run. The
//! [oracle](finishline_detect::oracle) knows every racing pair. The run also gives the name of the
//! location, which depends on the number of earlier objects with that name.
//!
//! Small cases often fail, for example by an index into an empty array. If the run fails before it
//! reaches the race, or does not end, larger cases are tried. A confirmed larger case replaces the
//! smallest. If a run does not have the race, neither the verdict of the kernel nor that of the
//! program counts the race any longer.
//!
//! The user did not ask for these runs, so they must be short. Arguments are small, and so are the
//! limits on steps and memory.

use crate::arguments;
use crate::depth_first::{self, End, Program};
use crate::names::{Names, place};
use crate::teller::replay;
use finishline_answer::answer::{About, Answer};
use finishline_answer::claim::{Claim, Confirmation, Witness};
use finishline_answer::finding::FoundAccess;
use finishline_answer::{Location as Told, rules};
use finishline_detect::oracle::Oracle;
use finishline_ir::Module;
use finishline_ir::listener::{Allocated, Listener};
use finishline_ir::machine::{Limits, Trap, TrapKind};
use finishline_model::{Access, AccessId, Event, Location, Observer};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::AtomicU64;

/// The largest magnitude of an argument that is tried.
const LARGEST_ARGUMENT: u64 = 64;
/// The number of different argument lists that are tried.
const MOST_RUNS: usize = 16;
/// The number of runs allowed in addition if smaller cases fail.
const MOST_LARGER_RUNS: usize = 16;
/// The most instructions and bytes that a run may take.
const STEPS: u64 = 2_000_000;
const MEMORY: u64 = 64 << 20;
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
            finding.rule = rules::claim(claim.witness.as_ref());
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
    known: BTreeMap<Vec<i64>, Run>,
}

impl Runs<'_> {
    /// Runs a case of a race and notes the result, unless `most` runs have been made already.
    fn tell(&mut self, pair: [AccessId; 2], case: &mut Witness, most: usize) {
        let (module, arguments) = (self.module, &case.arguments);
        let run = match self.known.contains_key(arguments) {
            false if self.known.len() >= most => return,
            _ => (self.known.entry(arguments.clone())).or_insert_with(|| run(module, arguments)),
        };
        run.tell(module, pair, case);
    }

    /// Looks for a larger case if the smallest one fails or takes too long.
    fn try_larger(&mut self, pair: [AccessId; 2], claim: &mut Claim) {
        let smallest = claim.witness.as_ref().map(|case| &case.confirmation);
        let is_open = matches!(
            smallest,
            Some(Confirmation::Failed(_) | Confirmation::TooCostly)
        );
        if !is_open {
            return;
        }
        for case in &mut claim.larger {
            self.tell(pair, case, MOST_RUNS + MOST_LARGER_RUNS);
            if let Confirmation::Confirmed | Confirmation::Contradicted = case.confirmation {
                claim.witness = Some(case.clone());
                return;
            }
        }
    }
}

/// The result of a run.
enum Run {
    None,
    TooCostly,
    Judged(Judged),
}

/// A run that was judged.
struct Judged {
    /// The arguments as a user would type them.
    words: Vec<String>,
    /// The names of the locations where two accesses race, by access ids with the smaller one
    /// first.
    races: BTreeMap<[AccessId; 2], Vec<Told>>,
    failure: Option<String>,
}

fn run(module: &Module, numbers: &[i64]) -> Run {
    if (numbers.iter()).any(|number| number.unsigned_abs() > LARGEST_ARGUMENT) {
        return Run::None;
    }
    let words = arguments::words(module, numbers);
    let Ok(arguments) = arguments::parse(module, &words) else {
        return Run::None;
    };
    let program = || Program {
        module,
        arguments: &arguments,
        limits: Limits {
            memory: MEMORY,
            ..Limits::default()
        },
    };
    let progress = AtomicU64::new(0);
    let mut judge = Judge(Oracle::new(ORACLE_STEPS));
    let outcome = depth_first::run_for(STEPS, program(), &mut judge, &mut io::sink(), &progress);
    let Judge(oracle) = judge;
    let failure = match outcome.result {
        End::OutOfFuel => return Run::TooCostly,
        // The program might have ended within the memory that `finishline check` allows.
        End::Trapped(trap) if is_of_memory(&trap.kind) => return Run::TooCostly,
        End::Trapped(trap) => Some(failure(module, &trap)),
        End::Finished | End::OutputError(_) => None,
    };
    if oracle.gave_up() || oracle.pairs() > MOST_PAIRS {
        return Run::TooCostly;
    }
    let mut locations: BTreeMap<[AccessId; 2], BTreeSet<Location>> = BTreeMap::new();
    oracle.each_race(|location, a, b| {
        let pair = [a.access.min(b.access), a.access.max(b.access)];
        let locations = locations.entry(pair).or_default();
        if locations.len() < MOST_LOCATIONS {
            locations.insert(location);
        }
    });
    let wanted: BTreeSet<Location> = locations.values().flatten().copied().collect();
    let wanted: Vec<Location> = wanted.into_iter().collect();
    let mut namer = Namer(Names::new(module, &wanted, None));
    depth_first::run_for(STEPS, program(), &mut namer, &mut io::sink(), &progress);
    let Namer(names) = namer;
    let named = |locations: BTreeSet<Location>| {
        let locations = locations.into_iter();
        locations.map(|location| names.location(location)).collect()
    };
    let races = locations.into_iter().map(|(pair, at)| (pair, named(at)));
    Run::Judged(Judged {
        words,
        races: races.collect(),
        failure,
    })
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
    /// Notes the result of the run in a case of a race between two accesses.
    fn tell(&self, module: &Module, [first, second]: [AccessId; 2], witness: &mut Witness) {
        let run = match self {
            Run::None => return,
            Run::TooCostly => {
                witness.confirmation = Confirmation::TooCostly;
                return;
            }
            Run::Judged(run) => run,
        };
        let pair = [first.min(second), first.max(second)];
        let Some(locations) = run.races.get(&pair) else {
            witness.confirmation = match &run.failure {
                Some(failure) => Confirmation::Failed(failure.clone()),
                None => Confirmation::Contradicted,
            };
            return;
        };
        witness.confirmation = Confirmation::Confirmed;
        if !locations.contains(&witness.location)
            && let Some(location) = locations.first()
        {
            witness.location.clone_from(location);
            let location = location.to_string();
            witness.replay = replay(&module.source.path, &run.words, &location);
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
