//! Can the result depend on the schedule? One depth-first run under a detector answers; more runs name what it found.
//!
//! 1. The **first pass** has the smallest cells and gives the exact set of racing locations. Without races it is the only one.
//! 2. The **second pass** watches these locations and gives the pairs of accesses ([`finishline_detect::sited`]).
//! 3. A **story** run gives names to the tasks involved ([`crate::story`]).
//!
//! A depth-first run is deterministic, so all see the same events. Only the first one prints.

use crate::depth_first::{self, End, Outcome};
use crate::names::{Names, place};
use crate::story::{Story, ancestry};
use finishline_detect::detectors::{self, Drive};
use finishline_detect::{Failure as DetectorFailure, Findings, RacePair};
use finishline_ir::machine::{Datum, Limits, Machine, Trap, TrapKind};
use finishline_ir::{Construct, ConstructUse, Module};
use finishline_model::summary::{self, AccessSummary, RaceSummary, Summary, Watch, WhyParallel};
use finishline_model::{Access, AccessPoint, Detector, Event, Location, Observer, TaskId, Verdict};
use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::AtomicU64;

/// How many names of racing locations a report carries at most.
const MOST_NAMES: usize = 1000;
/// How many accesses to a watched location a report carries at most.
const MOST_WATCHED: usize = 1000;

/// A question about a program.
pub struct Question<'m> {
    pub module: &'m Module,
    /// The words given for the parameters of `main`, and their values.
    pub words: Vec<String>,
    pub arguments: Vec<Datum>,
    pub limits: Limits,
    /// The most distinct races to report.
    pub max_races: usize,
    /// The name of a location whose accesses are listed.
    pub watch: Option<String>,
    /// Instructions executed so far, over all runs: for whoever shows progress.
    pub progress: AtomicU64,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum CheckError {
    /// The detector does not know a construct that the program uses.
    Refused {
        detector: Detector,
        used: ConstructUse,
    },
    /// What the program printed could not be written.
    Output(io::Error),
    /// No location has the name to be watched.
    NothingToWatch(String),
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Refused { detector, used } => {
                let (knows, construct) = (detector.constructs(), used.construct.word());
                write!(
                    f,
                    "{detector} can judge {knows}; this program uses {construct}"
                )
            }
            CheckError::Output(error) => write!(f, "can't write what the program prints: {error}"),
            CheckError::NothingToWatch(name) => {
                write!(f, "no location of this run is called `{name}`")
            }
        }
    }
}

impl std::error::Error for CheckError {}

/// The cheapest detector that can judge all the program uses.
pub fn choose(module: &Module) -> Detector {
    let cilk = |used: &ConstructUse| matches!(used.construct, Construct::Spawn | Construct::Sync);
    if !module.constructs.is_empty() && module.constructs.iter().all(cilk) {
        Detector::SpBags
    } else {
        Detector::EspBags
    }
}

/// The first construct of the program that the detector has no rule for.
pub fn unsupported(detector: Detector, module: &Module) -> Option<ConstructUse> {
    let mut used = module.constructs.iter().copied();
    match detector {
        Detector::SpBags => {
            used.find(|used| !matches!(used.construct, Construct::Spawn | Construct::Sync))
        }
        Detector::EspBags | Detector::Oracle => None,
    }
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
    Answer {
        question,
        detector,
        outcome,
        findings,
    }
    .summary()
}

/// Runs the program without checking; its failure, if it fails.
pub fn run(
    question: &Question,
    output: &mut dyn Write,
) -> Result<Option<summary::Failure>, CheckError> {
    let outcome = question.run(&mut (), output, |_, _| {});
    match outcome.result {
        End::OutputError(error) => Err(CheckError::Output(error)),
        End::Trapped(trap) => {
            let machine = outcome.machine.as_ref();
            let story = story(question, machine, &[trap.task]);
            Ok(Some(failure(question, machine, &trap, &story)))
        }
        End::Finished | End::OutOfFuel => Ok(None),
    }
}

