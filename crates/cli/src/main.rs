//! The command `finishline`.
//!
//! Only this crate reads arguments, the environment and the files that the user names. Each command
//! is a file. The commands share [`options`], [`program`] (reads and compiles a file),
//! [`destination`] (where reports go) and [`outcome`] (exit statuses).

#![forbid(unsafe_code)]

mod analyze;
mod bench;
mod check;
mod checkpoint;
mod destination;
mod detectors;
mod explain;
mod explain_checks;
mod explore;
mod graph;
mod merge;
mod options;
mod outcome;
mod pages;
mod part;
mod pieces;
mod program;
mod progress;
mod proofs;
mod prove;
mod record;
mod run;

use bench::options::BenchTable;
use clap::Parser;
use options::{Cli, Command};
use outcome::Problem;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse_from(std::env::args_os().map(plain_if_negative));
    let result = match cli.command {
        Command::Run(options) => run::run(&options),
        Command::Check(options) => check::check(&options),
        Command::Explore(options) => explore::explore(&options),
        Command::Record(options) => record::record(&options),
        Command::Analyze(options) => analyze::analyze(&options),
        Command::Graph(options) => graph::graph(&options),
        Command::Merge(options) => merge::merge(&options),
        Command::Prove(options) => prove::prove(&options),
        Command::ExplainChecks(options) => explain_checks::explain_checks(&options),
        Command::Bench(options) => match options.table {
            BenchTable::EspBags(options) => bench::esp_bags(&options),
            BenchTable::Prove(options) => bench::prove::prove(&options),
            BenchTable::Drdp(options) => bench::drdp::drdp(&options),
            BenchTable::Zipper(options) => bench::zipper::zipper(&options),
            BenchTable::FastRacer(options) => bench::fastracer::fastracer(&options),
        },
        Command::BenchOne(options) => bench::one::one(&options),
        Command::BenchFin(options) => bench::one::one_of_fin(&options),
        Command::Detectors(options) => detectors::detectors(&options),
        Command::Explain(options) => explain::explain(&options),
        Command::Pages(options) => pages::pages(&options),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(problem) if problem.is_broken_pipe() => ExitCode::from(outcome::NOTHING_FOUND),
        Err(problem) => {
            Problem::print(&problem);
            ExitCode::from(outcome::BAD_USAGE)
        }
    }
}

/// A negative number in Fin's notation, such as `-0x10`, in plain digits. Otherwise it would be
/// read as options.
fn plain_if_negative(word: OsString) -> OsString {
    let text = word.to_str().filter(|text| text.starts_with('-'));
    let plain = text.and_then(finishline_fin::plain_number);
    plain.map_or(word, OsString::from)
}
