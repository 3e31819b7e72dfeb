//! Can the result depend on the schedule? One depth-first run under a detector answers; more runs name what it found.
//!
//! 1. The **first pass** has the smallest cells and gives the exact set of racing locations. A clean run is the only one.
//! 2. The **second pass** follows these locations alone and gives the pairs of accesses ([`finishline_detect::sited`]). The heap
//!    it leaves gives the names of locations.
//! 3. If a location is watched, a run lists its accesses ([`crate::watch`]).
//! 4. A **story** gives names to the tasks involved ([`crate::story`]).
//!
//! Only one run's memory is alive at a time. A run that ends differently from the first, which takes a system that runs out of
//! memory, is not believed.

use crate::depth_first::{End, Outcome};
use crate::names::Names;
use crate::question::{Again, CheckError, Ending, Question};
use crate::story::{Genealogy, Story};
use crate::suppressions::{Numbered, Sorted};
use crate::teller::{NamedRace, Teller, named};
use crate::watch::Watcher;
use finishline_detect::detectors::{self, Drive};
use finishline_detect::{Failure, Findings, LocationSet, RacePair};
use finishline_ir::machine::Machine;
use finishline_ir::{Construct, ConstructUse, Module};
use finishline_model::summary::{self, RaceSummary, Statistics, Summary, Suppressed, Watch};
use finishline_model::{Access, Detector, Event, Observer, Verdict};
use std::io::Write;

/// The second pass remembers every access to a racing location; of more than these only the first are followed.
const MOST_FOLLOWED: usize = 1_000_000;

/// The cheapest detector that can judge all the program uses.
pub fn choose(module: &Module) -> Detector {
    if !module.constructs.is_empty() && unsupported(Detector::SpBags, module).is_none() {
        Detector::SpBags
    } else {
        Detector::EspBags
    }
}

/// The first construct of the program that the detector has no rule for.
pub fn unsupported(detector: Detector, module: &Module) -> Option<ConstructUse> {
    let mut used = module.constructs.iter().copied();
    used.find(|used| !detector.judges(used.construct))
}

/// Runs the program without checking; its failure, if it fails.
pub fn run(
    question: &Question,
    output: &mut dyn Write,
) -> Result<Option<summary::Failure>, CheckError> {
    let outcome = question.run(&mut (), output, |_, _| {});
    let ending = Ending::of(&outcome);
    let machine = outcome.machine;
    if let End::OutputError(error) = outcome.result {
        return Err(CheckError::Output(error));
    }
    let Some(trap) = ending.trap else {
        return Ok(None);
    };
    let mut tasks = Genealogy::default();
    if let Some(machine) = machine {
        tasks.add(&machine, trap.task);
    }
    let story = Story::of(question, tasks);
    let teller = Teller {
        question,
        story: &story,
        first_real: None,
    };
    Ok(Some(teller.failure(&trap)))
}

/// Runs the program under the detector; what it prints goes to `output`.
pub fn check(
    question: &Question,
    detector: Detector,
    output: &mut dyn Write,
) -> Result<Summary, CheckError> {
    if let Some(used) = unsupported(detector, question.module) {
        return Err(CheckError::Refused { detector, used });
    }
    let (outcome, findings) = first_pass(question, detector, output)?;
    let ending = Ending::of(&outcome);
    // Its memory must be free before the program is run again.
    drop(outcome);
    let answer = Answer {
        question,
        detector,
        ending,
        findings,
    };
    answer.summary()
}

/// The run that is heard: its outcome, and what the detector found or why it failed.
pub(crate) fn first_pass<'m>(
    question: &Question<'m>,
    detector: Detector,
    output: &mut dyn Write,
) -> Result<(Outcome<'m>, Result<Findings, Failure>), CheckError> {
    let mut heard = None;
    let run = Heard {
        question,
        output,
        outcome: &mut heard,
    };
    let isolated = question.module.uses(Construct::Isolated).is_some();
    let findings = detectors::first_pass(detector, isolated, run);
    let findings = findings.map(|((), findings)| findings);
    match heard {
        Some(Outcome {
            result: End::OutputError(error),
            ..
        }) => Err(CheckError::Output(error)),
        Some(outcome) => Ok((outcome, findings)),
        // The detector could not even start: run without it, so that the program's own outcome is known.
        None => Ok((question.run(&mut (), output, |_, _| {}), findings)),
    }
}

/// The run whose output counts. A detector that fails keeps what the run gave, so it is put aside.
struct Heard<'a, 'm> {
    question: &'a Question<'m>,
    output: &'a mut dyn Write,
    outcome: &'a mut Option<Outcome<'m>>,
}

impl Drive for Heard<'_, '_> {
    type Output = ();

