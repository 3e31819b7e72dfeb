//! From the findings of an instrumented process to the contents of a report: functions, lines,
//! tasks, objects, the verdict.
//!
//! ```text
//!  findings file ─ findings ─┬─ modules, function_names, sources   addresses as frames
//!                            ├─ globals                            addresses as variables
//!                            ├─ names                              all of these, kept for later
//!                            ├─ tasks                              tasks, and why parallel
//!                            ├─ answer                             the verdict, its extent
//!                            └─ failure                            the place of a failure
//!  executable ───── locked ──── unseen                              unseen atomic operations
//!  compiler's list ──────────── unsafe_code                         where parallel tasks were
//! ```
//!
//! [`read`] refuses a damaged file. [`symbolise`] never fails: facts that debug information lacks
//! are left out. Cost: linear in the file, plus one look into the debug information for each
//! address.

#![forbid(unsafe_code)]

mod answer;
mod debug_information;
mod failure;
pub mod findings;
mod function_names;
mod globals;
mod locked;
mod modules;
mod names;
mod sources;
mod tasks;
mod unsafe_code;
mod unseen;
mod variables;

pub use failure::Position;
pub use findings::{Findings, Unusable, parse, read};
pub use names::KeptNames;
pub use unsafe_code::{ListedKind, ListedUnsafe, ProgramsUnsafe};
pub use unseen::{Executables, Unseen, atomic_instructions};

use finishline_answer::answer::{About, Answer, Failure};
use finishline_answer::baseline::Baseline;
use finishline_answer::finding::{
    Finding, FoundAccess, HeldLock, MachineAccess, Names, OrderedBy, Rule, Seen, Suppressed,
    Synchroniser,
};
use finishline_answer::location::{Bytes, Location, Object};
use finishline_answer::place::SourceLines;
use finishline_answer::process::{Known, Limit, Process, ProcessStatistics, Started, Stopped};
use finishline_answer::rules::{self, ProcessFacts};
use finishline_answer::suppressions::{Accessed, Matcher, Named, Suppressions};
use finishline_answer::task::{Frame, Origin, Stack};
use finishline_answer::unsafe_code::UnsafeCode;
use finishline_model::Detector;
use finishline_model::findings::{
    ListedAccess, ListedLock, ListedObject, ListedPair, ListedSynchroniser,
};
use finishline_model::kinds::ConflictClass;
use finishline_model::kinds::rayon::Division;
use modules::Modules;
use std::path::Path;
use tasks::Tasks;

/// Facts about the run that the findings do not contain.
#[derive(Clone, Debug, Default)]
pub struct Question<'a> {
    /// Paths of files below this directory are relative to it. If empty, the process's own
    /// directory is used.
    pub directory: &'a str,
    /// The user's name for the program. If empty, the executable's path is used.
    pub program: &'a str,
    /// The test that the process ran.
    pub test: Option<&'a str>,
    /// The command that repeats the result.
    pub replay: &'a str,
    /// The command that runs the same without checks.
    pub unchecked: &'a str,
    /// How the process failed, in a sentence.
    pub failure: Option<&'a str>,
    /// Where it panicked, as it said itself.
    pub panicked: Option<&'a Position>,
    /// The file of the program. If empty, nothing is looked up in it.
    pub executable: &'a str,
    /// Why it was ended from outside, if it was.
    pub cut_short: Option<Limit>,
    /// The exit status that it ended with.
    pub status: u8,
    pub suppressions: Option<&'a Suppressions>,
    /// The races that are known.
    pub baseline: Option<&'a Baseline>,
    /// The operations that the instrumentation left out of the program.
    pub unseen: Unseen,
    /// The `unsafe` code of the program, if it is known.
    pub unsafe_code: Option<Vec<UnsafeCode>>,
}

/// Describes the result of the run in the user's words.
pub fn symbolise(findings: &Findings, question: &Question) -> Answer {
    describe(&mut Teller::new(findings, question))
}

/// The same, and the names that it took, so that they can be kept.
pub fn symbolise_and_keep(findings: &Findings, question: &Question) -> (Answer, KeptNames) {
    let mut teller = Teller::new(findings, question);
    let answer = describe(&mut teller);
    let names = teller.modules.names(&answer.lines, question);
    let failed = answer.failure.as_ref().and_then(|it| it.near.as_ref());
    let names = names.of_failure(failed);
    (answer, names)
}

/// The same by names that were kept.
pub fn symbolise_by(findings: &Findings, question: &Question, names: &KeptNames) -> Answer {
    let mut teller = Teller::new(findings, question);
    teller.modules = Modules::by_names(names);
    let mut answer = describe(&mut teller);
    if let Some(failure) = &mut answer.failure {
        failure.near = names.failed();
    }
    answer
}

