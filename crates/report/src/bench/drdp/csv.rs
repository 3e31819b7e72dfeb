//! The figures for spreadsheets: a line for each program, numbers in full, seconds and bytes. A
//! missing value is an empty cell. No cell contains a comma, a quote or a line break, because names
//! are our own and all else is numbers.

use super::{DrdpRow, DrdpTable};
use crate::bench::csv::{maybe, spread, spread_heading};
use crate::bench::table::Checked;

const PROGRAM: [&str; 8] = [
    "program",
    "size",
    "arguments",
    "rounds",
    "tasks",
    "memory_bytes",
    "paper_slowdown",
    "paper_memory_ratio",
];
const CHECKS: [&str; 6] = [
    "memory_bytes",
    "task_bytes",
    "memory_ratio",
    "single_checks",
    "range_checks",
    "in_ranges",
];
const OURS: [&str; 2] = ["questions", "comparisons"];
const DRDP: [&str; 5] = [
    "drdp_reads",
    "drdp_writes",
    "drdp_height",
    "drdp_tree_joins",
    "drdp_non_tree_joins",
];

pub(super) fn render(table: &DrdpTable) -> String {
    let mut heading: Vec<String> = PROGRAM.map(str::to_owned).into();
    heading.extend(spread_heading("seconds"));
    for key in ["all_checks", "default", "drdp"] {
        heading.extend(spread_heading(&format!("{key}_seconds")));
        heading.extend(spread_heading(&format!("{key}_slowdown")));
        heading.extend(CHECKS.map(|name| format!("{key}_{name}")));
        if key != "drdp" {
            heading.extend(OURS.map(|name| format!("{key}_{name}")));
        }
    }
    heading.extend(DRDP.map(str::to_owned));
    let mut text = heading.join(",") + "\n";
    for row in &table.programs {
        text += &(cells(table, row).join(",") + "\n");
    }
    text
}

fn cells(table: &DrdpTable, row: &DrdpRow) -> Vec<String> {
    let mut cells = vec![
        row.program.to_owned(),
        table.size.to_owned(),
        row.arguments.clone(),
        table.rounds.to_string(),
        row.tasks.to_string(),
        row.baseline.memory_bytes.to_string(),
        row.paper_slowdown.to_string(),
        row.paper_memory_ratio.to_string(),
    ];
    cells.extend(spread(Some(&row.baseline.seconds)));
    for ours in [&row.all_checks, &row.default] {
        cells.extend(checked(Some(&ours.checked)));
        cells.extend([ours.questions.to_string(), ours.comparisons.to_string()]);
    }
    let drdp = row.drdp.as_ref().ok();
    cells.extend(checked(drdp.map(|drdp| &drdp.checked)));
    cells.extend([
        maybe(drdp.map(|drdp| drdp.reads)),
        maybe(drdp.map(|drdp| drdp.writes)),
        maybe(drdp.map(|drdp| drdp.height)),
        maybe(drdp.map(|drdp| drdp.tree_joins)),
        maybe(drdp.map(|drdp| drdp.non_tree_joins)),
    ]);
    cells
}

fn checked(checked: Option<&Checked>) -> Vec<String> {
    let mut cells = Vec::new();
    cells.extend(spread(checked.map(|checked| &checked.cost.seconds)));
    cells.extend(spread(checked.map(|checked| &checked.slowdown)));
    cells.extend([
        maybe(checked.map(|checked| checked.cost.memory_bytes)),
        maybe(checked.map(|checked| checked.task_bytes)),
        maybe(checked.and_then(|checked| checked.memory_ratio)),
        maybe(checked.map(|checked| checked.made.single)),
        maybe(checked.map(|checked| checked.made.ranges)),
        maybe(checked.map(|checked| checked.made.in_ranges)),
    ]);
    cells
}
