//! `finishline bench drdp`: Tables 2 to 5 of the DRDP paper, measured on this machine.
//!
//! - `suite`: the seven programs, their inputs, and the paper's figures for each.
//! - `measure`: the rounds of a program.
//! - `table`: from rounds to the figures of the tables and their targets.
//! - `twin`: matmul in Rust, plain and under ThreadSanitizer.
//!
//! A run under DRDP takes long and much memory. One that passes the limits is stopped, and the
//! table says so. At the paper's size it is measured once.

mod measure;
pub(crate) mod suite;
mod table;
mod twin;

use super::{Files, told};
use crate::bench::options::DrdpOptions;
use crate::bench::process::Limits;
use crate::outcome::Problem;
use crate::progress;
use finishline_report::bench::Format;
use finishline_report::bench::drdp as report;
use suite::{Benchmark, SUITE};

pub(crate) fn drdp(options: &DrdpOptions) -> Result<u8, Problem> {
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
    let limits = Limits::new(options.timeout);
    let table = progress::timed(options.quiet, "measuring", || {
        let mut rounds = Vec::new();
        let mut traversals = Vec::new();
        for benchmark in chosen {
            rounds.push((
                benchmark,
                measure::rounds(&finishline, benchmark, options, limits),
            ));
            traversals.extend(measure::traversals(
                &finishline,
                benchmark,
                options.size,
                limits,
            ));
        }
        let twin = twin::measure(&finishline, options.size, options.runs, limits);
        table::table(
            options.size,
            options.runs as usize,
            rounds,
            traversals,
            twin,
        )
    });
    files.write(|format, out| report::write(&table, format, out))?;
    Ok(told(&table.failures))
}
