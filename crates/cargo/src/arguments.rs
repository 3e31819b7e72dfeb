//! The command line of `cargo finishline`: our options in any position, and the rest for cargo.
//!
//! clap knows and describes our options, but it can't skip unknown options between them. So the
//! arguments are split first. An option that clap does not know is cargo's, and so is everything
//! from `--` on.

use crate::options::{Options, Request, Subcommand};
use clap::{ArgAction, Args, Command, CommandFactory, FromArgMatches, Parser};
use finishline_answer::Partition;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

const EXIT_STATUSES: &str = "\
Exit status:
  66  a race found, also if the program or a test failed
  3   the program or a test failed
  4   unknown: nothing was parallel, a task waits in vain, no findings
  2   bad usage, a program that does not build, a file that can't be used
  Otherwise nothing was found, and it is that of the program";

/// Runs a Rust program that uses rayon, and tells whether any schedule of this input has a race.
#[derive(Parser)]
#[command(
    name = "cargo finishline",
    bin_name = "cargo finishline",
    version,
    after_help = EXIT_STATUSES,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Choice,
}

#[derive(clap::Subcommand)]
enum Choice {
    /// Build a program, run it and report its races; takes the arguments of `cargo run`
    #[command(after_help = EXIT_STATUSES)]
    Run(RunArguments),
    /// Build the tests, run each in a process of its own and report their races; takes the
    /// arguments of `cargo test`
    #[command(after_help = EXIT_STATUSES)]
    Test(TestArguments),
    /// The same by `cargo nextest`, which has to be installed; takes the arguments of `cargo
    /// nextest`: `run`, and its options
    #[command(after_help = EXIT_STATUSES)]
    Nextest(NextestArguments),
    /// Build without running; takes the arguments of `cargo build`
    Build(Everything),
    /// Remove what was built here, and leave alone what cargo has built without us
    Clean(Everything),
}

#[derive(Args)]
struct RunArguments {
    /// Also write what the program does to this file, for `finishline analyze`
    #[arg(long, value_name = "FILE", conflicts_with = "orders")]
    record: Option<PathBuf>,

    #[command(flatten)]
    everything: Everything,
}

#[derive(Args)]
struct TestArguments {
    /// End each test that takes longer than this; its verdict is then `unknown`
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = parse_seconds)]
    timeout: Option<Duration>,

    /// Run this many tests at once; one for each processor by default. `-j` is cargo's, for what it
    /// builds at once
    #[arg(long, value_name = "N")]
    test_threads: Option<NonZeroUsize>,

    /// Run only part I of N of the tests; `finishline merge` makes one report of the JSON reports
    /// of all parts
    #[arg(long, value_name = "I/N", conflicts_with = "write_baseline")]
    partition: Option<Partition>,

    #[command(flatten)]
    everything: Everything,
}

#[derive(Args)]
struct NextestArguments {
    /// End each test that takes longer than this; its verdict is then `unknown`
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = parse_seconds)]
    timeout: Option<Duration>,

    #[command(flatten)]
    everything: Everything,
}

#[derive(Args)]
struct Everything {
    #[command(flatten)]
    options: Options,

    /// Arguments for cargo
    #[arg(value_name = "CARGO ARGUMENTS")]
    cargo: Vec<OsString>,

    /// Arguments for the program or the tests
    #[arg(last = true, value_name = "ARGUMENTS")]
    program: Vec<OsString>,
}

/// The command line, for manual pages and completions.
pub(crate) fn command_line() -> Command {
    let command = Cli::command().name("cargo-finishline");
    command.bin_name("cargo finishline")
}