fn describe(teller: &mut Teller<'_>) -> Answer {
    let (findings, question) = (teller.findings, teller.question);
    // If the runtime ended the run, the program itself has not failed.
    let failure = question.failure.filter(|_| findings.stopped.is_none());
    let mut pairs: Vec<Finding> = Vec::with_capacity(findings.races.len());
    for pair in &findings.races {
        let earlier_race = pairs.iter().any(|earlier| earlier.rule == Rule::Race);
        let mut finding = teller.finding(pair);
        finding.may_follow = earlier_race && finding.rule == Rule::Race;
        pairs.push(finding);
    }
    let mut facts = answer::facts(findings, &question.unseen, failure.is_some());
    facts.stopped = facts.stopped.or(question.cut_short);
    let after_free = |pair: &&Finding| pair.rule == Rule::UseAfterFree;
    let after_free = pairs.iter().filter(after_free).count() as u64;
    let others = pairs.len() as u64 - after_free;
    let distinct = findings.distinct_races.max(others) + after_free;
    let (pairs, suppressed) = sorted(pairs, question.suppressions);
    let (pairs, known) = with_known(pairs, question.baseline);
    let stopped = findings.stopped.as_ref().map(|stop| Stopped {
        what: stop.what,
        stack: teller.stack(stop.stack),
        task: teller.tasks.task(stop.task, &mut teller.modules),
    });
    let started = teller.started();
    let statistics = &findings.statistics;
    let mut answer = told(question, &facts, failure);
    answer.program = teller.program().to_owned();
    answer.arguments.clone_from(&findings.arguments);
    if let Some(failure) = &mut answer.failure {
        let position = failure::position(question);
        failure.near = position.map(|at| teller.modules.place(&at));
    }
    answer.lines = teller.lines(&pairs, stopped.as_ref());
    answer.findings = pairs;
    answer.distinct = distinct;
    answer.suppressed = suppressed;
    if let About::Process(process) = &mut answer.about {
        process.detector = findings.detector;
        process.unseen = match &question.unseen {
            Unseen::Operations(operations) => operations.clone(),
            Unseen::Unknown => Vec::new(),
        };
        process.started = started;
        process.stopped = stopped;
        process.known = known;
        process.unsafe_code.clone_from(&question.unsafe_code);
        process.logical_threads = findings.logical_threads;
        process.division = findings.division;
        process.statistics = ProcessStatistics {
            tasks: statistics.tasks,
            finishes: statistics.finishes,
            accesses: statistics.accesses,
            atomic_accesses: statistics.atomic_accesses,
            racing_bytes: statistics.racing_bytes,
            threads: findings.threads,
        };
    }
    answer
}

/// The answer for a process that left no findings: nothing is known.
pub fn unheard(question: &Question) -> Answer {
    let facts = ProcessFacts {
        failed: question.failure.is_some(),
        stopped: question.cut_short,
        // Whether anything was parallel is unknown. The missing findings matter more.
        parallel: true,
        ..ProcessFacts::default()
    };
    let mut answer = told(question, &facts, question.failure);
    if let Some(failure) = &mut answer.failure {
        let mut modules = Modules::new(&[], Path::new(question.directory));
        failure.near = failure::position(question).map(|at| modules.place(&at));
    }
    answer
}

/// The answer that the facts establish, without any findings.
fn told(question: &Question, facts: &ProcessFacts, failure: Option<&str>) -> Answer {
    let established = rules::process(facts);
    Answer {
        program: question.program.to_owned(),
        arguments: Vec::new(),
        verdict: established.verdict,
        findings: Vec::new(),
        distinct: 0,
        suppressed: None,
        failure: failure.map(|message| Failure {
            kind: Failure::PROCESS,
            message: message.to_owned(),
            at: None,
            near: None,
            unchecked: Some(question.unchecked.to_owned()).filter(|command| !command.is_empty()),
            waiting: Vec::new(),
            cycle: None,
            schedule: None,
        }),
        lines: SourceLines::default(),
        about: About::Process(Process {
            test: question.test.map(str::to_owned),
            replay: question.replay.to_owned(),
            detector: Detector::EspBags,
            extent: established.extent,
            because: established.because,
            unseen: Vec::new(),
            started: Vec::new(),
            stopped: None,
            orders: None,
            known: None,
            unsafe_code: None,
            status: question.status,
            logical_threads: 0,
            division: Division::None,
            statistics: ProcessStatistics::default(),
        }),
    }
}