/// The run that is heard: its outcome, and what the detector found or why it failed.
pub(crate) fn first_pass<'m>(
    question: &Question<'m>,
    detector: Detector,
    output: &mut dyn Write,
) -> Result<(Outcome<'m>, Result<Findings, DetectorFailure>), CheckError> {
    let mut outcome = None;
    let run = Heard {
        question,
        output,
        outcome: &mut outcome,
    };
    let isolated = question.module.uses(Construct::Isolated).is_some();
    let findings = detectors::first_pass(detector, isolated, run).map(|((), findings)| findings);
    match outcome {
        Some(Outcome {
            result: End::OutputError(error),
            ..
        }) => Err(CheckError::Output(error)),
        Some(outcome) => Ok((outcome, findings)),
        // The detector could not even start: run without it, so that the program's own outcome is known.
        None => Ok((question.run(&mut (), output, |_, _| {}), findings)),
    }
}

impl<'m> Question<'m> {
    fn run(
        &self,
        observer: &mut impl Observer,
        output: &mut dyn Write,
        created: impl FnMut(&Machine<'m>, TaskId),
    ) -> Outcome<'m> {
        let program = depth_first::Program {
            module: self.module,
            arguments: &self.arguments,
            limits: self.limits,
        };
        depth_first::run(program, observer, output, None, &self.progress, created)
    }
}

/// The run whose output and outcome count.
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

/// The same run again, in silence.
pub(crate) struct Again<'a, 'm>(pub(crate) &'a Question<'m>);

impl Drive for Again<'_, '_> {
    type Output = ();

    fn drive(self, observer: &mut impl Observer) {
        self.0.run(observer, &mut io::sink(), |_, _| {});
    }
}

/// Notes every access to one location.
struct Watcher {
    location: Location,
    isolated: bool,
    seen: Vec<AccessPoint>,
    count: u64,
}

impl Observer for Watcher {
    fn event(&mut self, event: &Event) {
        match event {
            Event::IsolatedBegin { .. } => self.isolated = true,
            Event::IsolatedEnd { .. } => self.isolated = false,
            _ => {}
        }
    }

    fn access(&mut self, access: &Access) {
        for _ in access
            .locations()
            .filter(|location| *location == self.location)
        {
            self.count += 1;
            if self.seen.len() < MOST_WATCHED {
                let Access { task, id, kind, .. } = *access;
                self.seen.push(AccessPoint {
                    task,
                    access: id,
                    kind,
                    isolated: self.isolated,
                });
            }
        }
    }
}

/// What the first pass gave, to be put into words.
struct Answer<'a, 'm> {
    question: &'a Question<'m>,
    detector: Detector,
    outcome: Outcome<'m>,
    findings: Result<Findings, DetectorFailure>,
}

