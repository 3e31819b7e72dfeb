//! The whole answer to one question about one program, in the user's words.
//!
//! The engine fills it in; a report only formats it. Nothing here refers to ids any more.

use crate::verdict::Verdict;
use finishline_model::{AccessKind, Detector, Statistics};

/// What `finishline check` found out.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The program's path as the user gave it, and its arguments.
    pub program: String,
    pub arguments: Vec<String>,
    pub detector: Detector,
    pub verdict: Verdict,
    /// What would establish more, e.g. a command to run next.
    pub strengthen: Option<String>,
    /// Distinct pairs of accesses of the source that are not suppressed, in the order found; at most `--max-races`.
    pub races: Vec<RaceSummary>,
    /// How many distinct pairs there were in all, suppressed ones included.
    pub distinct_races: usize,
    /// What the file of suppressions took out of `races`; none without such a file.
    pub suppressed: Option<Suppressed>,
    pub racing_locations: Names,
    /// The program failed: what it said. Races found before are still reported.
    pub failure: Option<Failure>,
    pub watched: Option<Watch>,
    pub statistics: Statistics,
}

impl Summary {
    /// How many of the distinct pairs are suppressed.
    pub fn suppressed_races(&self) -> usize {
        self.suppressed.as_ref().map_or(0, |some| some.count)
    }
}

/// The pairs that the user does not want to hear of. They race all the same: the verdict does not know of suppressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Suppressed {
    /// The file of suppressions, as the user gave it.
    pub file: String,
    /// The pairs, in the order found; at most `--max-races`.
    pub races: Vec<RaceSummary>,
    /// How many there were in all.
    pub count: usize,
    /// Entries of the file that match no race of this run.
    pub unmatched: Vec<SuppressionEntry>,
}

/// One entry of a file of suppressions, as it is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressionEntry {
    pub line: usize,
    pub text: String,
}

/// Some names out of possibly very many.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Names {
    pub shown: Vec<String>,
    pub count: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RaceSummary {
    /// Apparent: only the observed order of isolated blocks separates the two accesses.
    pub apparent: bool,
    /// The location of the first occurrence, as the user would write it: `B[3]`, `p.x`, `total`.
    pub location: String,
    /// Every location at which this pair of accesses races, that one included.
    pub locations: Names,
    /// How often the pair was seen racing.
    pub occurrences: u64,
    /// The accesses of the first occurrence, the earlier of the run first.
    pub first: AccessSummary,
    pub second: AccessSummary,
    pub why: WhyParallel,
    /// Where the object was allocated; none for a global variable.
    pub allocated: Option<Place>,
    /// Not the first race of the run: it may be a consequence of an earlier one.
    pub may_follow: bool,
    /// The command that shows every access to the location.
    pub replay: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AccessSummary {
    pub kind: AccessKind,
    pub isolated: bool,
    pub place: Place,
    pub function: String,
    pub task: TaskPath,
}

/// Why nothing orders two accesses: the task that holds the first, and the join that comes too late.
#[derive(Clone, Debug, PartialEq)]
pub struct WhyParallel {
    /// The task, among the first access's task and its ancestors, that runs beside the second access.
    pub task: TaskPath,
    pub spawned: Place,
    /// The first join that waits for it: `finish`, `forall`, `end_finish`, `sync`, `end of main`, …; none if
    /// the program failed before.
    pub join: Option<Join>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// The construct, e.g. `the end of finish@7`, `sync`, `the end of main`.
    pub what: String,
    pub place: Place,
}

/// A span of the source, and its text on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub text: String,
}

/// A task by the creations that led to it, `main` left out.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TaskPath {
    pub creations: Vec<Creation>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Creation {
    /// The how-manieth creation of its creator, from 0: the same in every schedule.
    pub index: u32,
    /// `async`, `forall` or `spawn`.
    pub construct: &'static str,
    pub line: u32,
    /// Captured numbers by name, as `i = 0`.
    pub captures: Vec<(String, String)>,
    /// The other task of the race reads the same: only the index tells them apart.
    pub told_by_index: bool,
}

/// A program that failed at run time.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// A word for machines, e.g. `out-of-bounds`.
    pub kind: &'static str,
    pub message: String,
    pub place: Place,
    pub task: TaskPath,
}

/// Every access to one location, in the order of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    pub location: String,
    pub accesses: Vec<AccessSummary>,
    /// How many there were in all.
    pub count: u64,
}