/// Splits the pairs into those to report and those that the user suppresses.
fn sorted(
    findings: Vec<Finding>,
    suppressions: Option<&Suppressions>,
) -> (Vec<Finding>, Option<Suppressed>) {
    let Some(suppressions) = suppressions else {
        return (findings, None);
    };
    let mut matcher = Matcher::new(suppressions);
    let (suppressed, reported): (Vec<Finding>, _) = findings.into_iter().partition(|finding| {
        let stacks = [&finding.first.stack, &finding.second.stack];
        let accessed: Vec<Accessed> = stacks.into_iter().flat_map(accessed).collect();
        matcher.suppresses(&accessed, std::iter::once(named(&finding.location)))
    });
    let suppressed = Suppressed {
        file: suppressions.file().to_owned(),
        count: suppressed.len() as u64,
        findings: suppressed,
        unmatched: matcher.unmatched(),
    };
    (reported, Some(suppressed))
}

/// Takes out the pairs that are known.
fn with_known(
    findings: Vec<Finding>,
    baseline: Option<&Baseline>,
) -> (Vec<Finding>, Option<Known>) {
    let Some(baseline) = baseline else {
        return (findings, None);
    };
    let (known, new) = findings.into_iter().partition(|it| baseline.knows(it));
    let file = baseline.file.clone();
    let known = Known {
        file,
        findings: known,
    };
    (new, Some(known))
}

/// The names of an access that an entry can match: the frame that is shown and those further in,
/// each by its whole path and by each suffix of the path.
fn accessed(stack: &Stack) -> Vec<Accessed<'_>> {
    let shown = stack.shown.map_or(0, |shown| shown + 1);
    let frames = stack.frames.iter().take(shown);
    let entries = frames.flat_map(|frame| {
        let (file, line) = (frame.place.as_ref()).map_or(("", 0), |p| (p.file.as_str(), p.line));
        ends(written_function(&frame.function)).map(move |function| Accessed {
            function,
            file,
            line,
        })
    });
    entries.collect()
}

/// The function as the user wrote it. A closure belongs to the function around it.
fn written_function(function: &str) -> &str {
    function
        .find("::{closure")
        .map_or(function, |at| &function[..at])
}

/// A path, and the part after each `::` in it.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices("::").map(|(at, _)| &path[at + 2..]);
    std::iter::once(path).chain(ends)
}

/// The name that an entry can match. Names in entries have no colon, so a global variable goes by
/// the last part of its path. Other objects have no name.
fn named(location: &Location) -> Named {
    let name = match location {
        Location::Bytes(Bytes {
            object: Object::Global { name, .. },
            ..
        }) => ends(name).last().unwrap_or(name),
        _ => "",
    };
    Named {
        location: name.to_owned(),
        owner: None,
    }
}

struct Teller<'f> {
    findings: &'f Findings,
    question: &'f Question<'f>,
    modules: Modules<'f>,
    tasks: Tasks<'f>,
}

impl<'f> Teller<'f> {
    fn new(findings: &'f Findings, question: &'f Question<'f>) -> Teller<'f> {
        let directory = match question.directory {
            "" => &findings.directory,
            directory => directory,
        };
        Teller {
            findings,
            question,
            modules: Modules::new(&findings.modules, Path::new(directory)),
            tasks: Tasks::new(findings, question.test.is_some()),
        }
    }

    /// Who started threads, and where.
    fn started(&mut self) -> Vec<Started> {
        let mut all: Vec<Started> = Vec::new();
        for start in &self.findings.thread_starts {
            let stack = self.stack(start.stack);
            let mut origins = stack.frames.iter().map(|frame| &frame.origin);
            let starter = origins.find(|origin| !matches!(origin, Origin::Std | Origin::System));
            let library = match starter {
                Some(starter @ (Origin::Dependency(_) | Origin::Rayon)) => Some(starter.word()),
                _ => None,
            };
            let (library, place) = (library.map(str::to_owned), stack.place().cloned());
            let known = (all.iter_mut()).find(|it| it.library == library && it.place == place);
            match known {
                Some(known) => known.threads += start.threads,
                None => all.push(Started {
                    threads: start.threads,
                    library,
                    place,
                }),
            }
        }
        all
    }

    fn program(&self) -> &'f str {
        match self.question.program {
            "" => &self.findings.executable,
            program => program,
        }
    }

    fn stack(&mut self, stack: usize) -> Stack {
        self.modules.stack(&self.findings.stacks[stack])
    }

