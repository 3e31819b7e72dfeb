//! `finishline bench`: the tables of five papers, measured on this machine.
//!
//! `esp-bags` is the ESP-bags paper's Table 3, and with `--breakdown` its Fig. 14:
//!
//! - `suite`: the twelve programs, and the paper's figures for each.
//! - `one`: a single measurement, in its own process; `memory` reads the resident memory.
//! - `measure`: the rounds of a program, with its configurations interleaved.
//! - `table`: from rounds to the figures of the table and its targets, by `arithmetic`.
//!
//! `prove` is a table of the times that proofs take. `drdp` has the tables of programs with
//! promises. `zipper` compares the checkers of computation graphs. `fastracer` compares detectors
//! on several threads. `process` runs the measurements of `drdp` and `fastracer` within limits, and
//! `under` says what such a measurement runs under.
//!
//! `finishline_report::bench` has the formats. A program that fails has no row. The others are
//! still measured, and the exit status reports the failure.

mod arithmetic;
pub(crate) mod drdp;
pub(crate) mod fastracer;
mod measure;
mod memory;
pub(crate) mod one;
pub(crate) mod options;
mod process;
pub(crate) mod prove;
pub(crate) mod suite;
mod table;
mod under;
pub(crate) mod zipper;

use self::options::EspBagsOptions;
use crate::outcome::{NOTHING_FOUND, PROGRAM_FAILED, Problem, RACE_FOUND, say, shown};
use finishline_model::{Pass, Passes};
use finishline_report::bench::table::{BenchFailure, BenchFailureKind};
use finishline_report::bench::{self as report, Format};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::Round;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use suite::{Benchmark, SUITE};

/// A kind of checks: a column of the table.
pub(crate) struct Column {
    key: String,
    title: String,
    passes: Passes,
    of_breakdown: bool,
    paper_slowdown: Option<fn(&Benchmark) -> f64>,
}

/// The columns of the paper's table, for a breakdown with each pass alone between them. The last
/// column adds proofs, which the paper does not have.
///
/// [ESP-bags §7] The paper always leaves out the checks of sequential code, because they cost much
/// and are easily removed. So do the columns here, except the one that counts all accesses.
fn columns(breakdown: bool) -> Vec<Column> {
    let mut columns = vec![Column {
        key: "all_checks".to_owned(),
        title: "all checks".to_owned(),
        passes: Passes::SEQUENTIAL,
        of_breakdown: false,
        paper_slowdown: Some(|benchmark| benchmark.paper_slowdown),
    }];
    if breakdown {
        let column = |key: &str, title: &str, passes| Column {
            key: key.to_owned(),
            title: title.to_owned(),
            passes,
            of_breakdown: true,
            paper_slowdown: None,
        };
        columns.insert(0, column("full", "every access", Passes::NONE));
        let alone = Passes::ALL.without(Pass::Sequential).iter();
        columns.extend(alone.map(|pass| {
            let key = pass.name().replace('-', "_");
            column(&key, pass.name(), Passes::SEQUENTIAL.with(pass))
        }));
    }
    columns.push(Column {
        key: "optimised".to_owned(),
        title: "optimised".to_owned(),
        passes: Passes::UNPROVED,
        of_breakdown: false,
        paper_slowdown: Some(|benchmark| benchmark.paper_optimised),
    });
    columns.push(Column {
        key: "with_proofs".to_owned(),
        title: "with proofs".to_owned(),
        passes: Passes::ALL,
        of_breakdown: false,
        paper_slowdown: None,
    });
    columns
}