/// Reads the command line. For help, versions and mistakes it ends the process.
pub(crate) fn read(mut arguments: Vec<OsString>) -> Request {
    // Cargo starts `cargo-finishline finishline …`.
    if arguments.first().is_some_and(|first| first == "finishline") {
        arguments.remove(0);
    }
    let Split {
        ours,
        cargo,
        program,
    } = split(arguments, &Cli::command());
    let ours = [OsString::from("cargo finishline")].into_iter().chain(ours);
    let cli = Cli::from_arg_matches(&Cli::command().get_matches_from(ours))
        .unwrap_or_else(|error| error.exit());
    let (mut record, mut timeout) = (None, None);
    let (mut test_threads, mut partition) = (None, None);
    let (subcommand, everything) = match cli.command {
        Choice::Run(arguments) => {
            record = arguments.record;
            (Subcommand::Run, arguments.everything)
        }
        Choice::Test(arguments) => {
            (timeout, test_threads) = (arguments.timeout, arguments.test_threads);
            partition = arguments.partition;
            (Subcommand::Test, arguments.everything)
        }
        Choice::Nextest(arguments) => {
            timeout = arguments.timeout;
            (Subcommand::Nextest, arguments.everything)
        }
        Choice::Build(everything) => (Subcommand::Build, everything),
        Choice::Clean(everything) => (Subcommand::Clean, everything),
    };
    Request {
        subcommand,
        options: Options {
            record,
            timeout,
            test_threads,
            partition,
            ..everything.options
        },
        cargo,
        program,
    }
}

/// A time in seconds: 10, 0.5.
fn parse_seconds(word: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = word.parse().ok();
    (seconds.filter(|seconds| *seconds > 0.0))
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "a time limit is a number of seconds, e.g. 10 or 0.5".to_owned())
}

/// The arguments, split by recipient.
#[derive(Debug, Default, PartialEq, Eq)]
struct Split {
    ours: Vec<OsString>,
    cargo: Vec<OsString>,
    program: Vec<OsString>,
}

fn split(arguments: Vec<OsString>, cli: &Command) -> Split {
    let mut split = Split::default();
    let mut arguments = arguments.into_iter();
    let word = arguments.next();
    let command = word
        .as_deref()
        .and_then(|word| word.to_str())
        .and_then(|word| cli.find_subcommand(word));
    split.ours.extend(word);
    // clap answers `help`, `--help`, and a word that is no command.
    let Some(command) = command else {
        split.ours.extend(arguments);
        return split;
    };
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            split.program.extend(arguments.by_ref());
        } else if let Some(takes_value) = known(&argument, command) {
            split.ours.push(argument);
            if takes_value {
                split.ours.extend(arguments.next());
            }
        } else {
            split.cargo.push(argument);
        }
    }
    split
}

/// None if the option is not ours. Otherwise whether its value is the next argument.
fn known(argument: &OsStr, command: &Command) -> Option<bool> {
    let text = argument.to_str()?;
    if matches!(text, "-h" | "--help") {
        return Some(false);
    }
    let (name, has_value) = match text.split_once('=') {
        Some((name, _)) => (name, true),
        None => (text, false),
    };
    let option = command.get_arguments().find(|option| {
        let long = option
            .get_long()
            .is_some_and(|long| name.strip_prefix("--") == Some(long));
        let mut letter = name.strip_prefix('-').into_iter().flat_map(str::chars);
        let short = option.get_short().is_some()
            && letter.next() == option.get_short()
            && letter.next().is_none();
        long || short
    })?;
    Some(matches!(option.get_action(), ArgAction::Set) && !has_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(arguments: &str) -> [String; 3] {
        let arguments = arguments.split(' ').map(OsString::from).collect();
        let Split {
            ours,
            cargo,
            program,
        } = super::split(arguments, &Cli::command());
        [ours, cargo, program].map(|part| {
            let words: Vec<String> = part
                .into_iter()
                .map(|word| word.into_string().expect("text"))
                .collect();
            words.join(" ")
        })
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_are_told_apart_wherever_they_stand() {
        assert_eq!(
            split(
                "test --release --format json -p a -o out.json name --max-races=3 -q -- --exact -q"
            ),
            [
                "test --format json -o out.json --max-races=3 -q",
                "--release -p a name",
                "--exact -q"
            ]
        );
    }

    #[test]
    fn what_is_no_command_is_left_to_clap() {
        assert_eq!(split("help test"), ["help test", "", ""]);
        assert_eq!(split("--help"), ["--help", "", ""]);
        assert_eq!(
            split("run --example x --help"),
            ["run --help", "--example x", ""]
        );
    }
}
