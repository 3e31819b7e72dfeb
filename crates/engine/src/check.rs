//! Can the result depend on the schedule? One depth-first run under a detector answers; more runs name what it found.
//!
//! 1. The **first pass** has the smallest cells and gives the exact set of racing locations. A clean run is the only one.
//! 2. The **second pass** follows these locations alone and gives the pairs of accesses ([`finishline_detect::sited`]). It
//!    also gives the names of locations ([`crate::names`]) and the accesses to a watched one ([`crate::watch`]).
//! 3. A **story** gives names to the tasks involved ([`crate::story`]).
//!
//! Only one run's memory is alive at a time. A run that does not do the same as the first, which takes a system that runs
//! out of memory, is not believed.

use crate::depth_first::{End, Outcome};
use crate::question::{Again, CheckError, Ending, Question};
use crate::rerun::{Depths, Rerun};
use crate::story::Story;
use crate::suppressions::{Numbered, Sorted};
use crate::teller::Teller;
use finishline_detect::detectors;
use finishline_detect::{Failure, Findings, LocationSet, RacePair};
use finishline_ir::listener::EventsAlone;
use finishline_ir::machine::Trap;
use finishline_ir::{Construct, ConstructUse, Module};
use finishline_model::summary::{self, Statistics, Summary, Suppressed, Watch};
use finishline_model::{Detector, Location, TaskId, Verdict};
use std::io::Write;

/// The second pass remembers every access to a racing location; of more than these only the first are followed.
const MOST_FOLLOWED: usize = 1_000_000;

/// The paths of a report have about so many tasks at most, all together: one path alone can have a million.
const MOST_ON_PATHS: usize = 100_000;

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
    let outcome = question.forms.run(question.input(), output);
    let trap = match outcome.result {
        End::OutputError(error) => return Err(CheckError::Output(error)),
        End::Finished | End::OutOfFuel => return Ok(None),
        End::Trapped(trap) => trap,
    };
    let story = Story::of(question, [trap.task]);
    Ok(Some(story.failure(&trap)))
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
    let answer = Answer {
        question,
        detector,
        trap: outcome.trap().cloned(),
        findings,
    };
    answer.summary()
}

/// The run that is heard: its outcome, and what the detector found or why it failed.
pub(crate) fn first_pass(
    question: &Question,
    detector: Detector,
    output: &mut dyn Write,
) -> Result<(Outcome, Result<Findings, Failure>), CheckError> {
    let (outcome, findings) = question
        .forms
        .first_pass(detector, question.input(), output);
    match outcome.result {
        End::OutputError(error) => Err(CheckError::Output(error)),
        _ => Ok((outcome, findings)),
    }
}

/// What the first pass gave, to be named and put into words.
struct Answer<'a, 'm> {
    question: &'a Question<'m>,
    detector: Detector,
    trap: Option<Trap>,
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
        let (pairs, rerun) = self.second_pass();
        let Rerun {
            names,
            watcher,
            depths,
        } = rerun;
        let suppressions = question.suppressions.as_ref();
        let sorted = Sorted::new(&pairs.pairs, suppressions, &names);

        let mut cast = Cast::new(&depths);
        let mut shown = |pairs: &[Numbered<'_>]| -> usize {
            let most = pairs.iter().take(question.max_races);
            let tasks = most.map(|(_, pair)| [pair.race.first.task, pair.race.second.task]);
            tasks.take_while(|tasks| cast.admit(tasks)).count()
        };
        let reported = &sorted.reported[..shown(&sorted.reported)];
        let suppressed = &sorted.suppressed[..shown(&sorted.suppressed)];
        let watched = match (&question.watch, watcher) {
            (Some(name), Some(watcher)) => {
                let nothing = || CheckError::NothingToWatch(name.clone());
                let location = watcher.location.ok_or_else(nothing)?;
                let seen = watcher.seen.iter();
                let shown = seen.take_while(|point| cast.admit(&[point.task])).count();
                Some((location, watcher, shown))
            }
            _ => None,
        };
        cast.tasks.extend(self.trap.iter().map(|trap| trap.task));
        let tasks = cast.tasks;
        drop(depths);

