//! The figures for scripts. `docs/bench.md` explains the fields. Change fields there, here and in
//! the CHANGELOG together.
//!
//! The shapes are spelled out, so the model can change without changing the format. Every field is
//! always present. Missing values are `null`.

use crate::bench::table::{
    BenchFailure, BenchTable, CheckColumn, ProgramRow, Spread, Target, Unit, Worst,
};

use serde::Serialize;

/// Raised when a field is added, renamed or dropped.
pub(super) const SCHEMA_VERSION: u32 = 1;

pub(super) fn render(table: &BenchTable) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(&Report::new(table))?;
    Ok(text + "\n")
}

/// The tool and machine that measured.
#[derive(Serialize)]
pub(super) struct Tool {
    name: &'static str,
    version: &'static str,
}

impl Tool {
    pub(super) const THIS: Tool = Tool {
        name: "finishline",
        version: env!("CARGO_PKG_VERSION"),
    };
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    tool: Tool,
    table: &'static str,
    size: &'a str,
    rounds: usize,
    optimised: bool,
    programs: Vec<Program<'a>>,
    overall: Vec<Overall<'a>>,
    rust: Vec<Rust<'a>>,
    targets: Vec<Held<'a>>,
    failures: Vec<Failure<'a>>,
}

#[derive(Serialize)]
pub(super) struct Range {
    median: f64,
    least: f64,
    greatest: f64,
}

#[derive(Serialize)]
struct Program<'a> {
    program: &'a str,
    tasks: u64,
    accesses: Option<u64>,
    seconds: Range,
    memory_bytes: u64,
    compile_seconds: f64,
    optimise_seconds: f64,
    checks: Vec<Checks<'a>>,
}

#[derive(Serialize)]
struct Checks<'a> {
    checks: &'a str,
    seconds: Range,
    slowdown: Range,
    paper_slowdown: Option<f64>,
    memory_bytes: u64,
    task_bytes: u64,
    memory_ratio: Option<f64>,
    compile_seconds: f64,
    optimise_seconds: f64,
    single_checks: u64,
    range_checks: u64,
    in_ranges: u64,
    removed: Option<i64>,
}

#[derive(Serialize)]
struct Overall<'a> {
    checks: &'a str,
    passes: String,
    geometric_mean: f64,
    worst: Extreme<'a>,
    paper_geometric_mean: Option<f64>,
    paper_worst: Option<Extreme<'a>>,
}

#[derive(Serialize)]
pub(super) struct Extreme<'a> {
    program: &'a str,
    slowdown: f64,
}

#[derive(Serialize)]
struct Rust<'a> {
    program: &'a str,
    fin_seconds: Range,
    rust_seconds: Range,
    ratio: Range,
}

#[derive(Serialize)]
pub(super) struct Held<'a> {
    name: &'a str,
    what: &'a str,
    unit: &'static str,
    limit: f64,
    measured: f64,
    program: Option<&'a str>,
    met: bool,
}

#[derive(Serialize)]
pub(super) struct Failure<'a> {
    program: &'a str,
    kind: &'a str,
    message: &'a str,
}

impl<'a> Report<'a> {
    fn new(table: &'a BenchTable) -> Self {
        Report {
            schema_version: SCHEMA_VERSION,
            tool: Tool::THIS,
            table: "esp-bags",
            size: table.size,
            rounds: table.rounds,
            optimised: table.optimised,
            programs: (table.programs.iter())
                .map(|row| Program::new(row, &table.columns))
                .collect(),
            overall: table.columns.iter().map(Overall::new).collect(),
            rust: (table.rust.iter())
                .map(|row| Rust {
                    program: row.program,
                    fin_seconds: Range::new(row.fin_seconds),
                    rust_seconds: Range::new(row.rust_seconds),
                    ratio: Range::new(row.ratio),
                })
                .collect(),
            targets: table.targets.iter().map(Held::new).collect(),
            failures: (table.failures.iter()).map(Failure::new).collect(),
        }
    }
}

impl<'a> Failure<'a> {
    pub(super) fn new(failure: &'a BenchFailure) -> Self {
        Failure {
            program: failure.program,
            kind: failure.kind.word(),
            message: &failure.message,
        }
    }
}

impl Range {
    pub(super) fn new(spread: Spread) -> Self {
        Range {
            median: spread.median,
            least: spread.least,
            greatest: spread.greatest,
        }
    }
}

impl<'a> Program<'a> {
    fn new(row: &'a ProgramRow, columns: &'a [CheckColumn]) -> Self {
        let checks = columns.iter().zip(&row.checked);
        Program {
            program: row.program,
            tasks: row.tasks,
            accesses: row.accesses,
            seconds: Range::new(row.baseline.seconds),
            memory_bytes: row.baseline.memory_bytes,
            compile_seconds: row.baseline.compile_seconds,
            optimise_seconds: row.baseline.optimise_seconds,
            checks: checks
                .map(|(column, checked)| Checks {
                    checks: &column.key,
                    seconds: Range::new(checked.cost.seconds),
                    slowdown: Range::new(checked.slowdown),
                    paper_slowdown: checked.paper_slowdown,
                    memory_bytes: checked.cost.memory_bytes,
                    task_bytes: checked.task_bytes,
                    memory_ratio: checked.memory_ratio,
                    compile_seconds: checked.cost.compile_seconds,
                    optimise_seconds: checked.cost.optimise_seconds,
                    single_checks: checked.made.single,
                    range_checks: checked.made.ranges,
                    in_ranges: checked.made.in_ranges,
                    removed: row.accesses.map(|all| checked.made.removed_of(all)),
                })
                .collect(),
        }
    }
}

impl<'a> Overall<'a> {
    fn new(column: &'a CheckColumn) -> Self {
        Overall {
            checks: &column.key,
            passes: column.passes.to_string(),
            geometric_mean: column.overall.geometric_mean,
            worst: Extreme::new(column.overall.worst),
            paper_geometric_mean: column.paper.map(|paper| paper.geometric_mean),
            paper_worst: column.paper.map(|paper| Extreme::new(paper.worst)),
        }
    }
}

impl Extreme<'_> {
    pub(super) fn new(worst: Worst) -> Self {
        Extreme {
            program: worst.program,
            slowdown: worst.value,
        }
    }
}

impl<'a> Held<'a> {
    pub(super) fn new(target: &'a Target) -> Self {
        Held {
            name: target.key,
            what: target.what,
            unit: match target.unit {
                Unit::Times => "times",
                Unit::Seconds => "seconds",
                Unit::Bytes => "bytes",
                Unit::Number => "number",
            },
            limit: target.limit,
            measured: target.measured,
            program: target.program,
            met: target.met(),
        }
    }
}
