//! What `finishline bench` measured, in figures that are already computed. A report only formats
//! them.
//!
//! Times are in seconds and memory is in bytes. A [`Spread`] is over the rounds of one benchmark; a
//! ratio is always taken within one round, so that a machine that is slow for a while does not
//! distort it.

use finishline_answer::Verdict;
use finishline_model::Passes;

/// The least, the median and the greatest value of all rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub greatest: f64,
}

/// The paper's table of slowdowns, and what else was measured with it.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchTable {
    /// `small`, `A`, `B` or `C`.
    pub size: &'static str,
    pub rounds: usize,
    /// Whether Finishline itself was compiled with optimisation: without it, all times are too
    /// long.
    pub optimised: bool,
    /// How many programs the suite has.
    pub suite: usize,
    /// The kinds of checks that were measured, a column each; with a breakdown, each pass alone is
    /// one of them.
    pub columns: Vec<CheckColumn>,
    pub programs: Vec<ProgramRow>,
    /// Unchecked Fin beside the same algorithm in Rust.
    pub rust: Vec<RustRow>,
    /// What the measurements are held to.
    pub targets: Vec<Target>,
    /// Programs without a row, because something went wrong.
    pub failures: Vec<BenchFailure>,
}

/// A value with the program that has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    pub program: &'static str,
    pub value: f64,
}

/// A kind of checks, and its slowdowns over all programs that have a row.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckColumn {
    /// The name in files: `all_checks`.
    pub key: String,
    /// The heading for people: `all checks`.
    pub title: String,
    pub passes: Passes,
    /// Whether it is there to compare passes, and measured for a breakdown only.
    pub of_breakdown: bool,
    pub overall: Overall,
    /// The same of the paper's figures for these programs, if it has them.
    pub paper: Option<Overall>,
}

/// The geometric mean and the greatest of some slowdowns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overall {
    pub geometric_mean: f64,
    pub worst: Worst,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProgramRow {
    pub program: &'static str,
    /// Tasks created, `main` not counted.
    pub tasks: u64,
    /// Shared accesses made; counted for a breakdown only.
    pub accesses: Option<u64>,
    /// Without checks.
    pub baseline: Cost,
    /// With checks, as many as there are columns.
    pub checked: Vec<Checked>,
}

/// What one configuration of a program costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub seconds: Spread,
    /// The most memory resident while the program ran, beyond what the process had when it began;
    /// the median.
    pub memory_bytes: u64,
    /// From source text to machine code; the median.
    pub compile_seconds: f64,
    /// Of that, what the passes from IR to IR take, those for speed included; the median.
    pub optimise_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked {
    pub cost: Cost,
    pub slowdown: Spread,
    /// The paper's slowdown, at the paper's size, if it has one for these checks.
    pub paper_slowdown: Option<f64>,
    /// Of the memory, what the detector keeps about tasks.
    pub task_bytes: u64,
    /// The memory with checks over that without; none if the program uses too little for a ratio to
    /// mean something.
    pub memory_ratio: Option<f64>,
    pub made: ChecksMade,
}

/// How many checks a run made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ChecksMade {
    /// Checks of one location.
    pub single: u64,
    /// Checks of many locations at once, and how many those were in all.
    pub ranges: u64,
    pub in_ranges: u64,
}

impl ChecksMade {
    /// Of so many accesses, those that nothing checked. Negative if ranges had more locations than
    /// there were accesses.
    pub fn removed_of(self, accesses: u64) -> i64 {
        accesses
            .wrapping_sub(self.single)
            .wrapping_sub(self.in_ranges)
            .cast_signed()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RustRow {
    pub program: &'static str,
    pub fin_seconds: Spread,
    pub rust_seconds: Spread,
    /// Fin over Rust.
    pub ratio: Spread,
}

/// How long proving takes: the table of a paper, for this prover.
#[derive(Clone, Debug, PartialEq)]
pub struct ProverTable {
    pub runs: usize,
    /// Whether Finishline itself was compiled with optimisation: without it, all times are too
    /// long.
    pub optimised: bool,
    pub rows: Vec<ProverRow>,
    pub targets: Vec<Target>,
}

/// A program, or one of its parallel blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct ProverRow {
    pub name: &'static str,
    pub program: &'static str,
    /// Whether it is the whole program.
    pub whole: bool,
    pub verdict: Verdict,
    pub accesses: usize,
    pub pairs: usize,
    pub seconds: Spread,
    /// The paper's time, on the paper's machine.
    pub paper_seconds: f64,
}

/// Something measured and the most that it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The name in files: `slowdown_geometric_mean`.
    pub key: &'static str,
    pub what: &'static str,
    pub unit: Unit,
    pub limit: f64,
    pub measured: f64,
    /// The program that decides, if it is one alone.
    pub program: Option<&'static str>,
}

impl Target {
    pub fn met(&self) -> bool {
        self.measured <= self.limit
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Times,
    Seconds,
    Bytes,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BenchFailure {
    pub program: &'static str,
    /// `race` or `failed`.
    pub kind: BenchFailureKind,
    /// What happened, in a sentence.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchFailureKind {
    /// A race was found in a program that has none.
    Race,
    /// The program failed, or computed something else than it should.
    Failed,
}

impl BenchFailureKind {
    pub const fn word(self) -> &'static str {
        match self {
            BenchFailureKind::Race => "race",
            BenchFailureKind::Failed => "failed",
        }
    }
}
