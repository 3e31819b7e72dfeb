//! The user's request, as read from the command line.

use clap::{Args, ValueEnum};
use finishline_answer::Partition;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

/// One call of `cargo finishline`.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) subcommand: Subcommand,
    pub(crate) options: Options,
    /// Arguments for cargo, before `--`.
    pub(crate) cargo: Vec<OsString>,
    /// Arguments for the program or the tests, after `--`.
    pub(crate) program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Subcommand {
    Run,
    Test,
    /// The tests, started by `cargo nextest`.
    Nextest,
    Build,
    Clean,
}

impl Subcommand {
    /// The name of the subcommand, for cargo and for this tool.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Subcommand::Run => "run",
            Subcommand::Test => "test",
            Subcommand::Nextest => "nextest",
            Subcommand::Build => "build",
            Subcommand::Clean => "clean",
        }
    }

    /// Whether it runs tests.
    pub(crate) const fn tests(self) -> bool {
        matches!(self, Subcommand::Test | Subcommand::Nextest)
    }
}

#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Options {
    /// The form of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,

    /// Write the report to this file; otherwise text goes to standard error, other forms to
    /// standard output, and what the program prints there to standard error
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Leave out the races listed in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) suppressions: Option<PathBuf>,

    /// Fail only for races that are not in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Write the races of this run to this file, for `--baseline`
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,

    /// The most distinct races to report of each process
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) max_races: usize,

    /// How many threads rayon claims to have [default: 16]
    #[arg(long, value_name = "N")]
    pub(crate) logical_threads: Option<NonZeroU32>,

    /// How far parallel iterators are divided
    #[arg(long, value_name = "HOW", default_value = "items")]
    pub(crate) divide: Divide,

    /// Which half of a join is run first; the verdict is the same
    #[arg(long, value_name = "HALF", default_value = "left")]
    pub(crate) first: First,

    /// In how many orders to run tasks where locks, atomics or threads order something [default: 4
    /// for `test`, 1 for `run`]
    #[arg(long, value_name = "N")]
    pub(crate) orders: Option<NonZeroU32>,

    /// Run the tasks in this order alone: that of a report, which names it
    #[arg(long, value_name = "K")]
    pub(crate) order: Option<u32>,

    /// Also report conflicts that locks or atomics order one way or the other
    #[arg(long)]
    pub(crate) determinacy: bool,

    /// How many bytes of freed memory each process keeps, to find uses of it [default: 67108864]
    #[arg(long, value_name = "BYTES")]
    pub(crate) quarantine: Option<u64>,

    /// Show neither progress nor notes
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Colour the text
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,

    /// The file of the trace. An option of `run` alone.
    #[arg(skip)]
    pub(crate) record: Option<PathBuf>,

    /// The time limit of each test. An option of `test` and `nextest`.
    #[arg(skip)]
    pub(crate) timeout: Option<Duration>,

    /// How many tests run at once. An option of `test` alone.
    #[arg(skip)]
    pub(crate) test_threads: Option<NonZeroUsize>,

    /// The part of the tests to run. An option of `test` alone.
    #[arg(skip)]
    pub(crate) partition: Option<Partition>,
}

impl Options {
    /// The options that change what a run shows, as words. Options with their default value are
    /// left out.
    pub(crate) fn of_the_run(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(threads) = self.logical_threads {
            words.push(format!("--logical-threads={threads}"));
        }
        if self.divide == Divide::Threads {
            words.push("--divide=threads".to_owned());
        }
        if self.first == First::Right {
            words.push("--first=right".to_owned());
        }
        if let Some(orders) = self.orders {
            words.push(format!("--orders={orders}"));
        }
        if let Some(order) = self.order {
            words.push(format!("--order={order}"));
        }
        if self.determinacy {
            words.push("--determinacy".to_owned());
        }
        if let Some(bytes) = self.quarantine {
            words.push(format!("--quarantine={bytes}"));
        }
        if let Some(limit) = self.timeout {
            words.push(format!("--timeout={}", limit.as_secs_f64()));
        }
        words
    }

    /// Whether the report goes to standard output. Everything else then goes to standard error.
    pub(crate) fn report_on_standard_output(&self) -> bool {
        self.format != Format::Text && self.output.is_none()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Sarif,
    Html,
    /// For build servers that show tests
    Junit,
}

impl Format {
    /// The same of a report. None for JUnit, which is only about all processes of a command.
    pub(crate) const fn of_report(self) -> Option<finishline_report::Format> {
        match self {
            Format::Text => Some(finishline_report::Format::Text),
            Format::Json => Some(finishline_report::Format::Json),
            Format::Sarif => Some(finishline_report::Format::Sarif),
            Format::Html => Some(finishline_report::Format::Html),
            Format::Junit => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
pub(crate) enum First {
    Left,
    Right,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
pub(crate) enum Divide {
    /// As far as they can be, mostly down to single items
    Items,
    /// As rayon does for its threads if none of them takes work from another
    Threads,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    Always,
    Never,
}

impl Color {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Color::Auto => "auto",
            Color::Always => "always",
            Color::Never => "never",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn options(words: &str) -> Options {
        let words = ["tool"].into_iter().chain(words.split_whitespace());
        Line::try_parse_from(words).expect("options").options
    }

    #[test]
    fn what_changes_a_run_is_repeated_with_it() {
        let of_the_run = |words| options(words).of_the_run().join(" ");
        assert_eq!(of_the_run("--format json -o a --max-races 3 -q"), "");
        assert_eq!(of_the_run("--first left"), "");
        // The package may have set another number.
        let usual = of_the_run("--logical-threads 16");
        assert_eq!(usual, "--logical-threads=16");
        assert_eq!(
            of_the_run(
                "--quarantine 0 --determinacy --order 2 --first right --divide threads --logical-threads 4"
            ),
            "--logical-threads=4 --divide=threads --first=right --order=2 --determinacy --quarantine=0"
        );
    }

    #[test]
    fn standard_output_is_for_reports_that_programs_read() {
        assert!(!options("").report_on_standard_output());
        assert!(options("--format json").report_on_standard_output());
        assert!(!options("--format sarif -o file").report_on_standard_output());
    }
}
