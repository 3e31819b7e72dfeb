//! The figures for spreadsheets: a line for each program, number of threads and configuration,
//! numbers in full, seconds and bytes. A missing value is an empty cell. No cell contains a comma,
//! a quote or a line break, because names and words are our own and all else is numbers.

use super::{DetectorColumn, FastRacerTable, NoFigures, RacyRow};
use crate::bench::csv::{maybe, spread, spread_heading};
use crate::bench::table::{Checked, Cost, Spread};

const BEFORE: [&str; 8] = [
    "program",
    "size",
    "rounds",
    "threads",
    "configuration",
    "failure",
    "tasks",
    "accesses",
];
const SPREADS: [&str; 3] = ["seconds", "slowdown", "speedup"];
const AFTER: [&str; 9] = [
    "memory_bytes",
    "task_bytes",
    "memory_ratio",
    "paper_memory_ratio",
    "single_checks",
    "range_checks",
    "in_ranges",
    "racing_locations",
    "distinct_races",
];

/// A line. What it does not say is missing.
#[derive(Default)]
struct Line<'a> {
    program: &'static str,
    threads: usize,
    configuration: &'a str,
    failure: Option<&'static str>,
    tasks: Option<u64>,
    accesses: Option<u64>,
    cost: Option<&'a Cost>,
    speedup: Option<&'a Spread>,
    checked: Option<&'a Checked>,
    paper_memory_ratio: Option<f64>,
    racing_locations: Option<u64>,
    distinct_races: Option<u64>,
}

pub(super) fn render(table: &FastRacerTable) -> String {
    let mut heading: Vec<String> = BEFORE.map(str::to_owned).into();
    heading.extend(SPREADS.into_iter().flat_map(spread_heading));
    heading.extend(AFTER.map(str::to_owned));
    let mut text = heading.join(",") + "\n";
    let lines = measured(table).chain(table.racy.iter().flat_map(|row| racy(table, row)));
    for line in lines {
        text += &(line.cells(table).join(",") + "\n");
    }
    text
}

fn measured(table: &FastRacerTable) -> impl Iterator<Item = Line<'_>> {
    let on = table.programs.iter().flat_map(move |row| {
        let threads = table.threads.iter().zip(&row.on);
        threads.map(move |(threads, on)| (row, *threads, on))
    });
    on.flat_map(move |(row, threads, on)| {
        let line = move |configuration| Line {
            program: row.program,
            threads,
            configuration,
            tasks: row.tasks,
            accesses: row.accesses,
            ..Line::default()
        };
        let unchecked = Line {
            cost: Some(&on.unchecked),
            speedup: Some(&on.speedup),
            ..line("unchecked")
        };
        let checked = table.columns.iter().zip(&on.checked);
        let checked = checked.map(move |(column, one)| match one {
            Ok(under) => Line {
                cost: Some(&under.checked.cost),
                speedup: under.speedup.as_ref(),
                checked: Some(&under.checked),
                paper_memory_ratio: under.paper_memory_ratio,
                ..line(&column.key)
            },
            Err(why) => Line {
                failure: Some(why.kind.word()),
                ..line(&column.key)
            },
        });
        std::iter::once(unchecked).chain(checked)
    })
}

fn racy<'a>(table: &'a FastRacerTable, row: &'a RacyRow) -> Vec<Line<'a>> {
    let line = |threads, configuration| Line {
        program: row.program,
        threads,
        configuration,
        ..Line::default()
    };
    let mut lines = Vec::new();
    for (threads, found) in table.threads.iter().zip(&row.locations) {
        let found = table.columns.iter().zip(found);
        lines.extend(
            found.map(|(column, found): (&DetectorColumn, _)| match found {
                Ok(count) => Line {
                    racing_locations: Some(*count),
                    ..line(*threads, &column.key)
                },
                Err(why) => failed(line(*threads, &column.key), why),
            }),
        );
    }
    lines.push(match &row.serial {
        Ok(races) => Line {
            racing_locations: Some(races.locations),
            distinct_races: Some(races.distinct),
            ..line(1, "serial")
        },
        Err(why) => failed(line(1, "serial"), why),
    });
    lines
}

fn failed<'a>(line: Line<'a>, why: &NoFigures) -> Line<'a> {
    Line {
        failure: Some(why.kind.word()),
        ..line
    }
}

impl Line<'_> {
    fn cells(&self, table: &FastRacerTable) -> Vec<String> {
        let mut cells = vec![
            self.program.to_owned(),
            table.size.to_owned(),
            table.rounds.to_string(),
            self.threads.to_string(),
            self.configuration.to_owned(),
            maybe(self.failure),
            maybe(self.tasks),
            maybe(self.accesses),
        ];
        let (cost, checked) = (self.cost, self.checked);
        cells.extend(spread(cost.map(|cost| &cost.seconds)));
        cells.extend(spread(checked.map(|checked| &checked.slowdown)));
        cells.extend(spread(self.speedup));
        cells.extend([
            maybe(cost.map(|cost| cost.memory_bytes)),
            maybe(checked.map(|checked| checked.task_bytes)),
            maybe(checked.and_then(|checked| checked.memory_ratio)),
            maybe(self.paper_memory_ratio),
            maybe(checked.map(|checked| checked.made.single)),
            maybe(checked.map(|checked| checked.made.ranges)),
            maybe(checked.map(|checked| checked.made.in_ranges)),
            maybe(self.racing_locations),
            maybe(self.distinct_races),
        ]);
        cells
    }
}
