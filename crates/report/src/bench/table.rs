//! The figures that `finishline bench` measured. They are already computed. A report only formats
//! them.
//!
//! Times are in seconds and memory is in bytes. A [`Spread`] covers the rounds of one benchmark.
//! Ratios are taken within one round, so a machine that is slow for a while does not distort them.

use finishline_answer::Verdict;
use finishline_model::Passes;

/// The least, the median and the greatest value of all rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub greatest: f64,
}

/// The paper's table of slowdowns, and the other measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchTable {
    /// `small`, `A`, `B` or `C`.
    pub size: &'static str,
    pub rounds: usize,
    /// Whether Finishline itself was compiled with optimisation. Without it all times are too long.
    pub optimised: bool,
    /// The number of programs in the suite.
    pub suite: usize,
    /// The kinds of checks that were measured, one a column. In a breakdown, each pass alone has a
    /// column too.
    pub columns: Vec<CheckColumn>,
    pub programs: Vec<ProgramRow>,
    /// Unchecked Fin compared with the same algorithm in Rust.
    pub rust: Vec<RustRow>,
    /// The targets that the measurements are compared with.
    pub targets: Vec<Target>,
    /// Programs without a row, because something went wrong.
    pub failures: Vec<BenchFailure>,
}

/// A value and the program that has it.
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
    /// Whether the column exists only to compare passes and is measured only for a breakdown.
    pub of_breakdown: bool,
    pub overall: Overall,
    /// The same for the paper's figures of these programs, if it has them.
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
    /// Tasks created, without `main`.
    pub tasks: u64,
    /// Shared accesses made. Counted only for a breakdown.
    pub accesses: Option<u64>,
    /// The cost without checks.
    pub baseline: Cost,
    /// The cost with checks, one entry for each column.
    pub checked: Vec<Checked>,
}

/// The cost of one configuration of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub seconds: Spread,
    /// The peak resident memory while the program ran, minus that at its start. The median of all
    /// rounds.
    pub memory_bytes: u64,
    /// The time from source text to machine code. The median of all rounds.
    pub compile_seconds: f64,
    /// The part of that time in passes from IR to IR, including those for speed. The median of all
    /// rounds.
    pub optimise_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked {
    pub cost: Cost,
    pub slowdown: Spread,
    /// The paper's slowdown for these checks at the paper's size, if it has one.
    pub paper_slowdown: Option<f64>,
    /// The part of the memory that the detector keeps for tasks.
    pub task_bytes: u64,
    /// The memory with checks divided by that without. None if the program uses too little memory
    /// for a meaningful ratio.
    pub memory_ratio: Option<f64>,
    pub made: ChecksMade,
}

/// The number of checks in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ChecksMade {
    /// Checks of one location.
    pub single: u64,
    /// Checks of several locations at once, and the total number of these locations.
    pub ranges: u64,
    pub in_ranges: u64,
}

impl ChecksMade {
    /// The number of accesses that nothing checked, out of `accesses`. Negative if ranges had more
    /// locations than there were accesses.
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
    /// The time of Fin divided by that of Rust.
    pub ratio: Spread,
}

/// The time that proofs take: the table of a paper, for this prover.
#[derive(Clone, Debug, PartialEq)]
pub struct ProverTable {
    pub runs: usize,
    /// Whether Finishline itself was compiled with optimisation. Without it all times are too long.
    pub optimised: bool,
    pub rows: Vec<ProverRow>,
    pub targets: Vec<Target>,
}

/// A program, or one of its parallel blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct ProverRow {
    pub name: &'static str,
    pub program: &'static str,
    /// Whether the row is about the whole program.
    pub whole: bool,
    pub verdict: Verdict,
    pub accesses: usize,
    pub pairs: usize,
    pub seconds: Spread,
    /// The paper's time, on the paper's machine.
    pub paper_seconds: f64,
}

/// A measured value and its upper limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The name in files: `slowdown_geometric_mean`.
    pub key: &'static str,
    pub what: &'static str,
    pub unit: Unit,
    pub limit: f64,
    pub measured: f64,
    /// The program that decides, if a single one does.
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
    Number,
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
    /// The program failed or computed a wrong result.
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
