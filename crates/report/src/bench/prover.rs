//! The time that proofs take, as text, CSV and JSON. `docs/bench.md` explains the columns and
//! fields.

use super::csv::{spread, spread_heading};
use super::grid::Grid;
use super::json::{Held, Range, SCHEMA_VERSION, Tool};
use super::seconds;
use super::text::targets;
use crate::bench::table::ProverTable;

use serde::Serialize;

pub(super) fn text(table: &ProverTable) -> String {
    let mut text = format!(
        "Table 1 of the paper on the polyhedral model for finish and async, for finishline {}\n{}\n",
        env!("CARGO_PKG_VERSION"),
        match table.runs {
            1 => "1 run".to_owned(),
            runs => format!("medians of {runs} runs"),
        },
    );
    if !table.optimised {
        text += "finishline itself was built without optimisation: these times are not those of a release\n";
    }
    text += &format!("\n{}", rows(table).render());
    text += "\npaper is the paper's time, on its machine; a name with a number is one parallel block of the program\n";
    if !table.targets.is_empty() {
        text += &format!("\nTargets\n\n{}", targets(&table.targets).render());
    }
    text
}

fn rows(table: &ProverTable) -> Grid {
    let mut grid = Grid {
        flush_left: &[0, 1],
        ..Grid::default()
    };
    let heading = [
        "block", "verdict", "accesses", "pairs", "time", "least", "greatest", "paper",
    ];
    grid.rows.push(heading.map(str::to_owned).into());
    grid.rule();
    grid.rows.extend(table.rows.iter().map(|row| {
        let time = &row.seconds;
        let mut cells = vec![
            row.name.to_owned(),
            row.verdict.to_string(),
            row.accesses.to_string(),
            row.pairs.to_string(),
        ];
        cells.extend([time.median, time.least, time.greatest, row.paper_seconds].map(seconds));
        cells
    }));
    grid
}

/// No cell contains a comma, a quote or a line break, because names are our own and all else is
/// numbers.
pub(super) fn csv(table: &ProverTable) -> String {
    let mut heading: Vec<String> = ["block", "program", "runs", "verdict", "accesses", "pairs"]
        .map(str::to_owned)
        .into();
    heading.extend(spread_heading("seconds"));
    heading.push("paper_seconds".to_owned());
    let mut text = heading.join(",") + "\n";
    for row in &table.rows {
        let mut cells = vec![
            row.name.to_owned(),
            row.program.to_owned(),
            table.runs.to_string(),
            row.verdict.to_string(),
            row.accesses.to_string(),
            row.pairs.to_string(),
        ];
        cells.extend(spread(Some(&row.seconds)));
        cells.push(row.paper_seconds.to_string());
        text += &(cells.join(",") + "\n");
    }
    text
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    tool: Tool,
    table: &'static str,
    runs: usize,
    optimised: bool,
    blocks: Vec<Block<'a>>,
    targets: Vec<Held<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    block: &'a str,
    program: &'a str,
    whole: bool,
    verdict: &'static str,
    accesses: usize,
    pairs: usize,
    seconds: Range,
    paper_seconds: f64,
}

pub(super) fn json(table: &ProverTable) -> serde_json::Result<String> {
    let report = Report {
        schema_version: SCHEMA_VERSION,
        tool: Tool::THIS,
        table: "prove",
        runs: table.runs,
        optimised: table.optimised,
        blocks: (table.rows.iter())
            .map(|row| Block {
                block: row.name,
                program: row.program,
                whole: row.whole,
                verdict: row.verdict.word(),
                accesses: row.accesses,
                pairs: row.pairs,
                seconds: Range::new(row.seconds),
                paper_seconds: row.paper_seconds,
            })
            .collect(),
        targets: table.targets.iter().map(Held::new).collect(),
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}
