//! `finishline bench fastracer`: Figures 5 and 6 and Tables 1 and 2 of the FastRacer paper,
//! measured on this machine.
//!
//! - `suite`: the twelve programs, their racy twins, and the paper's figures.
//! - `measure`: the rounds of a program, and the races of a twin.
//! - `table`: from rounds to the figures of the tables.
//!
//! The detectors are all that can check a run on several threads. One that has no rule for a
//! construct of a program, is stopped or fails has a word in the place of its figure.

mod measure;
pub(crate) mod suite;
mod table;

use super::process::Limits;
use super::suite::size_word;
use super::under::Under;
use super::{Files, bar, told};
use crate::bench::options::FastRacerOptions;
use crate::outcome::Problem;
use crate::run::all_cores;
use finishline_baseline::Size;
use finishline_engine::executor::on_threads;
use finishline_ir::Module;
use finishline_model::{Detector, Passes};
use finishline_report::bench::Format;
use finishline_report::bench::fastracer as report;
use indicatif::ProgressBar;
use std::num::NonZero;
use std::path::PathBuf;
use suite::{Benchmark, Kind, SUITE};
use table::Found;

/// A detector and a kind of checks: a column of the tables.
struct Configuration {
    key: String,
    title: String,
    detector: Detector,
    passes: Passes,
}

impl Configuration {
    fn under(&self, threads: NonZero<usize>) -> Under {
        Under::Threads(threads, Some((self.detector, self.passes)))
    }
}

/// Every detector for several threads with all checks, and our own also with the checks that
/// `finishline check` makes. All checks are all except those of sequential code.
fn configurations() -> Vec<Configuration> {
    let mut all = Vec::new();
    for detector in Detector::ALL.into_iter().filter(|one| on_threads(*one)) {
        let name = detector.name();
        all.push(Configuration {
            key: name.replace('-', "_"),
            title: name.to_owned(),
            detector,
            passes: Passes::SEQUENTIAL,
        });
        if detector == Detector::Finishline {
            all.push(Configuration {
                key: format!("{name}_default"),
                title: format!("{name}, default"),
                detector,
                passes: Passes::ALL,
            });
        }
    }
    all
}

/// What is measured, and how.
struct Plan<'a> {
    finishline: PathBuf,
    size: Size,
    runs: usize,
    /// 1, and the number of the option unless that is 1.
    threads: Vec<NonZero<usize>>,
    configurations: Vec<Configuration>,
    limits: Limits,
    bar: &'a ProgressBar,
}

pub(crate) fn fastracer(options: &FastRacerOptions) -> Result<u8, Problem> {
    let files = Files::open(&[
        (&options.csv, Format::Csv),
        (&options.json, Format::Json),
        (&options.svg, Format::Svg),
    ])?;
    let chosen = SUITE.iter().filter(|benchmark| {
        let mut only = options.only.iter();
        options.only.is_empty() || only.any(|one| one.name == benchmark.name)
    });
    let compiled = chosen.map(|benchmark| Ok((benchmark, benchmark.compile()?)));
    let chosen: Result<Vec<(&'static Benchmark, Module)>, String> = compiled.collect();
    let chosen = chosen.map_err(Problem::Source)?;
    let finishline = std::env::current_exe()
        .map_err(|error| Problem::Usage(format!("can't find finishline itself: {error}")))?;
    let most = match options.threads {
        Some(threads) => threads,
        None => NonZero::new(all_cores()).unwrap_or(NonZero::<usize>::MIN),
    };
    let mut threads = vec![NonZero::<usize>::MIN, most];
    threads.dedup();

    let bar = bar(0, options.quiet);
    let plan = Plan {
        finishline,
        size: options.size,
        runs: options.runs as usize,
        threads,
        configurations: configurations(),
        limits: Limits::new(options.timeout),
        bar: &bar,
    };
    let steps = |(benchmark, module): &(&'static Benchmark, Module)| {
        measure::measurements(&plan, benchmark, module) as u64
    };
    bar.set_length(chosen.iter().map(steps).sum());
    let mut done = 0;
    let mut found = Vec::new();
    for one in &chosen {
        let (benchmark, module) = one;
        found.push(match benchmark.kind {
            Kind::Clean(_) => Found::Timed(benchmark, measure::timed(&plan, benchmark, module)),
            Kind::Racy(races) => {
                Found::Races(benchmark, races, measure::races(&plan, benchmark, module))
            }
        });
        // What was not tried again counts as done.
        done += steps(one);
        bar.set_position(done);
    }
    bar.finish_and_clear();

    let size = size_word(options.size);
    let table = table::table(size, options.timeout, &plan, found);
    files.write(|format, out| report::write(&table, format, out))?;
    Ok(told(&table.failures))
}
