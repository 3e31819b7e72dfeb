//! Table 3 of the Zipper paper for this tool: the figures, already computed, and their forms.
//! `docs/bench.md` explains the columns and fields.

mod csv;
mod json;
mod svg;
mod text;

use super::Format;
use super::table::{BenchFailure, Spread};
use std::io;

/// The checkers, in the order of all figures.
pub const CHECKERS: [&str; 3] = ["cg", "zipper", "labels"];

/// All figures.
#[derive(Clone, Debug, PartialEq)]
pub struct ZipperTable {
    pub rounds: usize,
    /// Whether Finishline itself was compiled with optimisation. Without it all times are too long.
    pub optimised: bool,
    /// The seconds after which a checker is left out of graphs that grow.
    pub limit: f64,
    pub programs: Vec<ZipperRow>,
    /// Graphs that grow, each shape from small to large.
    pub growth: Vec<ZipperRow>,
    /// Programs without a row, or with a wrong answer.
    pub failures: Vec<BenchFailure>,
}

/// A graph, and the time that each checker takes for it.
#[derive(Clone, Debug, PartialEq)]
pub struct ZipperRow {
    /// The program, or the shape of a graph that grows.
    pub graph: &'static str,
    pub arguments: String,
    pub nodes: u64,
    /// The sum of the sizes of all access sets.
    pub accesses: u64,
    /// Isolated blocks.
    pub blocks: u64,
    /// Whether there is a race in the observed order of isolated blocks.
    pub races: bool,
    /// By checker. None if it refuses the graph, or would take too long.
    pub seconds: [Option<Spread>; CHECKERS.len()],
    pub zipper_to_cg: Option<Spread>,
    pub labels_to_cg: Option<Spread>,
    /// The paper's milliseconds for `cg` and `zipper`.
    pub paper: Option<[f64; 2]>,
}

/// Writes all figures, with a newline at the end.
pub fn write(table: &ZipperTable, format: Format, out: &mut dyn io::Write) -> io::Result<()> {
    let text = match format {
        Format::Text => text::render(table),
        Format::Csv => csv::render(table),
        Format::Json => json::render(table)?,
        Format::Svg => svg::render(table),
    };
    out.write_all(text.as_bytes())
}
