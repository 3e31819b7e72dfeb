//! The tables for a person at a terminal.

use super::{CHECKERS, ZipperRow, ZipperTable};
use crate::bench::grid::Grid;
use crate::bench::table::Spread;
use crate::bench::text::spread;
use crate::bench::{grouped, seconds};

/// What a checker does not know.
const NOTHING: &str = "–";

pub(super) fn render(table: &ZipperTable) -> String {
    let mut text = format!(
        "Table 3 of the Zipper paper, for finishline {}\n{}\n",
        env!("CARGO_PKG_VERSION"),
        match table.rounds {
            1 => "1 round".to_owned(),
            rounds => format!("medians of {rounds} rounds"),
        },
    );
    if !table.optimised {
        text += "finishline itself was built without optimisation: these times are not those of a release\n";
    }
    if !table.programs.is_empty() {
        text += &format!(
            "\nThe graph of one run, in milliseconds\n\n{}",
            programs(table).render()
        );
        text += "\nzipper refuses graphs with promises: –\n\
                 the paper's times, in the last columns, are those of its machine, for the program in all orders\n\
                 of its isolated blocks\n";
    }
    if !table.growth.is_empty() {
        text += &format!("\nGraphs that grow\n\n{}", growth(table).render());
        let limit = seconds(table.limit);
        text += &format!("\n–: it would likely take more than {limit}, or too much memory\n");
    }
    text
}

fn programs(table: &ZipperTable) -> Grid {
    let mut grid = Grid::default();
    let heading = [
        "program",
        "nodes",
        "isolation",
        "race",
        "cg",
        "zipper",
        "labels",
        "zipper/cg",
        "spread",
        "labels/cg",
        "spread",
        "paper: cg",
        "zipper",
        "zipper/cg",
    ];
    grid.rows.push(heading.map(str::to_owned).into());
    grid.rule();
    grid.rows.extend(table.programs.iter().map(program));
    grid
}

fn program(row: &ZipperRow) -> Vec<String> {
    let yes = |is: bool| if is { "yes" } else { NOTHING }.to_owned();
    let mut cells = vec![
        row.graph.to_owned(),
        row.nodes.to_string(),
        yes(row.blocks > 0),
        yes(row.races),
    ];
    cells.extend(
        row.seconds
            .map(|time| told(time, |time| milliseconds(time.median * 1e3))),
    );
    for ratio in [row.zipper_to_cg, row.labels_to_cg] {
        cells.push(told(ratio, |ratio| format!("{:.3}", ratio.median)));
        cells.push(told(ratio, |ratio| spread(&ratio)));
    }
    if let Some([cg, zipper]) = row.paper {
        cells.extend([cg.to_string(), zipper.to_string()]);
        cells.push(format!("{:.2}", zipper / cg));
    }
    cells
}

fn growth(table: &ZipperTable) -> Grid {
    let mut grid = Grid::default();
    let mut heading = ["shape", "nodes", "accesses", "blocks"]
        .map(str::to_owned)
        .to_vec();
    heading.extend(CHECKERS.map(str::to_owned));
    heading.push("labels, least..greatest".to_owned());
    grid.rows.push(heading);
    let mut shape = "";
    for row in &table.growth {
        if row.graph != shape {
            grid.rule();
            shape = row.graph;
        }
        let mut cells = vec![row.graph.to_owned()];
        cells.extend([row.nodes, row.accesses, row.blocks].map(grouped));
        cells.extend(
            row.seconds
                .map(|time| told(time, |time| seconds(time.median))),
        );
        let labels = row.seconds[CHECKERS.len() - 1];
        cells.push(told(labels, |time| {
            format!("{}..{}", seconds(time.least), seconds(time.greatest))
        }));
        grid.rows.push(cells);
    }
    grid
}

fn told(value: Option<Spread>, text: impl Fn(Spread) -> String) -> String {
    value.map_or_else(|| NOTHING.to_owned(), text)
}

/// Three digits of large numbers, four decimals of small ones.
fn milliseconds(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.4}"),
    }
}
