//! Races that were found without running the program, held to runs of it.
//!
//! The smallest case of such a race has arguments for `main`. The program is run on them, and the
//! race is *confirmed* if the same two accesses of the source race in that run, by definition: the
//! [oracle](finishline_detect::oracle) knows every pair. The run also tells what the location is
//! called, which depends on how many objects of that name there were before. Small cases are prone
//! to fail, by an index out of bounds of an empty array say: if the run fails before it gets there,
//! or does not end, larger cases are tried, and one that is confirmed takes the place of the
//! smallest. A race that a run does not have is not counted any longer: neither by its kernel's
//! verdict nor by the program's.
//!
//! Nobody asked for these runs, so they must be short: arguments are small, and so are the steps
//! and the memory that a run may take.

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

/// Arguments of a larger magnitude are not tried.
const LARGEST_ARGUMENT: u64 = 64;
/// So many different lists of arguments are tried.
const MOST_RUNS: usize = 16;
/// And so many more if smaller ones fail.
const MOST_LARGER_RUNS: usize = 16;
/// The instructions that a run may take, and the bytes.
const STEPS: u64 = 2_000_000;
const MEMORY: u64 = 64 << 20;
/// The steps between which tasks are created and waited for, and the pairs of accesses to compare.
const ORACLE_STEPS: usize = 4000;
const MOST_PAIRS: u64 = 30_000_000;
/// Two accesses may race at many locations; so many are named.
const MOST_LOCATIONS: usize = 64;

/// Runs the smallest cases of the races, notes in each what its run showed, and judges the kernels
/// again by what is left.
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
    /// Notes in a case of a race what a run says to it, unless so many have been made already.
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

/// What came of a run.
enum Run {
    None,
    TooCostly,
    Judged(Judged),
}

/// A run that was judged.
struct Judged {
    /// The arguments as one would type them.
    words: Vec<String>,
    /// Of each two accesses that race, the smaller one first, what the locations are called.
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
        // Within the memory that `finishline check` allows it might have ended.
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
    /// Notes in a case of a race between two accesses what the run says to it.
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

/// Is told of the objects that have locations to be named.
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
