//! The figures for spreadsheets: a line for each graph, seconds and numbers in full. A missing
//! value is an empty cell. No cell contains a comma, a quote or a line break, because names are our
//! own and all else is numbers.

use super::{CHECKERS, ZipperRow, ZipperTable};
use crate::bench::csv::{maybe, spread, spread_heading};

const GRAPH: [&str; 7] = [
    "graph",
    "arguments",
    "rounds",
    "nodes",
    "accesses",
    "blocks",
    "races",
];

pub(super) fn render(table: &ZipperTable) -> String {
    let mut heading: Vec<String> = GRAPH.map(str::to_owned).into();
    for checker in CHECKERS {
        heading.extend(spread_heading(&format!("{checker}_seconds")));
    }
    for ratio in ["zipper_to_cg", "labels_to_cg"] {
        heading.extend(spread_heading(ratio));
    }
    heading.extend(["paper_cg_seconds", "paper_zipper_seconds"].map(str::to_owned));
    let mut text = heading.join(",") + "\n";
    for row in table.programs.iter().chain(&table.growth) {
        text += &(cells(row, table.rounds).join(",") + "\n");
    }
    text
}

fn cells(row: &ZipperRow, rounds: usize) -> Vec<String> {
    let mut cells = vec![
        row.graph.to_owned(),
        row.arguments.clone(),
        rounds.to_string(),
        row.nodes.to_string(),
        row.accesses.to_string(),
        row.blocks.to_string(),
        row.races.to_string(),
    ];
    for values in row
        .seconds
        .iter()
        .chain([&row.zipper_to_cg, &row.labels_to_cg])
    {
        cells.extend(spread(values.as_ref()));
    }
    let paper = |at: usize| maybe(row.paper.map(|paper| paper[at] / 1e3));
    cells.extend([paper(0), paper(1)]);
    cells
}
