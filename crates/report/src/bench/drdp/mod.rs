//! The tables of the DRDP paper's section 5, for this tool: the figures, already computed, and
//! their forms. `docs/bench.md` explains the columns and fields.
//!
//! ```text
//! Table 2   times and memory without checks, with all, with the default ones, and under DRDP
//! Table 3   how many tasks DRDP visits, by the order in which it walks
//! Table 4   what leaving out redundant checks saves
//! Table 5   matmul beside ThreadSanitizer
//! ```

mod csv;
mod json;
mod text;

use super::Format;
use super::svg::{self, Bar, Chart, Column};
use super::table::{BenchFailure, Checked, Cost, Overall, Spread, Target};
use std::io;

/// All figures.
#[derive(Clone, Debug, PartialEq)]
pub struct DrdpTable {
    /// `small`, `medium` or `paper`.
    pub size: &'static str,
    pub rounds: usize,
    /// Whether Finishline itself was compiled with optimisation. Without it all times are too long.
    pub optimised: bool,
    /// The number of programs in the suite.
    pub suite: usize,
    pub programs: Vec<DrdpRow>,
    /// The slowdowns over all programs with all checks, and with the default ones. None if there is
    /// no program.
    pub overall: Option<[Overall; 2]>,
    pub traversals: Vec<TraversalRow>,
    pub twin: Twin,
    /// The targets that the measurements are compared with.
    pub targets: Vec<Target>,
    /// Programs without a row, because something went wrong.
    pub failures: Vec<BenchFailure>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DrdpRow {
    pub program: &'static str,
    pub arguments: String,
    /// Tasks created, without `main`.
    pub tasks: u64,
    pub baseline: Cost,
    pub all_checks: Ours,
    pub default: Ours,
    /// The same program under DRDP, or why there are no figures.
    pub drdp: Result<UnderDrdp, String>,
    pub paper_slowdown: f64,
    pub paper_memory_ratio: f64,
}

/// Under our detector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ours {
    pub checked: Checked,
    /// The questions about order that no limit answered, and the comparisons that they took.
    pub questions: u64,
    pub comparisons: u64,
}

impl Ours {
    /// Comparisons for each question. None without questions.
    pub fn comparisons_each(&self) -> Option<f64> {
        (self.questions > 0).then(|| self.comparisons as f64 / self.questions as f64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnderDrdp {
    pub checked: Checked,
    /// Locations checked.
    pub reads: u64,
    pub writes: u64,
    /// Of the structure tree.
    pub height: u32,
    pub tree_joins: u64,
    pub non_tree_joins: u64,
}

/// A program under DRDP with one order of walking.
#[derive(Clone, Debug, PartialEq)]
pub struct TraversalRow {
    pub program: &'static str,
    pub arguments: String,
    /// `dfs-back`, `dfs-front`, `bfs-back` or `bfs-front`.
    pub traversal: &'static str,
    pub walks: u64,
    /// The tasks that a walk visits: at least, at most, and on average.
    pub least: u64,
    pub most: u64,
    pub average: f64,
    /// The average in the paper, for its input.
    pub paper_average: f64,
}

/// Matmul beside ThreadSanitizer.
#[derive(Clone, Debug, PartialEq)]
pub enum Twin {
    Measured {
        arguments: String,
        rows: Vec<TwinRow>,
    },
    /// Why it was not measured.
    Missing(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct TwinRow {
    /// `Rust`, `ThreadSanitizer`, `Fin`, `finishline`.
    pub tool: &'static str,
    pub seconds: Spread,
    pub memory_bytes: u64,
    /// Over the same program without checks.
    pub slowdown: Option<Spread>,
    pub memory_ratio: Option<f64>,
}

/// Writes the whole table, with a newline at its end.
pub fn write(table: &DrdpTable, format: Format, out: &mut dyn io::Write) -> io::Result<()> {
    let text = match format {
        Format::Text => text::render(table),
        Format::Csv => csv::render(table),
        Format::Json => json::render(table)?,
        Format::Svg => chart(table),
    };
    out.write_all(text.as_bytes())
}

/// [DRDP Fig. 11] The slowdowns.
fn chart(table: &DrdpTable) -> String {
    let columns = table.overall.iter().flat_map(|[all, default]| {
        [
            ("all", "all checks", all),
            ("with-proofs", "default", default),
        ]
    });
    let columns = columns.map(|(color, title, overall)| Column {
        color: color.to_owned(),
        title: title.to_owned(),
        geometric_mean: Some(overall.geometric_mean),
    });
    let programs = table.programs.iter().map(|row| {
        let bars = [
            (&row.all_checks, Some(row.paper_slowdown)),
            (&row.default, None),
        ];
        let bars = bars.map(|(ours, paper)| {
            Ok(Bar {
                slowdown: ours.checked.slowdown,
                paper,
            })
        });
        (row.program, bars.into())
    });
    svg::draw(&Chart {
        title: format!(
            "What checking promises costs: slowdowns at size {}",
            table.size
        ),
        columns: columns.collect(),
        programs: programs.collect(),
        paper: Some("the DRDP paper, at its own size"),
    })
}
