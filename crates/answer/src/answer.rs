//! The answer to one question about one program, whichever front end it comes from.
//!
//! What all answers have is in [`Answer`] itself. What only one kind has is in its [`About`].

use crate::finding::{Finding, FoundAccess, Names, Suppressed};
use crate::location::Location;
use crate::partition::Partition;
use crate::place::{Place, SourceLines};
use crate::process::{Limit, Process};
use crate::proof::{Kernel, Proof};
use crate::stored;
use crate::task::Task;
use crate::unsafe_code::SurveyedCode;
use crate::verdict::Verdict;
use finishline_model::{Detector, Statistics};
use serde::{Deserialize, Serialize};

/// What was established, and by which findings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The program's path as the user gave it, and its arguments. A proof is about all arguments.
    pub program: String,
    pub arguments: Vec<String>,
    pub verdict: Verdict,
    /// Distinct pairs of accesses that are not suppressed. Runs list them in the order found, at
    /// most `--max-races`; proofs by kernel, the smallest case first.
    pub findings: Vec<Finding>,
    /// How many distinct pairs there were in all, suppressed ones included.
    pub distinct: u64,
    /// What the file of suppressions took out of `findings`; none without such a file.
    pub suppressed: Option<Suppressed>,
    /// The program failed: what it said. Findings from before are still reported.
    pub failure: Option<Failure>,
    /// The source around the findings, as far as it is known.
    pub lines: SourceLines,
    pub about: About,
}

/// What was asked, with what only such answers have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum About {
    /// One input of a Fin program.
    #[serde(skip)]
    Check(Check),
    /// One process of an instrumented program.
    Process(Process),
    /// Every input of a Fin program.
    #[serde(skip)]
    Proof(Proof),
}

/// The part of an answer that only a run of a Fin program has.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub detector: Detector,
    /// What would establish more, e.g. a command to run next.
    pub stronger: Option<String>,
    pub racing_locations: Names,
    pub watched: Option<Watch>,
    pub statistics: Statistics,
    /// If the orders of isolated blocks were explored.
    pub exploration: Option<Box<Exploration>>,
}

/// Which orders of the isolated blocks were run.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Exploration {
    /// Whether only one of several equivalent orders was to be run.
    pub reduced: bool,
    /// Those that were run to their end, or to their first race.
    pub orders: u64,
    /// Runs that were given up, because an equivalent order was run.
    pub cut_off: u64,
    /// Runs up to some block, to find out what it touches in another order.
    pub trials: u64,
    /// Runs to find out where to cut the search into pieces.
    pub probes: u64,
    /// Orders that were given up because they have too many blocks.
    pub too_long: u64,
    /// Why not all were run that can differ.
    pub incomplete: Option<String>,
    /// How many have a race, a deadlock, a failure.
    pub races: u64,
    pub deadlocks: u64,
    pub failures: u64,
    /// The first of each of these.
    pub faulty: Vec<FaultyOrder>,
    /// How many orders there are in all, equivalent ones included: a number, or `more than 10^40`.
    /// None if that is not known.
    pub in_all: Option<String>,
    /// Whether the order decides how the program ends, if that was asked.
    pub determinacy: Option<Determinacy>,
    /// The first orders that were run, if they are to be shown.
    pub shown: Vec<RunOrder>,
}

/// An order that was run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOrder {
    /// The task of each block, as schedules write it.
    pub tasks: Vec<String>,
    /// `race`, `trap` or `deadlock`.
    pub fault: Option<Verdict>,
}

/// The states in which a program ends.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Determinacy {
    /// How many there are, of the orders that were run to their end.
    pub states: u64,
    /// Two of them.
    pub differ: Option<Differing>,
}

/// Two orders that end in different states.
#[derive(Clone, Debug, PartialEq)]
pub struct Differing {
    /// The first variable that differs, or the output.
    pub what: String,
    pub orders: [StateOfOrder; 2],
    /// These blocks conflict. They come in this order in the first one, and the other way round in
    /// the second. Up to there both orders do the same.
    pub decided_by: Option<[OrderedBlock; 2]>,
}

/// What an order leaves in a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct StateOfOrder {
    pub value: String,
    pub schedule: String,
}

/// A block of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderedBlock {
    /// As schedules write it.
    pub task: String,
    pub place: Option<Place>,
}

/// An order in which something happened.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultyOrder {
    /// `race`, `trap` or `deadlock`.
    pub verdict: Verdict,
    pub schedule: String,
}

/// A program that failed at run time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// A word for machines, e.g. `out-of-bounds`; [`Failure::PROCESS`] for a process that failed.
    #[serde(skip, default = "stored::process_failure")]
    pub kind: &'static str,
    pub message: String,
    /// The order of the isolated blocks in which it failed, if one was asked for.
    #[serde(skip)]
    pub schedule: Option<String>,
    /// None for a process.
    #[serde(skip)]
    pub at: Option<FailurePoint>,
    /// Of a process: where it panicked, or else where the test or `main` begins.
    pub near: Option<Place>,
    /// Of a process: the command that runs the same without checks.
    pub unchecked: Option<String>,
    /// The other tasks that wait, in a deadlock.
    #[serde(skip)]
    pub waiting: Vec<FailurePoint>,
    /// In a deadlock: tasks each of which waits for something that the next one may do, and the
    /// last for the first.
    #[serde(skip)]
    pub cycle: Option<Tasks>,
}

/// Where a program failed, and in which task.
#[derive(Clone, Debug, PartialEq)]
pub struct FailurePoint {
    pub place: Place,
    pub task: Task,
    /// None if the task does not wait.
    pub waits_for: Option<WaitsFor>,
}