        let teller = Teller {
            question,
            names: &names,
            story: &Story::of(question, tasks),
            first_real: pairs
                .pairs
                .iter()
                .position(|pair| !pair.race.ordered_by_isolation),
        };
        let (verdict, strengthen) = self.verdict(&pairs);
        Ok(Summary {
            program: question.module.source.path.clone(),
            arguments: question.words.clone(),
            detector: self.detector,
            verdict,
            strengthen,
            races: reported.iter().map(|race| teller.race(*race)).collect(),
            distinct_races: match (&pairs.incomplete, pairs.pairs.len()) {
                // There is at least one, though it could not be found.
                (Some(_), 0) => 1,
                (_, found) => found,
            },
            suppressed: suppressions.map(|suppressions| Suppressed {
                file: suppressions.file().to_owned(),
                races: suppressed.iter().map(|race| teller.race(*race)).collect(),
                count: sorted.suppressed.len(),
                // Of races that could not be found nothing is known.
                unmatched: match pairs.incomplete {
                    Some(_) => Vec::new(),
                    None => sorted.unmatched,
                },
            }),
            racing_locations: match self.racing() {
                Some(racing) => teller.locations(racing.in_order()),
                None => summary::Names::default(),
            },
            failure: self.trap.as_ref().map(|trap| teller.story.failure(trap)),
            watched: watched.map(|(location, watcher, shown)| Watch {
                location: names.location(location),
                accesses: (watcher.seen[..shown].iter())
                    .map(|point| teller.access(point))
                    .collect(),
                count: watcher.count,
            }),
            statistics: match &self.findings {
                Ok(findings) => findings.statistics,
                Err(_) => {
                    let mut did = Statistics::default();
                    question.again(&mut EventsAlone(&mut did));
                    did
                }
            },
        })
    }

    /// The racing locations, if there are any.
    fn racing(&self) -> Option<&LocationSet> {
        let racing = self.findings.as_ref().ok().map(|findings| &findings.racing);
        racing.filter(|racing| !racing.is_empty())
    }

    /// Which accesses race at the racing locations, the names of these, and the accesses to the watched one.
    fn second_pass(&self) -> (Pairs, Rerun<'m>) {
        let question = self.question;
        let rerun =
            |to_name: &[Location]| Rerun::new(question.module, to_name, question.watch.as_deref());
        let (Ok(findings), Some(racing)) = (&self.findings, self.racing()) else {
            let mut rerun = rerun(&[]);
            if question.watch.is_some() {
                question.again(&mut rerun);
            }
            return (Pairs::default(), rerun);
        };
        let isolated = question.module.uses(Construct::Isolated).is_some();
        let first = match racing.len() > MOST_FOLLOWED {
            true => racing.first(MOST_FOLLOWED).ok(),
            false => None,
        };
        let followed = first.as_ref().unwrap_or(racing);
        let mut told = rerun(followed.in_order());
        let again = Again {
            question,
            also: &mut told,
        };
        let pairs = match detectors::second_pass(self.detector, isolated, followed, again) {
            Ok((ending, pairs))
                if ending == Ending::new(self.trap.as_ref(), &findings.statistics) =>
            {
                Pairs {
                    pairs: pairs.into_vec(),
                    incomplete: first.is_some().then(|| {
                        format!("only the first {MOST_FOLLOWED} racing locations were followed")
                    }),
                }
            }
            Ok(_) => Pairs::not_found("the program did not do the same when it was run again"),
            Err(failure) => {
                // It may not even have started.
                told = rerun(followed.in_order());
                question.again(&mut told);
                Pairs::not_found(&failure.to_string())
            }
        };
        (pairs, told)
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
        if self.trap.is_some() {
            (Verdict::Trap, None)
        } else if findings.isolated_conflict {
            let what = "isolated blocks of parallel tasks access the same data; \
                        where they need not, the verdict covers every order";
            (Verdict::CertifiedOrder, Some(what.to_owned()))
        } else {
            (Verdict::Certified, None)
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

/// The tasks that a report is about.
struct Cast<'a> {
    depths: &'a Depths,
    tasks: Vec<TaskId>,
    /// How many tasks are on the paths admitted.
    on_paths: usize,
}

impl<'a> Cast<'a> {
    fn new(depths: &'a Depths) -> Self {
        Cast {
            depths,
            tasks: Vec::new(),
            on_paths: 0,
        }
    }

    /// Takes these tasks in if there is room for their paths. There always is for the first ones.
    fn admit(&mut self, tasks: &[TaskId]) -> bool {
        if self.on_paths > MOST_ON_PATHS {
            return false;
        }
        self.tasks.extend_from_slice(tasks);
        let depths = tasks.iter().map(|task| self.depths.of(*task));
        self.on_paths += depths.sum::<usize>();
        true
    }
}
