//! `finishline bench esp-bags`: the ESP-bags paper's Table 3, for our own system.
//!
//! - `suite`: the twelve programs, and what the paper says of each.
//! - `one`: a single measurement, in a process of its own; `memory` reads what was resident.
//! - `measure`: the rounds of a program, its configurations interleaved.
//! - `table`: from rounds to the figures of the table and its targets, by `arithmetic`.
//!
//! Formats are those of `finishline_report::bench`. A program in which something goes wrong has no row; the others are
//! measured all the same, and the exit status tells.

mod arithmetic;
mod measure;
mod memory;
pub(crate) mod one;
pub(crate) mod suite;
mod table;

use crate::options::EspBagsOptions;
use crate::outcome::{NOTHING_FOUND, PROGRAM_FAILED, Problem, RACE_FOUND, say};
use finishline_model::bench::{BenchFailure, BenchFailureKind, BenchTable};
use finishline_report::bench::{self as report, Format};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::Round;
use one::Configuration;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use suite::{Benchmark, SUITE};

/// A kind of checks: a column of the table.
pub(crate) struct Column {
    configuration: Configuration,
    key: &'static str,
    title: &'static str,
    paper_slowdown: fn(&Benchmark) -> f64,
}

/// To measure another kind of checks, give it a [`Configuration`] and a row here.
pub(crate) static COLUMNS: [Column; 1] = [Column {
    configuration: Configuration::Check,
    key: "all_checks",
    title: "all checks",
    paper_slowdown: |benchmark| benchmark.paper_slowdown,
}];

/// All rounds of a program, or why there are none.
type Measured = (&'static Benchmark, Result<Vec<Round>, BenchFailure>);

pub(crate) fn esp_bags(options: &EspBagsOptions) -> Result<u8, Problem> {
    let files = Files::open(options)?;
    let chosen: Vec<&'static Benchmark> = (SUITE.iter())
        .filter(|benchmark| {
            let mut only = options.only.iter();
            options.only.is_empty() || only.any(|one| one.name == benchmark.name)
        })
        .collect();
    let finishline = std::env::current_exe()
        .map_err(|error| Problem::Usage(format!("can't find finishline itself: {error}")))?;
    let bar = progress_bar(&chosen, options);
    let mut measured = Vec::new();
    for benchmark in chosen {
        let rounds = rounds(&finishline, benchmark, options, &bar);
        measured.push((benchmark, rounds));
    }
    bar.finish_and_clear();

    let table = table::table(options.size, options.runs as usize, measured);
    files.write(&table)?;
    let mut text = Vec::new();
    report::write(&table, Format::Text, &mut text).map_err(Problem::Output)?;
    (io::stdout().lock().write_all(&text)).map_err(Problem::Output)?;
    for failure in &table.failures {
        let (program, kind, message) = (failure.program, failure.kind.word(), &failure.message);
        say(&format!("error: {program}: {kind}: {message}"));
    }
    Ok(exit_status(&table))
}

fn rounds(
    finishline: &Path,
    benchmark: &Benchmark,
    options: &EspBagsOptions,
    bar: &ProgressBar,
) -> Result<Vec<Round>, BenchFailure> {
    let position = bar.position();
    let runs = options.runs;
    let rounds = (1..=runs)
        .map(|number| {
            measure::round(finishline, benchmark, options.size, |configuration| {
                let (name, what) = (benchmark.name, configuration.word());
                bar.set_message(format!("{name}: {what}, round {number} of {runs}"));
                bar.inc(1);
            })
        })
        .collect();
    // Rounds that a failure left out count as done.
    bar.set_position(position + u64::from(runs) * measure::measurements(benchmark) as u64);
    rounds
}

/// On a terminal; it counts measurements, the one under way included.
fn progress_bar(chosen: &[&'static Benchmark], options: &EspBagsOptions) -> ProgressBar {
    let a_round: usize = chosen.iter().copied().map(measure::measurements).sum();
    let target = match options.quiet {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    };
    let total = a_round as u64 * u64::from(options.runs);
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let template = "{bar:24} {pos}/{len} {msg} [{elapsed}, about {eta} to go]";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    // Seldom enough not to disturb what is being measured.
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// A race in a program that has none is worse than a program that failed.
fn exit_status(table: &BenchTable) -> u8 {
    let any = |kind| table.failures.iter().any(|failure| failure.kind == kind);
    if any(BenchFailureKind::Race) {
        RACE_FOUND
    } else if any(BenchFailureKind::Failed) {
        PROGRAM_FAILED
    } else {
        NOTHING_FOUND
    }
}

/// The files to write. They are opened before anything is measured, since afterwards is too late to find that one can't
/// be written; what is in them stays until there is something new.
struct Files<'o>(Vec<(&'o PathBuf, Format, File)>);

impl<'o> Files<'o> {
    fn open(options: &'o EspBagsOptions) -> Result<Self, Problem> {
        let asked = [
            (&options.csv, Format::Csv),
            (&options.json, Format::Json),
            (&options.svg, Format::Svg),
        ];
        let mut files = Vec::new();
        for (path, format) in asked {
            if let Some(path) = path {
                let mut open = OpenOptions::new();
                let file = open.write(true).create(true).truncate(false).open(path);
                let file = file.map_err(|error| Problem::Write(path.clone(), error))?;
                files.push((path, format, file));
            }
        }
        Ok(Files(files))
    }

    fn write(self, table: &BenchTable) -> Result<(), Problem> {
        for (path, format, mut file) in self.0 {
            let mut text = Vec::new();
            report::write(table, format, &mut text)
                // A pipe or a device has no length to set.
                .and_then(|()| match file.metadata()?.is_file() {
                    true => file.set_len(0),
                    false => Ok(()),
                })
                .and_then(|()| file.write_all(&text))
                .map_err(|error| Problem::Write(path.clone(), error))?;
        }
        Ok(())
    }
}
