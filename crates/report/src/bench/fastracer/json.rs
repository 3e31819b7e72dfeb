//! The figures for scripts. Every field is always present. Missing values are `null`.

use super::{
    DetectorColumn, FastRacerRow, FastRacerTable, Means, NoFigures, OnThreads, RacyRow,
    UnderDetector,
};
use crate::bench::json::{Extreme, Failure, Range, SCHEMA_VERSION, Tool};

use serde::Serialize;

pub(super) fn render(table: &FastRacerTable) -> serde_json::Result<String> {
    let report = Report {
        schema_version: SCHEMA_VERSION,
        tool: Tool::THIS,
        table: "fastracer",
        size: table.size,
        rounds: table.rounds,
        optimised: table.optimised,
        threads: &table.threads,
        limit_seconds: table.limit,
        programs: (table.programs.iter())
            .map(|row| Program::new(table, row))
            .collect(),
        racy: (table.racy.iter())
            .map(|row| Racy::new(table, row))
            .collect(),
        overall: (table.columns.iter())
            .flat_map(|column| overall(table, column))
            .collect(),
        failures: table.failures.iter().map(Failure::new).collect(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    tool: Tool,
    table: &'static str,
    size: &'a str,
    rounds: usize,
    optimised: bool,
    threads: &'a [usize],
    limit_seconds: f64,
    programs: Vec<Program<'a>>,
    racy: Vec<Racy<'a>>,
    overall: Vec<Overall<'a>>,
    failures: Vec<Failure<'a>>,
}

#[derive(Serialize)]
struct Program<'a> {
    program: &'a str,
    tasks: Option<u64>,
    accesses: Option<u64>,
    runs: Vec<Run<'a>>,
}

/// A program on some number of threads.
#[derive(Serialize)]
struct Run<'a> {
    threads: usize,
    seconds: Range,
    speedup: Range,
    memory_bytes: u64,
    checked: Vec<Checked<'a>>,
}

#[derive(Serialize)]
struct Checked<'a> {
    configuration: &'a str,
    detector: &'a str,
    checks: &'a str,
    failure: Option<NotMeasured<'a>>,
    seconds: Option<Range>,
    slowdown: Option<Range>,
    speedup: Option<Range>,
    memory_bytes: Option<u64>,
    task_bytes: Option<u64>,
    memory_ratio: Option<f64>,
    paper_memory_ratio: Option<f64>,
    single_checks: Option<u64>,
    range_checks: Option<u64>,
    in_ranges: Option<u64>,
}

#[derive(Serialize)]
struct NotMeasured<'a> {
    kind: &'static str,
    message: &'a str,
}

#[derive(Serialize)]
struct Racy<'a> {
    program: &'a str,
    found: Vec<Found<'a>>,
    serial_locations: Option<u64>,
    distinct_races: Option<u64>,
    serial_failure: Option<NotMeasured<'a>>,
    paper_races: Option<u64>,
}

#[derive(Serialize)]
struct Found<'a> {
    configuration: &'a str,
    threads: usize,
    racing_locations: Option<u64>,
    failure: Option<NotMeasured<'a>>,
}

#[derive(Serialize)]
struct Overall<'a> {
    configuration: &'a str,
    detector: &'a str,
    checks: &'a str,
    threads: usize,
    programs: usize,
    geometric_mean: Option<f64>,
    worst: Option<Extreme<'a>>,
    speedup_geometric_mean: Option<f64>,
    memory_ratio_geometric_mean: Option<f64>,
    paper_slowdown: Option<f64>,
}

impl<'a> NotMeasured<'a> {
    fn of<T>(value: &'a Result<T, NoFigures>) -> Option<Self> {
        value.as_ref().err().map(|why| NotMeasured {
            kind: why.kind.word(),
            message: &why.message,
        })
    }
}

impl<'a> Program<'a> {
    fn new(table: &'a FastRacerTable, row: &'a FastRacerRow) -> Self {
        let runs = table.threads.iter().zip(&row.on);
        Program {
            program: row.program,
            tasks: row.tasks,
            accesses: row.accesses,
            runs: runs
                .map(|(threads, on)| Run::new(table, *threads, on))
                .collect(),
        }
    }
}

impl<'a> Run<'a> {
    fn new(table: &'a FastRacerTable, threads: usize, on: &'a OnThreads) -> Self {
        let checked = table.columns.iter().zip(&on.checked);
        Run {
            threads,
            seconds: Range::new(on.unchecked.seconds),
            speedup: Range::new(on.speedup),
            memory_bytes: on.unchecked.memory_bytes,
            checked: checked
                .map(|(column, one)| Checked::new(column, one))
                .collect(),
        }
    }
}

impl<'a> Checked<'a> {
    fn new(column: &'a DetectorColumn, one: &'a Result<UnderDetector, NoFigures>) -> Self {
        let under = one.as_ref().ok();
        let checked = under.map(|under| under.checked);
        Checked {
            configuration: &column.key,
            detector: column.detector,
            checks: &column.checks,
            failure: NotMeasured::of(one),
            seconds: checked.map(|checked| Range::new(checked.cost.seconds)),
            slowdown: checked.map(|checked| Range::new(checked.slowdown)),
            speedup: under.and_then(|under| under.speedup).map(Range::new),
            memory_bytes: checked.map(|checked| checked.cost.memory_bytes),
            task_bytes: checked.map(|checked| checked.task_bytes),
            memory_ratio: checked.and_then(|checked| checked.memory_ratio),
            paper_memory_ratio: under.and_then(|under| under.paper_memory_ratio),
            single_checks: checked.map(|checked| checked.made.single),
            range_checks: checked.map(|checked| checked.made.ranges),
            in_ranges: checked.map(|checked| checked.made.in_ranges),
        }
    }
}

impl<'a> Racy<'a> {
    fn new(table: &'a FastRacerTable, row: &'a RacyRow) -> Self {
        let on = table.threads.iter().zip(&row.locations);
        let found = on.flat_map(|(threads, on)| {
            let found = table.columns.iter().zip(on);
            found.map(|(column, found)| Found {
                configuration: &column.key,
                threads: *threads,
                racing_locations: found.as_ref().ok().copied(),
                failure: NotMeasured::of(found),
            })
        });
        let serial = row.serial.as_ref().ok();
        Racy {
            program: row.program,
            found: found.collect(),
            serial_locations: serial.map(|races| races.locations),
            distinct_races: serial.map(|races| races.distinct),
            serial_failure: NotMeasured::of(&row.serial),
            paper_races: row.paper_races,
        }
    }
}

/// An object for each number of threads.
fn overall<'a>(
    table: &'a FastRacerTable,
    column: &'a DetectorColumn,
) -> impl Iterator<Item = Overall<'a>> {
    let means = table.threads.iter().zip(&column.means);
    means.map(|(threads, means): (_, &Option<Means>)| Overall {
        configuration: &column.key,
        detector: column.detector,
        checks: &column.checks,
        threads: *threads,
        programs: means.map_or(0, |means| means.programs),
        geometric_mean: means.map(|means| means.slowdown.geometric_mean),
        worst: means.map(|means| Extreme::new(means.slowdown.worst)),
        speedup_geometric_mean: means.and_then(|means| means.speedup),
        memory_ratio_geometric_mean: means.and_then(|means| means.memory_ratio),
        paper_slowdown: column.paper_slowdown,
    })
}