/// All rounds of a program, or why there are none.
type Rounds = (&'static Benchmark, Result<Vec<Round>, BenchFailure>);

pub(crate) fn esp_bags(options: &EspBagsOptions) -> Result<u8, Problem> {
    let files = Files::open(&[
        (&options.csv, Format::Csv),
        (&options.json, Format::Json),
        (&options.svg, Format::Svg),
    ])?;
    let chosen: Vec<&'static Benchmark> = (SUITE.iter())
        .filter(|benchmark| {
            let mut only = options.only.iter();
            options.only.is_empty() || only.any(|one| one.name == benchmark.name)
        })
        .collect();
    let finishline = std::env::current_exe()
        .map_err(|error| Problem::Usage(format!("can't find finishline itself: {error}")))?;
    let columns = columns(options.breakdown);
    let bar = progress_bar(&chosen, &columns, options);
    let mut measured = Vec::new();
    for benchmark in chosen {
        let rounds = rounds(&finishline, benchmark, &columns, options, &bar);
        measured.push((benchmark, rounds));
    }
    bar.finish_and_clear();

    let table = table::table(options.size, options.runs as usize, &columns, measured);
    files.write(|format, out| report::write(&table, format, out))?;
    Ok(told(&table.failures))
}

fn rounds(
    finishline: &Path,
    benchmark: &Benchmark,
    columns: &[Column],
    options: &EspBagsOptions,
    bar: &ProgressBar,
) -> Result<Vec<Round>, BenchFailure> {
    let position = bar.position();
    let runs = options.runs;
    let rounds = (1..=runs)
        .map(|number| {
            measure::round(
                finishline,
                benchmark,
                options.size,
                columns,
                |configuration| {
                    let (name, what) = (benchmark.name, configuration.word());
                    bar.set_message(format!("{name}: {what}, round {number} of {runs}"));
                    bar.inc(1);
                },
            )
        })
        .collect();
    // Rounds that were skipped after a failure count as done.
    bar.set_position(position + u64::from(runs) * measure::measurements(benchmark, columns) as u64);
    rounds
}

/// A progress bar on a terminal. It counts measurements, including the current one.
fn progress_bar(
    chosen: &[&'static Benchmark],
    columns: &[Column],
    options: &EspBagsOptions,
) -> ProgressBar {
    let measurements = chosen.iter().map(|one| measure::measurements(one, columns));
    let a_round: usize = measurements.sum();
    bar(a_round as u64 * u64::from(options.runs), options.quiet)
}

/// A progress bar on a terminal, for so many measurements.
fn bar(total: u64, quiet: bool) -> ProgressBar {
    let target = match quiet {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let template = "{bar:24} {pos}/{len} {msg} [{elapsed}, about {eta} to go]";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    // Drawn seldom, so that it does not disturb the measurement.
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// Tells of the failures, and returns the exit status for them.
fn told(failures: &[BenchFailure]) -> u8 {
    for failure in failures {
        let (program, kind, message) = (failure.program, failure.kind.word(), &failure.message);
        say(&format!("error: {program}: {kind}: {message}"));
    }
    exit_status_of(failures)
}

/// A race in a program without races is worse than a failed program.
fn exit_status_of(failures: &[BenchFailure]) -> u8 {
    let any = |kind| failures.iter().any(|failure| failure.kind == kind);
    if any(BenchFailureKind::Race) {
        RACE_FOUND
    } else if any(BenchFailureKind::Failed) {
        PROGRAM_FAILED
    } else {
        NOTHING_FOUND
    }
}

/// The files to write. They are opened before the measurements, because afterwards it is too late
/// to find that one can't be written. Their old contents stay until there are new ones.
struct Files<'o>(Vec<(&'o PathBuf, Format, File)>);

impl<'o> Files<'o> {
    fn open(asked: &[(&'o Option<PathBuf>, Format)]) -> Result<Self, Problem> {
        let mut files: Vec<(&PathBuf, Format, File)> = Vec::new();
        for (path, format) in asked {
            if let Some(path) = path {
                let mut open = OpenOptions::new();
                let file = open.write(true).create(true).truncate(false).open(path);
                let file = file.map_err(|error| Problem::Write(path.clone(), error))?;
                for (other, _, opened) in &files {
                    if same(opened, &file).map_err(|error| Problem::Write(path.clone(), error))? {
                        let (path, other) = (shown(path), shown(other));
                        let problem =
                            format!("{other} and {path} are one file: each form needs its own");
                        return Err(Problem::Usage(problem));
                    }
                }
                files.push((path, *format, file));
            }
        }
        Ok(Files(files))
    }

    /// Writes the table to the files, and as text to standard output.
    fn write(
        self,
        table: impl Fn(Format, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Problem> {
        for (path, format, mut file) in self.0 {
            let mut text = Vec::new();
            table(format, &mut text)
                // A pipe or a device has no length to set.
                .and_then(|()| match file.metadata()?.is_file() {
                    true => file.set_len(0),
                    false => Ok(()),
                })
                .and_then(|()| file.write_all(&text))
                .map_err(|error| Problem::Write(path.clone(), error))?;
        }
        let mut text = Vec::new();
        table(Format::Text, &mut text).map_err(Problem::Output)?;
        (io::stdout().lock().write_all(&text)).map_err(Problem::Output)
    }
}

/// Whether two names stand for one file. Then writing to one would overwrite the other. Devices and
/// pipes lose nothing.
fn same(one: &File, other: &File) -> io::Result<bool> {
    let (one, other) = (one.metadata()?, other.metadata()?);
    Ok(one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()))
}