    fn drive(self, observer: &mut impl Observer) {
        *self.outcome = Some(self.question.run(observer, self.output, |_, _| {}));
    }
}

/// What the first pass gave, to be named and put into words.
struct Answer<'a, 'm> {
    question: &'a Question<'m>,
    detector: Detector,
    ending: Ending,
    findings: Result<Findings, Failure>,
}

/// The pairs of accesses that race.
#[derive(Default)]
struct Pairs {
    pairs: Vec<RacePair>,
    /// Why they are not all there, if they are not.
    incomplete: Option<String>,
}

impl<'m> Answer<'_, 'm> {
    fn summary(self) -> Result<Summary, CheckError> {
        let question = self.question;
        let silent = self.racing().is_none() && question.watch.is_none();
        if silent && self.ending.trap.is_none() {
            return Ok(self.told(self.without_names(), &Pairs::default()));
        }
        let (pairs, machine) = self.second_pass();
        let Some(machine) = machine else {
            return match &question.watch {
                Some(name) => Err(CheckError::NothingToWatch(name.clone())),
                None => Ok(self.told(self.without_names(), &pairs)),
            };
        };

        // Everything that needs the heap: names of locations, and who descends from whom.
        let names = Names::new(&machine);
        let suppressions = question.suppressions.as_ref();
        let sorted = Sorted::new(&pairs.pairs, suppressions, &names);
        let mut tasks = Genealogy::default();
        let mut shown = |numbered: &[Numbered<'_>]| -> usize {
            let most = numbered.iter().take(question.max_races);
            let points = most.map(|(_, pair)| [pair.race.first.task, pair.race.second.task]);
            points
                .take_while(|points| tasks.admit(&machine, points))
                .count()
        };
        let shown = [&sorted.reported, &sorted.suppressed].map(|pairs| &pairs[..shown(pairs)]);
        let [reported, suppressed] = shown.map(|pairs| {
            let named = pairs
                .iter()
                .map(|(number, pair)| NamedRace::new(&names, *number, pair));
            named.collect::<Vec<_>>()
        });
        let racing_locations = match self.racing() {
            Some(racing) => named(&names, racing.in_order()),
            None => summary::Names::default(),
        };
        let watched = match &question.watch {
            None => None,
            Some(name) => match names.find(name) {
                Some(location) => Some((location, names.location(location))),
                None => return Err(CheckError::NothingToWatch(name.clone())),
            },
        };
        if let Some(trap) = &self.ending.trap {
            tasks.add(&machine, trap.task);
        }
        drop(names);
        drop(machine);

        let watched = watched.map(|(location, name)| {
            let mut watcher = Watcher::new(location);
            let outcome = Again(question).drive(&mut watcher);
            if let Some(machine) = &outcome.machine {
                let seen = watcher.seen.iter();
                let shown = seen
                    .take_while(|point| tasks.admit(machine, &[point.task]))
                    .count();
                watcher.seen.truncate(shown);
            }
            (name, watcher)
        });

        let story = Story::of(question, tasks);
        let teller = Teller {
            question,
            story: &story,
            first_real: pairs
                .pairs
                .iter()
                .position(|pair| !pair.race.ordered_by_isolation),
        };
        let told = Told {
            races: reported.iter().map(|race| teller.race(race)).collect(),
            suppressed: suppressions.map(|suppressions| Suppressed {
                file: suppressions.file().to_owned(),
                races: suppressed.iter().map(|race| teller.race(race)).collect(),
                count: sorted.suppressed.len(),
                // Of races that could not be found nothing is known.
                unmatched: match pairs.incomplete {
                    Some(_) => Vec::new(),
                    None => sorted.unmatched,
                },
            }),
            racing_locations,
            failure: self.ending.trap.as_ref().map(|trap| teller.failure(trap)),
            watched: watched.map(|(location, watcher)| Watch {
                location,
                accesses: watcher
                    .seen
                    .iter()
                    .map(|point| teller.access(point))
                    .collect(),
                count: watcher.count,
            }),
        };
        Ok(self.told(told, &pairs))
    }

    /// What can be told where no race was found, or the program failed before it began.
    fn without_names(&self) -> Told {
        let teller = Teller {
            question: self.question,
            story: &Story::default(),
            first_real: None,
        };
        let suppressions = self.question.suppressions.as_ref();
        Told {
            failure: self.ending.trap.as_ref().map(|trap| teller.failure(trap)),
            suppressed: suppressions.map(|suppressions| Suppressed {
                file: suppressions.file().to_owned(),
                races: Vec::new(),
                count: 0,
                unmatched: suppressions.entries(),
            }),
            ..Told::default()
        }
    }

    /// The racing locations, if there are any.
    fn racing(&self) -> Option<&LocationSet> {
        let racing = self.findings.as_ref().ok().map(|findings| &findings.racing);
        racing.filter(|racing| !racing.is_empty())
    }

    /// Which accesses race at the racing locations; and the machine at the end, which knows the names.
    fn second_pass(&self) -> (Pairs, Option<Machine<'m>>) {
        let Some(racing) = self.racing() else {
            let outcome = Again(self.question).drive(&mut ());
            return (Pairs::default(), outcome.machine);
        };
        let isolated = self.question.module.uses(Construct::Isolated).is_some();
        let first = match racing.len() > MOST_FOLLOWED {
            true => racing.first(MOST_FOLLOWED).ok(),
            false => None,
        };
        let followed = first.as_ref().unwrap_or(racing);
        let again = Again(self.question);
        match detectors::second_pass(self.detector, isolated, followed, again) {
            Ok((outcome, pairs)) if Ending::of(&outcome) == self.ending => {
                let incomplete = first.is_some().then(|| {
                    format!("only the first {MOST_FOLLOWED} racing locations were followed")
                });
                let pairs = pairs.into_vec();
                (Pairs { pairs, incomplete }, outcome.machine)
            }
            Ok((outcome, _)) => (
                Pairs::not_found("the program did not do the same when it was run again"),
                outcome.machine,
            ),
            Err(failure) => {
                let outcome = Again(self.question).drive(&mut ());
                (Pairs::not_found(&failure.to_string()), outcome.machine)
            }
        }
    }

    /// What was established, and what would establish more.
    fn verdict(&self, pairs: &Pairs) -> (Verdict, Option<String>) {
        let findings = match &self.findings {
            Ok(findings) => findings,
            Err(failure) => {
                let why = format!("{} could not judge this run: {failure}", self.detector);
                return (Verdict::Unknown, Some(why));
            }
        };
        let incomplete = pairs.incomplete.clone();
        if self.racing().is_some() {
            let real = |pair: &RacePair| !pair.race.ordered_by_isolation;
            let may_be_apparent = self.question.module.uses(Construct::Isolated).is_some();
            if pairs.pairs.iter().any(real) || !may_be_apparent {
                return (Verdict::Race, incomplete);
            }
            let what = "join the first access's task before the second access, or make both isolated; \
                        then no order of isolated blocks can show the race";
            return (Verdict::Apparent, incomplete.or(Some(what.to_owned())));
        }
        if self.ending.trap.is_some() {
            (Verdict::Trap, None)
        } else if findings.isolated_conflict {
            let what = "isolated blocks of parallel tasks access the same data; \
                        where they need not, the verdict covers every order";
            (Verdict::CertifiedOrder, Some(what.to_owned()))
        } else {
            (Verdict::Certified, None)
        }
    }

    fn told(&self, told: Told, pairs: &Pairs) -> Summary {
        let (verdict, strengthen) = self.verdict(pairs);
        let distinct_races = match (&pairs.incomplete, pairs.pairs.len()) {
            // There is at least one, though it could not be found.
            (Some(_), 0) => 1,
            (_, found) => found,
        };
        let statistics = match &self.findings {
            Ok(findings) => findings.statistics,
            Err(_) => {
                let mut tally = Tally::default();
                Again(self.question).drive(&mut tally);
                tally.0
            }
        };
        Summary {
            program: self.question.module.source.path.clone(),
            arguments: self.question.words.clone(),
            detector: self.detector,
            verdict,
            strengthen,
            races: told.races,
            distinct_races,
            suppressed: told.suppressed,
            racing_locations: told.racing_locations,
            failure: told.failure,
            watched: told.watched,
            statistics,
        }
    }
}

impl Pairs {
    fn not_found(why: &str) -> Pairs {
        Pairs {
            pairs: Vec::new(),
            incomplete: Some(format!("the racing accesses could not be found: {why}")),
        }
    }
}

/// The parts of a summary that need names.
#[derive(Default)]
struct Told {
    races: Vec<RaceSummary>,
    suppressed: Option<Suppressed>,
    racing_locations: summary::Names,
    failure: Option<summary::Failure>,
    watched: Option<Watch>,
}

/// Counts what a run does, where a detector that counts has failed.
#[derive(Default)]
struct Tally(Statistics);

impl Observer for Tally {
    fn event(&mut self, event: &Event) {
        match event {
            Event::TaskBegin { .. } => self.0.tasks += 1,
            Event::FinishBegin { .. } => self.0.finishes += 1,
            Event::IsolatedBegin { .. } => self.0.isolated_blocks += 1,
            Event::Alloc { count, .. } => self.0.locations += count,
            _ => {}
        }
    }

    fn access(&mut self, access: &Access) {
        self.0.accesses += access.count;
    }
}