impl<'m> Answer<'_, 'm> {
    fn summary(self) -> Result<Summary, CheckError> {
        let pairs = match &self.findings {
            Ok(findings) if !findings.racing.is_empty() => self.pairs(findings),
            _ => Ok(Vec::new()),
        };
        let gave_up = match (&self.findings, &pairs) {
            (Err(failure), _) | (_, Err(failure)) => Some(*failure),
            _ => None,
        };
        let pairs = pairs.unwrap_or_default();
        let machine = self.outcome.machine.as_ref();
        let names = machine.map(Names::new);
        let watcher = match (&self.question.watch, &names) {
            (None, _) => None,
            (Some(name), Some(names)) => Some((name.clone(), self.watch(name, names)?)),
            (Some(name), None) => return Err(CheckError::NothingToWatch(name.clone())),
        };
        let shown = &pairs[..pairs.len().min(self.question.max_races)];
        let trap = match &self.outcome.result {
            End::Trapped(trap) => Some(trap),
            _ => None,
        };
        let points = shown
            .iter()
            .flat_map(|pair| [pair.race.first.task, pair.race.second.task]);
        let watched = watcher
            .iter()
            .flat_map(|(_, watcher)| watcher.seen.iter().map(|point| point.task));
        let tasks: Vec<TaskId> = points
            .chain(watched)
            .chain(trap.map(|trap| trap.task))
            .collect();
        let story = story(self.question, machine, &tasks);

        let races = match (machine, &names) {
            (Some(machine), Some(names)) => {
                let teller = Teller {
                    question: self.question,
                    machine,
                    names,
                    story: &story,
                };
                shown
                    .iter()
                    .enumerate()
                    .map(|(at, pair)| teller.race(at, pair))
                    .collect()
            }
            _ => Vec::new(),
        };
        let watched = machine.zip(names.as_ref()).zip(watcher).map(
            |((machine, names), (location, watcher))| {
                let teller = Teller {
                    question: self.question,
                    machine,
                    names,
                    story: &story,
                };
                let accesses = watcher
                    .seen
                    .iter()
                    .map(|point| teller.access(point))
                    .collect();
                Watch {
                    location,
                    accesses,
                    count: watcher.count,
                }
            },
        );
        let racing_locations = match (&self.findings, &names) {
            (Ok(findings), Some(names)) => {
                let racing = findings.racing.in_order();
                summary::Names {
                    shown: named(names, racing),
                    count: racing.len() as u64,
                }
            }
            _ => summary::Names::default(),
        };
        let (verdict, strengthen) = self.verdict(&pairs, gave_up);
        Ok(Summary {
            program: self.question.module.source.path.clone(),
            arguments: self.question.words.clone(),
            detector: self.detector,
            verdict,
            strengthen,
            races,
            // Where the second pass gave up there is at least one.
            distinct_races: pairs.len().max(usize::from(racing_locations.count > 0)),
            racing_locations,
            failure: trap.map(|trap| failure(self.question, machine, trap, &story)),
            watched,
            statistics: self
                .findings
                .as_ref()
                .map(|findings| findings.statistics)
                .unwrap_or_default(),
        })
    }

    /// The second pass: which accesses race at the racing locations.
    fn pairs(&self, findings: &Findings) -> Result<Vec<RacePair>, DetectorFailure> {
        let isolated = self.question.module.uses(Construct::Isolated).is_some();
        let again = Again(self.question);
        let ((), pairs) = detectors::second_pass(self.detector, isolated, &findings.racing, again)?;
        Ok(pairs.into_vec())
    }

    fn watch(&self, name: &str, names: &Names) -> Result<Watcher, CheckError> {
        let Some(location) = names.find(name) else {
            return Err(CheckError::NothingToWatch(name.to_owned()));
        };
        let mut watcher = Watcher {
            location,
            isolated: false,
            seen: Vec::new(),
            count: 0,
        };
        Again(self.question).drive(&mut watcher);
        Ok(watcher)
    }

    /// What was established, and what would establish more.
    fn verdict(
        &self,
        pairs: &[RacePair],
        gave_up: Option<DetectorFailure>,
    ) -> (Verdict, Option<String>) {
        let trapped = matches!(self.outcome.result, End::Trapped(_));
        let Ok(findings) = &self.findings else {
            let why = gave_up
                .map(|failure| format!("{} could not judge this run: {failure}", self.detector));
            return (
                if trapped {
                    Verdict::Trap
                } else {
                    Verdict::Unknown
                },
                why,
            );
        };
        if let Some(failure) = gave_up {
            // The locations race, though the pairs could not be found.
            return (
                Verdict::Race,
                Some(format!("the racing accesses could not be found: {failure}")),
            );
        }
        if pairs.iter().any(|pair| !pair.race.ordered_by_isolation) {
            (Verdict::Race, None)
        } else if !pairs.is_empty() {
            let what = "other orders of the isolated blocks may show this race or rule it out; this run cannot tell";
            (Verdict::Apparent, Some(what.to_owned()))
        } else if trapped {
            (Verdict::Trap, None)
        } else if findings.isolated_conflict {
            let what = "isolated blocks of parallel tasks access the same data; if they need not, the verdict covers every order";
            (Verdict::CertifiedOrder, Some(what.to_owned()))
        } else {
            (Verdict::Certified, None)
        }
    }
}

