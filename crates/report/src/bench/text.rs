//! The tables for a person at a terminal: slowdowns, Fin beside Rust, targets.

use super::grid::Grid;
use super::{bytes, grouped, judgement, quantity, seconds, times};
use finishline_model::bench::{BenchTable, Checked, ProgramRow, Spread};

pub(super) fn render(table: &BenchTable) -> String {
    let mut text = format!(
        "Table 3 of the ESP-bags paper, for finishline {}\nsize {}, {}\n",
        env!("CARGO_PKG_VERSION"),
        table.size,
        match table.rounds {
            1 => "1 round".to_owned(),
            rounds => format!("medians of {rounds} rounds"),
        },
    );
    if !table.optimised {
        text += "finishline itself was built without optimisation: these times are not those of a release\n";
    }
    if table.size == "small" {
        text += "at size small the programs end before a time means anything\n";
    }
    if !table.programs.is_empty() {
        text += &format!("\n{}", slowdowns(table).render());
        text += "\nmemory is what the run added to the process; compile is from source text to machine code;\n\
                 paper is the paper's slowdown, at its own size\n";
    }
    if !table.rust.is_empty() {
        text += "\nWithout checks, beside the same algorithm in Rust -O\n\n";
        text += &rust(table).render();
    }
    if !table.targets.is_empty() {
        let of = match (table.programs.len(), table.suite) {
            (all, suite) if all == suite => String::new(),
            (some, suite) => format!(", of {some} of the {suite} programs"),
        };
        text += &format!("\nTargets{of}\n\n{}", targets(table).render());
    }
    if !table.failures.is_empty() {
        text += "\nNot measured\n\n";
        for failure in &table.failures {
            let kind = failure.kind.word();
            text += &format!("{}: {kind}: {}\n", failure.program, failure.message);
        }
    }
    text
}

fn slowdowns(table: &BenchTable) -> Grid {
    let mut grid = Grid::default();
    let mut heading: Vec<String> = ["program", "tasks", "time", "memory", "compile"]
        .map(str::to_owned)
        .into();
    for column in &table.columns {
        heading.push(column.title.to_owned());
        heading.extend(["spread", "paper", "memory", "ratio", "compile"].map(str::to_owned));
    }
    grid.rows.push(heading);
    grid.rule();
    grid.rows.extend(table.programs.iter().map(program));
    grid.rule();
    let mut mean = labelled("geometric mean");
    let mut worst = labelled("worst");
    for column in &table.columns {
        let (ours, paper) = (column.overall, column.paper);
        mean.extend([times(ours.geometric_mean), String::new()]);
        mean.push(times(paper.geometric_mean));
        worst.extend([times(ours.worst.value), ours.worst.program.to_owned()]);
        worst.push(times(paper.worst.value));
        for row in [&mut mean, &mut worst] {
            row.extend([const { String::new() }; 3]);
        }
    }
    grid.rows.extend([mean, worst]);
    grid
}

/// A row whose cells below the baseline's headings are empty.
fn labelled(label: &str) -> Vec<String> {
    let mut row = vec![label.to_owned()];
    row.extend([const { String::new() }; 4]);
    row
}

fn program(row: &ProgramRow) -> Vec<String> {
    let mut cells = vec![
        row.program.to_owned(),
        grouped(row.tasks),
        seconds(row.baseline.seconds.median),
        bytes(row.baseline.memory_bytes as f64),
        seconds(row.baseline.compile_seconds),
    ];
    for Checked {
        cost,
        slowdown,
        paper_slowdown,
        memory_ratio,
        ..
    } in &row.checked
    {
        cells.extend([
            times(slowdown.median),
            spread(slowdown),
            times(*paper_slowdown),
            bytes(cost.memory_bytes as f64),
            memory_ratio.map_or("-".to_owned(), times),
            seconds(cost.compile_seconds),
        ]);
    }
    cells
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

fn targets(table: &BenchTable) -> Grid {
    let mut grid = Grid {
        flush_left: &[0, 2, 4],
        ..Grid::default()
    };
    for target in &table.targets {
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

fn spread(spread: &Spread) -> String {
    format!("{:.2}..{:.2}", spread.least, spread.greatest)
}