    fn finding(&mut self, pair: &ListedPair) -> Finding {
        let locations = pair.locations.max(pair.bytes);
        Finding {
            rule: pair.class.into(),
            location: Location::Bytes(Bytes {
                object: self.object(&pair.object, pair.address),
                address: pair.address,
                bytes: pair.bytes,
            }),
            first: self.access(&pair.first),
            second: self.access(&pair.second),
            why: (pair.class != ConflictClass::UseAfterFree)
                .then(|| (self.tasks).why(pair.first.task, pair.second.task, &mut self.modules)),
            allocated: None,
            seen: Seen {
                locations: Names {
                    shown: Vec::new(),
                    count: locations,
                },
                times: locations,
            },
            ordered_by: pair.ordered_by.as_ref().map(|by| OrderedBy::Synchroniser {
                synchroniser: self.synchroniser(&by.synchroniser),
                excludes: by.excludes,
            }),
            claim: None,
            may_follow: false,
            schedule: None,
            replay: self.question.replay.to_owned(),
        }
    }

    fn access(&mut self, access: &ListedAccess) -> FoundAccess {
        FoundAccess {
            id: None,
            kind: access.kind,
            isolated: false,
            stack: self.stack(access.stack),
            task: Some(self.tasks.task(access.task, &mut self.modules)),
            instance: Vec::new(),
            machine: Some(MachineAccess {
                atomic: access.atomic,
                address: access.address,
                size: access.size,
                locks: access.locks.iter().map(|held| self.held(held)).collect(),
            }),
        }
    }

    /// The source around the accesses, and around the place where the run was stopped.
    fn lines(&mut self, findings: &[Finding], stopped: Option<&Stopped>) -> SourceLines {
        let accesses = findings
            .iter()
            .flat_map(|finding| [&finding.first, &finding.second]);
        let places = accesses.map(FoundAccess::place);
        let places = places.chain([stopped.and_then(|stopped| stopped.stack.place())]);
        let mut lines = SourceLines::default();
        for place in places.flatten() {
            self.modules.around(place, &mut lines);
        }
        lines
    }

    fn held(&mut self, held: &ListedLock) -> HeldLock {
        HeldLock {
            lock: self.synchroniser(&held.lock),
            place: self.stack(held.stack).place().cloned(),
        }
    }

    fn synchroniser(&mut self, synchroniser: &ListedSynchroniser) -> Synchroniser {
        Synchroniser {
            kind: synchroniser.kind,
            address: synchroniser.address,
            object: self.object(&synchroniser.object, synchroniser.address),
        }
    }

    /// The object that an address belongs to.
    fn object(&mut self, object: &ListedObject, address: u64) -> Object {
        match *object {
            ListedObject::Heap {
                start,
                size,
                stack,
                task,
            } => Object::Heap {
                size,
                offset: address.saturating_sub(start),
                allocated: self.stack(stack),
                task: self.tasks.task(task, &mut self.modules),
            },
            ListedObject::Stack { function, task } => {
                let frame = owner(self.modules.frames(function));
                Object::Stack {
                    function: frame.as_ref().map_or(String::new(), |f| f.function.clone()),
                    place: frame.and_then(|frame| frame.place),
                    task: self.tasks.task(task, &mut self.modules),
                }
            }
            ListedObject::Global {} => self.modules.global(address),
            ListedObject::ThreadLocal {} => Object::ThreadLocal,
            ListedObject::Unknown {} => Object::Unknown,
        }
    }
}

/// The owner of a variable in a stack frame: the frame's function, or the user's function that was
/// inlined there.
fn owner(frames: Vec<Frame>) -> Option<Frame> {
    let of_user = frames.iter().rposition(|f| f.origin == Origin::User);
    let chosen = of_user.or(frames.len().checked_sub(1))?;
    frames.into_iter().nth(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variable of an inlined function lies in the frame of the function that it was inlined
    /// into.
    #[test]
    fn a_slot_belongs_to_the_outermost_function_of_the_user() {
        let owner_of = |frames: &[(&str, Origin)]| {
            let frames = frames.iter().map(|(function, origin)| Frame {
                function: (*function).to_owned(),
                place: None,
                origin: origin.clone(),
                inlined: false,
            });
            owner(frames.collect()).map(|frame| frame.function)
        };
        let user = [("inner", Origin::User), ("outer", Origin::User)];
        assert_eq!(owner_of(&user).as_deref(), Some("outer"));
        let below_std = [("mine", Origin::User), ("call_once", Origin::Std)];
        assert_eq!(owner_of(&below_std).as_deref(), Some("mine"));
        let foreign = [("a", Origin::Rayon), ("b", Origin::Std)];
        assert_eq!(owner_of(&foreign).as_deref(), Some("b"));
        assert_eq!(owner_of(&[]), None);
    }
}