/// What a task in a deadlock waits for.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitsFor {
    Promise(Promise),
    Lock(Lock),
    /// The end of these tasks, at a finish or a `sync`. None if they are not known.
    Tasks(Option<Tasks>),
}

/// A promise or a future without a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    pub name: Location,
    /// Where it was made.
    pub made: Option<Place>,
    /// The tasks that may set it if they went on, or create a task that does: a superset. If there
    /// are none, nobody is left to set it. None if the tasks are not known.
    pub setters: Option<Tasks>,
}

/// A lock that a task holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    pub name: Location,
    /// Where it was made.
    pub made: Option<Place>,
    /// The task that holds it, or none if that is not one of those that wait. None if it is not
    /// known.
    pub holder: Option<Tasks>,
}

/// Some tasks of a deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tasks {
    /// Those that the failure shows, by number: 0 is its first point, then come the waiting ones.
    pub shown: Vec<usize>,
    /// How many there are in all.
    pub count: usize,
}

/// Every access to one location, in the order of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    pub location: Location,
    pub accesses: Vec<FoundAccess>,
    /// How many there were in all.
    pub count: u64,
}

/// Answers about all processes of one command, e.g. the tests of a crate.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Suite {
    /// The command as the user gave it.
    pub command: Vec<String>,
    pub answers: Vec<Answer>,
    /// What was not checked, and why: doc tests, processes without findings.
    pub notes: Vec<String>,
    /// Tests of the programs that were started, in the order of the list.
    pub not_run: Vec<NotRun>,
    /// The `unsafe` code of the user's crates, in the order of the source. None if it is not known.
    pub unsafe_code: Option<Vec<SurveyedCode>>,
    /// The user ended the command. So nothing is established about all of it.
    pub interrupted: bool,
    /// The part of the tests that was to be run, if not all were.
    pub partition: Option<Partition>,
    /// How many tests were left to other parts.
    pub elsewhere: u64,
}

/// A test without a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRun {
    pub program: String,
    /// None for all tests of the program.
    pub test: Option<String>,
    pub why: WhyNotRun,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WhyNotRun {
    /// It is marked so in the source.
    Ignored,
    /// The user had ended the command.
    Interrupted,
}

impl WhyNotRun {
    pub const ALL: [WhyNotRun; 2] = [WhyNotRun::Ignored, WhyNotRun::Interrupted];

    /// The word of JSON reports.
    pub const fn word(self) -> &'static str {
        match self {
            WhyNotRun::Ignored => "ignored",
            WhyNotRun::Interrupted => "interrupted",
        }
    }
}

impl Failure {
    /// The kind of the failure of a process.
    pub const PROCESS: &str = "process";

    /// No task can go on.
    pub fn is_deadlock(&self) -> bool {
        self.kind == "deadlock"
    }
}

impl Answer {
    /// How many of the distinct pairs are suppressed.
    pub fn suppressed_count(&self) -> u64 {
        self.suppressed.as_ref().map_or(0, |some| some.count)
    }

    /// How many of the distinct pairs are known, by the user's baseline.
    pub fn known_count(&self) -> u64 {
        let known = self.process().and_then(|process| process.known.as_ref());
        known.map_or(0, |known| known.findings.len() as u64)
    }

    /// Pairs were found, and the user wants to hear of none.
    pub fn all_suppressed(&self) -> bool {
        let suppressed = self.suppressed_count();
        suppressed > 0 && suppressed >= self.distinct
    }

    /// The detector that judged a run.
    pub fn detector(&self) -> Option<Detector> {
        match &self.about {
            About::Check(check) => Some(check.detector),
            About::Process(process) => Some(process.detector),
            About::Proof(_) => None,
        }
    }

    pub fn check(&self) -> Option<&Check> {
        match &self.about {
            About::Check(check) => Some(check),
            About::Process(_) | About::Proof(_) => None,
        }
    }

    pub fn process(&self) -> Option<&Process> {
        match &self.about {
            About::Process(process) => Some(process),
            About::Check(_) | About::Proof(_) => None,
        }
    }

    pub fn proof(&self) -> Option<&Proof> {
        match &self.about {
            About::Proof(proof) => Some(proof),
            About::Check(_) | About::Process(_) => None,
        }
    }

    /// The name of a process among many: its test, or its program.
    pub fn process_name(&self) -> &str {
        let test = self.process().and_then(|process| process.test.as_ref());
        test.unwrap_or(&self.program)
    }

    /// The kernels of a proof.
    pub fn kernels(&self) -> &[Kernel] {
        self.proof().map_or(&[], |proof| &proof.kernels)
    }

    /// Why a process's verdict says no more than it does.
    pub fn because(&self) -> Option<Limit> {
        self.process()?.because
    }

    /// Whether there is no race in this order of locks, atomics or threads, and tasks could run in
    /// another one.
    pub fn rests_on_an_order(&self) -> bool {
        let Some(process) = self.process() else {
            return false;
        };
        let statistics = &process.statistics;
        // Besides that of the program: of a join, a scope or a broadcast.
        let has_finishes = statistics.finishes > 1;
        // Besides the program, a test and threads.
        let has_tasks = statistics.tasks > 2 + statistics.threads;
        let limits = [
            Limit::Synchronised,
            Limit::ByThread,
            Limit::Threads,
            Limit::EndedInside,
        ];
        (has_finishes || has_tasks) && process.because.is_some_and(|limit| limits.contains(&limit))
    }

    /// Whether there was nothing to check: such a process is neither clean nor a reason to worry.
    pub fn is_idle(&self) -> bool {
        self.verdict == Verdict::Unknown && self.because() == Some(Limit::NothingParallel)
    }
}
