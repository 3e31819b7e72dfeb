//! The tables for a person at a terminal: slowdowns, memory, Fin compared with Rust, targets.

use super::grid::Grid;
use super::{breakdown, bytes, grouped, judgement, quantity, seconds, times};
use crate::bench::table::{
    BenchFailure, BenchTable, CheckColumn, Checked, Cost, ProgramRow, Spread, Target,
};

pub(super) fn render(table: &BenchTable) -> String {
    let mut text = heading(
        "Table 3 of the ESP-bags paper",
        table.size,
        table.rounds,
        table.optimised,
    );
    if !table.programs.is_empty() {
        text += &format!("\n{}", slowdowns(table).render());
        text += "\npaper is the paper's slowdown, at its own size\n";
        text += "\nMemory, and time to compile\n\n";
        text += &costs(table).render();
        text += "\nmemory is what the run added to the process; compile is from source text to machine code, passes the part\n\
                 of it from IR to IR\n";
    }
    if !table.rust.is_empty() {
        text += "\nWithout checks, beside the same algorithm in Rust -O\n\n";
        text += &rust(table).render();
    }
    if table.columns.iter().any(|column| column.of_breakdown) {
        text += &breakdown::render(table);
    }
    if !table.targets.is_empty() {
        let of = match (table.programs.len(), table.suite) {
            (all, suite) if all == suite => String::new(),
            (some, suite) => format!(", of {some} of the {suite} programs"),
        };
        text += &format!("\nTargets{of}\n\n{}", targets(&table.targets).render());
    }
    text += &not_measured(&table.failures);
    text
}

/// What a table is, and what its times are worth.
pub(super) fn heading(what: &str, size: &str, rounds: usize, optimised: bool) -> String {
    let mut text = format!(
        "{what}, for finishline {}\nsize {size}, {}\n",
        env!("CARGO_PKG_VERSION"),
        match rounds {
            1 => "1 round".to_owned(),
            rounds => format!("medians of {rounds} rounds"),
        },
    );
    if !optimised {
        text += "finishline itself was built without optimisation: these times are not those of a release\n";
    }
    if size == "small" {
        text += "at size small the programs end before a time means anything; no target is for their times\n";
    }
    text
}

/// The programs that have no row, and why.
pub(super) fn not_measured(failures: &[BenchFailure]) -> String {
    if failures.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nNot measured\n\n");
    for failure in failures {
        let kind = failure.kind.word();
        text += &format!("{}: {kind}: {}\n", failure.program, failure.message);
    }
    text
}

/// The columns that are not only for a breakdown, with the figures of a program.
fn plain<'t>(
    table: &'t BenchTable,
    row: &'t ProgramRow,
) -> impl Iterator<Item = &'t Checked> + use<'t> {
    let columns = table.columns.iter().zip(&row.checked);
    let plain = columns.filter(|(column, _)| !column.of_breakdown);
    plain.map(|(_, checked)| checked)
}

fn plain_columns(table: &BenchTable) -> impl Iterator<Item = &CheckColumn> {
    table.columns.iter().filter(|column| !column.of_breakdown)
}

fn slowdowns(table: &BenchTable) -> Grid {
    let mut grid = Grid::default();
    let mut heading: Vec<String> = ["program", "tasks", "time"].map(str::to_owned).into();
    let mut mean: Vec<String> = ["geometric mean", "", ""].map(str::to_owned).into();
    let mut worst: Vec<String> = ["worst", "", ""].map(str::to_owned).into();
    for column in plain_columns(table) {
        heading.push(column.title.clone());
        heading.push("spread".to_owned());
        let ours = column.overall;
        mean.extend([times(ours.geometric_mean), String::new()]);
        worst.extend([times(ours.worst.value), ours.worst.program.to_owned()]);
        if let Some(paper) = column.paper {
            heading.push("paper".to_owned());
            mean.push(times(paper.geometric_mean));
            worst.push(times(paper.worst.value));
        }
    }
    grid.rows.push(heading);
    grid.rule();
    grid.rows.extend(table.programs.iter().map(|row| {
        let time = seconds(row.baseline.seconds.median);
        let mut cells = vec![row.program.to_owned(), grouped(row.tasks), time];
        for checked in plain(table, row) {
            let slowdown = &checked.slowdown;
            cells.extend([times(slowdown.median), spread(slowdown)]);
            cells.extend(checked.paper_slowdown.map(times));
        }
        cells
    }));
    grid.rule();
    grid.rows.extend([mean, worst]);
    grid
}

fn costs(table: &BenchTable) -> Grid {
    let mut grid = Grid::default();
    let mut heading: Vec<String> = ["program", "memory", "compile", "passes"]
        .map(str::to_owned)
        .into();
    for column in plain_columns(table) {
        heading.push(column.title.clone());
        heading.extend(["ratio", "compile", "passes"].map(str::to_owned));
    }
    grid.rows.push(heading);
    grid.rule();
    grid.rows.extend(table.programs.iter().map(|row| {
        let compiled = |cost: &Cost| [cost.compile_seconds, cost.optimise_seconds].map(seconds);
        let memory = |cost: &Cost| bytes(cost.memory_bytes as f64);
        let mut cells = vec![row.program.to_owned(), memory(&row.baseline)];
        cells.extend(compiled(&row.baseline));
        for checked in plain(table, row) {
            cells.extend([memory(&checked.cost), maybe(checked.memory_ratio, times)]);
            cells.extend(compiled(&checked.cost));
        }
        cells
    }));
    grid
}

/// A value that may be missing.
pub(super) fn maybe<T>(value: Option<T>, form: impl Fn(T) -> String) -> String {
    value.map_or("-".to_owned(), form)
}

fn rust(table: &BenchTable) -> Grid {
    let mut grid = Grid::default();
    let heading = ["program", "Fin", "Rust", "ratio", "spread"];
    grid.rows.push(heading.map(str::to_owned).into());
    grid.rule();
    for row in &table.rust {
        grid.rows.push(vec![
            row.program.to_owned(),
            seconds(row.fin_seconds.median),
            seconds(row.rust_seconds.median),
            times(row.ratio.median),
            spread(&row.ratio),
        ]);
    }
    grid
}

/// The measured values beside their targets.
pub(super) fn targets(targets: &[Target]) -> Grid {
    let mut grid = Grid {
        flush_left: &[0, 2, 4],
        ..Grid::default()
    };
    for target in targets {
        grid.rows.push(vec![
            target.what.to_owned(),
            quantity(target.unit, target.measured),
            target.program.unwrap_or_default().to_owned(),
            format!("target {}", quantity(target.unit, target.limit)),
            judgement(target),
        ]);
    }
    grid
}

pub(super) fn spread(spread: &Spread) -> String {
    format!("{:.2}..{:.2}", spread.least, spread.greatest)
}
