//! The figures for spreadsheets: a line for each program, numbers in full, seconds and bytes.
//!
//! Each kind of checks has its own columns, which begin with its name. A missing value is an empty
//! cell. No cell contains a comma, a quote or a line break, because names are our own and all else
//! is numbers.

use crate::bench::table::{BenchTable, ProgramRow, Spread};

const PROGRAM: [&str; 10] = [
    "program",
    "size",
    "rounds",
    "tasks",
    "accesses",
    "seconds",
    "memory_bytes",
    "compile_seconds",
    "optimise_seconds",
    "rust_seconds",
];
const RUST_RATIO: &str = "rust_ratio";
const SLOWDOWN: &str = "slowdown";
const CHECKS: [&str; 11] = [
    "seconds",
    "paper_slowdown",
    "memory_bytes",
    "task_bytes",
    "memory_ratio",
    "compile_seconds",
    "optimise_seconds",
    "single_checks",
    "range_checks",
    "in_ranges",
    "removed",
];

pub(super) fn render(table: &BenchTable) -> String {
    let mut heading: Vec<String> = PROGRAM.map(str::to_owned).into();
    heading.extend(spread_heading(RUST_RATIO));
    for column in &table.columns {
        heading.extend(spread_heading(&format!("{}_{SLOWDOWN}", column.key)));
        heading.extend(CHECKS.map(|name| format!("{}_{name}", column.key)));
    }
    let mut text = heading.join(",") + "\n";
    for row in &table.programs {
        text += &cells(table, row).join(",");
        text.push('\n');
    }
    text
}

fn cells(table: &BenchTable, row: &ProgramRow) -> Vec<String> {
    let rust = table.rust.iter().find(|rust| rust.program == row.program);
    let mut cells = vec![
        row.program.to_owned(),
        table.size.to_owned(),
        table.rounds.to_string(),
        row.tasks.to_string(),
        maybe(row.accesses),
        row.baseline.seconds.median.to_string(),
        row.baseline.memory_bytes.to_string(),
        row.baseline.compile_seconds.to_string(),
        row.baseline.optimise_seconds.to_string(),
        maybe(rust.map(|rust| rust.rust_seconds.median)),
    ];
    cells.extend(spread(rust.map(|rust| &rust.ratio)));
    for checked in &row.checked {
        cells.extend(spread(Some(&checked.slowdown)));
        cells.extend([
            checked.cost.seconds.median.to_string(),
            maybe(checked.paper_slowdown),
            checked.cost.memory_bytes.to_string(),
            checked.task_bytes.to_string(),
            maybe(checked.memory_ratio),
            checked.cost.compile_seconds.to_string(),
            checked.cost.optimise_seconds.to_string(),
            checked.made.single.to_string(),
            checked.made.ranges.to_string(),
            checked.made.in_ranges.to_string(),
            maybe(row.accesses.map(|all| checked.made.removed_of(all))),
        ]);
    }
    cells
}

pub(super) fn spread_heading(name: &str) -> [String; 3] {
    [
        name.to_owned(),
        format!("{name}_least"),
        format!("{name}_greatest"),
    ]
}

pub(super) fn spread(spread: Option<&Spread>) -> [String; 3] {
    [
        maybe(spread.map(|spread| spread.median)),
        maybe(spread.map(|spread| spread.least)),
        maybe(spread.map(|spread| spread.greatest)),
    ]
}

pub(super) fn maybe(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
