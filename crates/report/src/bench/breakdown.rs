//! The tables of a breakdown for a person at a terminal [ESP-bags Fig. 14]: what each pass that
//! removes checks saves alone, in time and in checks, and what all passes save together.

use super::grid::Grid;
use super::{grouped, times};
use crate::bench::table::{BenchTable, Checked, ProgramRow};
use finishline_model::Passes;

pub(super) fn render(table: &BenchTable) -> String {
    let mut text = String::from("\nSlowdowns with the checks that are left by each pass alone\n\n");
    text += &slowdowns(table).render();
    text += "\nevery access is checked only in the first column: all others leave out those of sequential code\n";
    text += "\nAccesses that have a check of their own, in percent of all\n\n";
    text += &shares(table).render();
    text += "\nChecks, optimised\n\n";
    text += &counts(table).render();
    text += "\nin ranges are the locations of all ranges; removed are the accesses left over\n";
    text
}

/// A row for each program, with a cell for each column.
fn by_column(table: &BenchTable, cell: impl Fn(&ProgramRow, &Checked) -> String) -> Grid {
    let mut grid = Grid::default();
    let titles = table.columns.iter().map(|column| column.title.clone());
    let heading = std::iter::once("program".to_owned()).chain(titles);
    grid.rows.push(heading.collect());
    grid.rule();
    for row in &table.programs {
        let cells = row.checked.iter().map(|checked| cell(row, checked));
        let cells = std::iter::once(row.program.to_owned()).chain(cells);
        grid.rows.push(cells.collect());
    }
    grid
}

fn slowdowns(table: &BenchTable) -> Grid {
    let mut grid = by_column(table, |_, checked| times(checked.slowdown.median));
    grid.rule();
    let means = table.columns.iter();
    let means = means.map(|column| times(column.overall.geometric_mean));
    let row = std::iter::once("geometric mean".to_owned()).chain(means);
    grid.rows.push(row.collect());
    grid
}

fn shares(table: &BenchTable) -> Grid {
    by_column(table, |row, checked| match row.accesses {
        None | Some(0) => "-".to_owned(),
        Some(all) => format!("{:.1}", checked.made.single as f64 / all as f64 * 100.0),
    })
}

fn counts(table: &BenchTable) -> Grid {
    let mut grid = Grid::default();
    let heading = [
        "program",
        "accesses",
        "single checks",
        "range checks",
        "in ranges",
        "removed",
    ];
    grid.rows.push(heading.map(str::to_owned).into());
    grid.rule();
    let mut columns = table.columns.iter();
    let optimised = columns.position(|column| column.passes == Passes::UNPROVED);
    for row in &table.programs {
        let checked = optimised.and_then(|index| row.checked.get(index));
        let (Some(accesses), Some(Checked { made, .. })) = (row.accesses, checked) else {
            continue;
        };
        let removed = made.removed_of(accesses);
        let sign = if removed < 0 { "-" } else { "" };
        grid.rows.push(vec![
            row.program.to_owned(),
            grouped(accesses),
            grouped(made.single),
            grouped(made.ranges),
            grouped(made.in_ranges),
            format!("{sign}{}", grouped(removed.unsigned_abs())),
        ]);
    }
    grid
}
