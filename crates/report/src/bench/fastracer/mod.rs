//! The tables of the FastRacer paper's section 5, for this tool: the figures, already computed, and
//! their forms. `docs/bench.md` explains the columns and fields.
//!
//! ```text
//! Fig. 5    the slowdown of each detector, here on one thread and on several
//! Fig. 6    how much faster several threads are than one, without checks and with
//! Table 1   memory
//! Table 2   tasks, accesses, and the races that each detector finds
//! ```

mod csv;
mod json;
mod text;

use super::Format;
use super::svg::{self, Bar, Chart, Column};
use super::table::{BenchFailure, Checked, Cost, Overall, Spread};
use std::io;

/// All figures.
#[derive(Clone, Debug, PartialEq)]
pub struct FastRacerTable {
    /// `small`, `A`, `B` or `C`.
    pub size: &'static str,
    pub rounds: usize,
    /// Whether Finishline itself was compiled with optimisation. Without it all times are too long.
    pub optimised: bool,
    /// The numbers of threads: 1, and that of the option unless it is 1.
    pub threads: Vec<usize>,
    /// The seconds after which a run is stopped.
    pub limit: f64,
    /// The detectors, each with a kind of checks.
    pub columns: Vec<DetectorColumn>,
    pub programs: Vec<FastRacerRow>,
    pub racy: Vec<RacyRow>,
    /// Programs without a row, and detectors that are wrong or broke.
    pub failures: Vec<BenchFailure>,
}

/// A detector with a kind of checks.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectorColumn {
    /// The name in files: `spd3`.
    pub key: String,
    /// The heading for people.
    pub title: String,
    pub detector: &'static str,
    /// The passes, as `--checks` takes them.
    pub checks: String,
    /// For each number of threads. None if no program has figures.
    pub means: Vec<Option<Means>>,
    /// The mean slowdown in the paper, on its 16 threads.
    pub paper_slowdown: Option<f64>,
}

/// Geometric means over the programs that have figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    pub programs: usize,
    pub slowdown: Overall,
    /// Of the programs that have a time on one thread too.
    pub speedup: Option<f64>,
    /// Of the programs that use enough memory for a ratio.
    pub memory_ratio: Option<f64>,
}

/// A program without races.
#[derive(Clone, Debug, PartialEq)]
pub struct FastRacerRow {
    pub program: &'static str,
    /// Tasks created, without `main`, and accesses checked with all checks. None if that is not
    /// known.
    pub tasks: Option<u64>,
    pub accesses: Option<u64>,
    /// One for each number of threads.
    pub on: Vec<OnThreads>,
}

/// The figures of a program on some number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct OnThreads {
    pub unchecked: Cost,
    /// The unchecked time on one thread divided by that on these.
    pub speedup: Spread,
    /// One for each column.
    pub checked: Vec<Result<UnderDetector, NoFigures>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnderDetector {
    pub checked: Checked,
    /// The checked time on one thread divided by that on these. None if there is no time on one.
    pub speedup: Option<Spread>,
    /// The ratio in the paper.
    pub paper_memory_ratio: Option<f64>,
}

/// Why a detector has no figures for a program.
#[derive(Clone, Debug, PartialEq)]
pub struct NoFigures {
    pub kind: Missing,
    /// In a sentence.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It was stopped because it took too long.
    Timeout,
    /// It took too much memory.
    Memory,
    /// The detector has no rule for a construct of the program.
    Unsupported,
    /// It found a race in a program that has none.
    Race,
    /// The program or the detector broke.
    Failed,
}

impl Missing {
    /// The word in tables and files.
    pub const fn word(self) -> &'static str {
        match self {
            Missing::Timeout => "timeout",
            Missing::Memory => "memory",
            Missing::Unsupported => "unsupported",
            Missing::Race => "race",
            Missing::Failed => "failed",
        }
    }
}

/// A program with races.
#[derive(Clone, Debug, PartialEq)]
pub struct RacyRow {
    pub program: &'static str,
    /// The number of races in the paper, on its input.
    pub paper_races: Option<u64>,
    /// The distinct locations that race: for each number of threads, by column.
    pub locations: Vec<Vec<Result<u64, NoFigures>>>,
    /// What `finishline check` finds on one thread.
    pub serial: Result<SerialRaces, NoFigures>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialRaces {
    pub locations: u64,
    /// Distinct races: pairs of places in the source.
    pub distinct: u64,
}

/// Writes the whole table, with a newline at its end.
pub fn write(table: &FastRacerTable, format: Format, out: &mut dyn io::Write) -> io::Result<()> {
    let text = match format {
        Format::Text => text::render(table),
        Format::Csv => csv::render(table),
        Format::Json => json::render(table)?,
        Format::Svg => chart(table),
    };
    out.write_all(text.as_bytes())
}

/// The classes that colour the columns, again from the first if there are more columns.
const COLORS: [&str; 8] = [
    "all",
    "read-only",
    "contexts",
    "task-local",
    "ranges",
    "optimised",
    "dominated",
    "full",
];

/// [FastRacer Fig. 5] The slowdowns on the greatest number of threads.
fn chart(table: &FastRacerTable) -> String {
    let columns = table.columns.iter().zip(COLORS.into_iter().cycle());
    let columns = columns.map(|(column, color)| Column {
        color: color.to_owned(),
        title: column.title.clone(),
        geometric_mean: (column.means.last().copied().flatten())
            .map(|means| means.slowdown.geometric_mean),
    });
    let programs = table.programs.iter().filter_map(|row| {
        let bars = row.on.last()?.checked.iter().map(|one| match one {
            Ok(under) => Ok(Bar {
                slowdown: under.checked.slowdown,
                paper: None,
            }),
            Err(why) => Err(why.kind.word()),
        });
        Some((row.program, bars.collect()))
    });
    let threads = table.threads.last().copied().unwrap_or(1);
    svg::draw(&Chart {
        title: format!(
            "What checking costs on {}: slowdowns at size {}",
            threads_in_words(threads),
            table.size
        ),
        columns: columns.collect(),
        programs: programs.collect(),
        paper: None,
    })
}

/// `1 thread`, `2 threads`.
fn threads_in_words(threads: usize) -> String {
    match threads {
        1 => "1 thread".to_owned(),
        many => format!("{many} threads"),
    }
}