/// Runs once more for what is to be told of these tasks and their ancestors.
fn story(question: &Question, machine: Option<&Machine>, tasks: &[TaskId]) -> Story {
    let (Some(machine), false) = (machine, tasks.is_empty()) else {
        return Story::default();
    };
    let wanted = tasks
        .iter()
        .flat_map(|task| ancestry(*task, |task| machine.info(task)));
    let story = RefCell::new(Story::of(wanted));
    let created = |machine: &Machine, task| story.borrow_mut().created(machine, task);
    question.run(&mut Shared(&story), &mut io::sink(), created);
    story.into_inner()
}

fn failure(
    question: &Question,
    machine: Option<&Machine>,
    trap: &Trap,
    story: &Story,
) -> summary::Failure {
    let source = &question.module.source;
    let task = machine.map(|machine| story.path(machine, trap.task));
    let mut message = trap.kind.message();
    if let TrapKind::SyncInsideBeginFinish { begin } = trap.kind {
        let begin = source.site(begin);
        message.push_str(&format!(", opened at {}:{}", begin.line, begin.column));
    }
    summary::Failure {
        kind: trap.kind.word(),
        message,
        place: place(source, trap.site),
        task: task.unwrap_or_default(),
    }
}

/// A story that is told from two sides: events, and captures at the creation of tasks.
struct Shared<'a>(&'a RefCell<Story>);

impl Observer for Shared<'_> {
    fn event(&mut self, event: &Event) {
        self.0.borrow_mut().event(event);
    }

    fn access(&mut self, _: &Access) {}
}

fn named(names: &Names, locations: &[Location]) -> Vec<String> {
    locations
        .iter()
        .take(MOST_NAMES)
        .map(|location| names.location(*location))
        .collect()
}

/// Puts races into words.
struct Teller<'a, 'm> {
    question: &'a Question<'m>,
    machine: &'a Machine<'m>,
    names: &'a Names<'a, 'm>,
    story: &'a Story,
}

impl Teller<'_, '_> {
    fn race(&self, at: usize, pair: &RacePair) -> RaceSummary {
        let race = &pair.race;
        let location = self.names.location(race.location);
        RaceSummary {
            apparent: race.ordered_by_isolation,
            locations: summary::Names {
                shown: named(self.names, &pair.locations),
                count: pair.locations.len() as u64,
            },
            occurrences: pair.occurrences,
            first: self.access(&race.first),
            second: self.access(&race.second),
            why: self.why(race.first.task, race.second.task),
            allocated: self.names.allocated(race.location),
            may_follow: at > 0,
            replay: self.replay(&location),
            location,
        }
    }

    fn access(&self, point: &AccessPoint) -> AccessSummary {
        let source = &self.machine.module().source;
        let info = source.access(point.access);
        AccessSummary {
            kind: point.kind,
            isolated: point.isolated,
            place: place(source, info.site),
            function: info.function.clone(),
            task: self.story.path(self.machine, point.task),
        }
    }

    /// The task of the first access, or the ancestor of it, that branched off from the path to the second: its join comes too
    /// late. The first task is never an ancestor of the second: what it did before creating it is ordered.
    fn why(&self, first: TaskId, second: TaskId) -> WhyParallel {
        let info = |task| self.machine.info(task);
        let source = &self.machine.module().source;
        let (first_path, second_path) = (ancestry(first, info), ancestry(second, info));
        let common = first_path
            .iter()
            .zip(&second_path)
            .take_while(|(a, b)| a == b)
            .count();
        let branch = first_path.get(common).copied().unwrap_or(first);
        WhyParallel {
            task: self.story.path(self.machine, branch),
            spawned: place(source, info(branch).site),
            join: self.story.join(source, branch),
        }
    }

    fn replay(&self, location: &str) -> String {
        let mut command = format!(
            "finishline check {}",
            quoted(&self.question.module.source.path)
        );
        for word in &self.question.words {
            command.push(' ');
            command.push_str(&quoted(word));
        }
        command.push_str(&format!(" --watch {}", quoted(location)));
        command
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
