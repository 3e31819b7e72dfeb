//! The command line: commands, options, their help.

use crate::bench::options::{BenchFinOptions, BenchOneOptions, BenchOptions};
use clap::{Args, Parser, Subcommand, ValueEnum};
use finishline_answer::partition::{NoPart, Partition};
use finishline_engine::executor::Executor;
use finishline_engine::explore::order_script::OrderScript;
use finishline_engine::partition::Part;
use finishline_model::checks::NoSuchPass;
use finishline_model::{Detector, Passes};
use finishline_report::{Format, Style, explain};
use std::io::IsTerminal;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const EXIT_STATUSES: &str = "\
Exit status:
  0   nothing found, or nothing but suppressed races
  66  a race found, apparent ones included, also when the program failed afterwards; a deadlock;
      with --determinacy also conflicts that blocks keep apart, and final states that differ
  2   bad usage, source or file
  3   the program failed: a run-time error, an assertion, the memory budget
  4   nothing could be established
  70  detectors disagree, a bug of Finishline";

const ANALYZE_STATUSES: &str = "\
Exit status:
  66  a race found, apparent ones included, also when the program failed afterwards; a deadlock;
      with --determinacy also conflicts that locks or atomics order
  2   bad usage, file or trace
  3   the program failed
  4   nothing could be established
  70  detectors disagree, a bug of Finishline
  Otherwise nothing was found: 0, or of a Rust program its own";

const PROOF_STATUSES: &str = "\
Exit status:
  0   proved
  66  a race found
  2   bad usage, source or file
  4   neither could be established";

const GRAPH_STATUSES: &str = "\
Exit status:
  0   the picture was written, with races or without
  2   bad usage, source, file or trace
  3   the program failed; the picture has what it did up to there
  4   the graph could not be made";

/// Tells whether a task-parallel program can depend on its schedule.
#[derive(Parser)]
#[command(name = "finishline", version, after_help = EXIT_STATUSES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a program, without checking
    Run(RunOptions),
    /// Run a program and tell whether any schedule of this input has a race
    #[command(after_help = EXIT_STATUSES)]
    Check(CheckOptions),
    /// Run a program in every order of its isolated blocks that can differ, and tell whether any
    /// schedule of this input has a race
    #[command(after_help = EXIT_STATUSES)]
    Explore(ExploreOptions),
    /// Run a program and write a trace of it to a file, to be judged later by `analyze`
    #[command(after_help = EXIT_STATUSES)]
    Record(RecordOptions),
    /// Tell whether any schedule of a recorded run's input has a race
    #[command(after_help = ANALYZE_STATUSES)]
    Analyze(AnalyzeOptions),
    /// Run a program, or take a recorded run, and draw its computation graph with its races
    #[command(after_help = GRAPH_STATUSES)]
    Graph(GraphOptions),
    /// Put the parts of an exploration or of an analysis together
    #[command(after_help = EXIT_STATUSES)]
    Merge(MergeOptions),
    /// Tell, without running a program, whether any schedule of any input has a race
    #[command(after_help = PROOF_STATUSES)]
    Prove(ProveOptions),
    /// Show which accesses of a program are checked, and why the others are not
    #[command(after_help = EXIT_STATUSES)]
    ExplainChecks(ExplainChecksOptions),
    /// Measure what checking costs
    #[command(after_help = EXIT_STATUSES)]
    Bench(BenchOptions),
    /// One measurement of `bench`, as JSON
    #[command(hide = true)]
    BenchOne(BenchOneOptions),
    /// One measurement of `bench drdp` or `bench fastracer`, as JSON
    #[command(hide = true)]
    BenchFin(BenchFinOptions),
    /// List the detectors and their guarantees
    Detectors(DetectorsOptions),
    /// Explain an error code or a verdict
    Explain(ExplainOptions),
    /// Write manual pages and shell completions for both commands
    Pages(PagesOptions),
}

/// A program, its arguments and what it may use.
#[derive(Args)]
pub(crate) struct ProgramOptions {
    /// The program, a Fin source file
    #[arg(value_name = "FILE.fin")]
    pub(crate) file: PathBuf,

    /// Arguments of the program's `main`
    #[arg(value_name = "ARGS", allow_negative_numbers = true)]
    pub(crate) arguments: Vec<String>,

    /// Memory the program may use, e.g. 512M or 4G
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "4G",
        allow_hyphen_values = true,
        value_parser = parse_size
    )]
    pub(crate) memory: u64,

    /// Run the program by the reference interpreter, instead of compiling it
    #[arg(long)]
    pub(crate) interpret: bool,

    #[command(flatten)]
    pub(crate) terminal: TerminalOptions,
}

#[derive(Clone, Copy, Args)]
pub(crate) struct TerminalOptions {
    /// Colour the text
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,

    /// Show no progress and no notes
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

#[derive(Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) program: ProgramOptions,

    /// Run on this many threads; without it there is one for each processor
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_jobs)]
    pub(crate) threads: Option<NonZero<usize>>,
}

#[derive(Args)]
pub(crate) struct CheckOptions {
    #[command(flatten)]
    pub(crate) program: ProgramOptions,

    /// Check while the program runs on this many threads; auto takes finishline then
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        allow_hyphen_values = true,
        value_parser = parse_jobs
    )]
    pub(crate) threads: NonZero<usize>,

    /// The detector: sp-bags, esp-bags, drdp, spd3, ptracer, c-racer, fasttrack, fastracer,
    /// finishline or oracle; auto takes the cheapest with the strongest guarantee, all compares
    /// them with the oracle
    #[arg(long, value_name = "D", default_value = "auto", value_parser = parse_choice)]
    pub(crate) detector: Choice,

    #[command(flatten)]
    pub(crate) checks: ChecksOptions,

    #[command(flatten)]
    pub(crate) races: RacesOptions,

    /// Also list the conflicts that only isolated blocks or locks keep apart: no races, but which
    /// access comes first is up to the schedule
    #[arg(long)]
    pub(crate) determinacy: bool,

    /// List every access to this location, named as a report names it: 'B[3]', p.x, total
    #[arg(long, value_name = "LOCATION")]
    pub(crate) watch: Option<String>,

    /// Run the isolated and locked blocks in this order, as `explore` writes it: the task of each
    /// block, main or spawn indices as in 0.2, with *3 for three blocks
    #[arg(long, value_name = "TASKS")]
    pub(crate) schedule: Option<OrderScript>,

    #[command(flatten)]
    pub(crate) report: ReportOptions,
}

/// Which races are reported.
#[derive(Args)]
pub(crate) struct RacesOptions {
    /// The most distinct races to report [default: 20]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        value_parser = parse_count
    )]
    max_races: Option<usize>,

    /// Leave out the races listed in this file, by race:FUNCTION, FILE:LINE or the name of a
    /// location or object
    #[arg(long, value_name = "FILE")]
    pub(crate) suppressions: Option<PathBuf>,
}

impl RacesOptions {
    pub(crate) fn max_races(&self) -> usize {
        self.max_races.unwrap_or(20)
    }

    /// The number, if it was given.
    pub(crate) fn wanted_races(&self) -> Option<usize> {
        self.max_races
    }
}

/// The report, and where it goes.
#[derive(Args)]
pub(crate) struct ReportOptions {
    /// The form of the report: text, json, sarif or html
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = parse_format)]
    pub(crate) format: Format,

    /// Write the report to this file; otherwise text goes to standard error, other forms to
    /// standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ExploreOptions {
    #[command(flatten)]
    pub(crate) program: ProgramOptions,

    /// Which orders are run: optimal (one of several that do the same) or none (all)
    #[arg(long, value_name = "REDUCTION", default_value = "optimal")]
    pub(crate) reduction: ReductionChoice,

    /// Go on after the first race, to find all
    #[arg(long)]
    pub(crate) all: bool,

    /// Also tell whether the order decides in which state the program ends, with two orders that
    /// differ
    #[arg(long)]
    pub(crate) determinacy: bool,

    /// The most orders to run
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000_000,
        allow_hyphen_values = true,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(crate) max_orders: u64,

    /// The most isolated and locked blocks of an order
    #[arg(
        long,
        value_name = "N",
        default_value = "10000",
        allow_hyphen_values = true,
        value_parser = parse_count
    )]
    pub(crate) max_blocks: usize,

    /// The time for the exploration; without it there is no limit
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = parse_seconds)]
    pub(crate) timeout: Option<Duration>,

    /// Explore on this many threads; without it there is one for each processor
    #[arg(long, short, value_name = "N", allow_hyphen_values = true, value_parser = parse_jobs)]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// Explore only part I of N, and write what is found to the file of -o, for `merge`
    #[arg(long, value_name = "I/N", value_parser = parse_part, requires = "output")]
    pub(crate) partition: Option<Part>,

    /// Note what is explored in this file now and then; if the exploration is interrupted, the same
    /// command goes on from there
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) races: RacesOptions,

    #[command(flatten)]
    pub(crate) report: ReportOptions,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReductionChoice {
    /// One of several orders that do the same
    Optimal,
    /// All orders
    None,
}

#[derive(Args)]
pub(crate) struct RecordOptions {
    #[command(flatten)]
    pub(crate) program: ProgramOptions,

    #[command(flatten)]
    pub(crate) checks: ChecksOptions,

    /// Write the trace to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Args)]
pub(crate) struct AnalyzeOptions {
    /// The trace, a file that `record` or `cargo finishline run --record` has written
    #[arg(value_name = "RUN.trace")]
    pub(crate) file: PathBuf,

    /// The detector: sp-bags, esp-bags, drdp, spd3, ptracer, c-racer, fasttrack, fastracer,
    /// finishline or oracle; auto takes the one that `check` would take, all compares them with the
    /// oracle
    #[arg(long, value_name = "D", default_value = "auto", value_parser = parse_choice)]
    pub(crate) detector: Choice,

    /// Judge only part I of N of the locations, and write what is found to the file of -o, for
    /// `merge`
    #[arg(long, value_name = "I/N", value_parser = parse_part, requires = "output")]
    pub(crate) partition: Option<Part>,

    /// Also report conflicts that locks or atomics order one way or the other, of a native program
    #[arg(long)]
    pub(crate) determinacy: bool,

    #[command(flatten)]
    pub(crate) races: RacesOptions,

    #[command(flatten)]
    pub(crate) report: ReportOptions,

    #[command(flatten)]
    pub(crate) terminal: TerminalOptions,
}

#[derive(Args)]
pub(crate) struct MergeOptions {
    /// The parts, files that `--partition` has written: each of them once. Of tests, the reports
    /// that `cargo finishline test --partition I/N --format json` has written
    #[arg(value_name = "PARTS", required = true)]
    pub(crate) parts: Vec<PathBuf>,

    /// Explore on this many threads what no part knew of; one for each processor by default
    #[arg(long, short, value_name = "N", allow_hyphen_values = true, value_parser = parse_jobs)]
    pub(crate) jobs: Option<NonZero<usize>>,

    #[command(flatten)]
    pub(crate) races: RacesOptions,

    /// The form of the report: text, json, sarif or html; of tests also junit
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        value_parser = parse_merged_format
    )]
    pub(crate) format: MergedFormat,

    /// Write the report to this file; otherwise text goes to standard error, other forms to
    /// standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) terminal: TerminalOptions,
}

/// The form of a merged report.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergedFormat {
    Any(Format),
    /// Only of tests.
    Junit,
}

#[derive(Args)]
pub(crate) struct GraphOptions {
    #[command(flatten)]
    pub(crate) program: ProgramOptions,

    /// Write the picture to this file; its extension decides the form: .svg, .html, .dot or .json
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Draw tasks and finishes, one in another, instead of the graph
    #[arg(long)]
    pub(crate) tree: bool,

    /// The most nodes to draw; beyond that like nodes are drawn as one
    #[arg(
        long,
        value_name = "N",
        default_value = "200",
        allow_hyphen_values = true,
        value_parser = parse_count
    )]
    pub(crate) max_nodes: usize,

    #[command(flatten)]
    pub(crate) races: RacesOptions,
}

#[derive(Args)]
pub(crate) struct ProveOptions {
    /// The program, a Fin source file
    #[arg(value_name = "FILE.fin")]
    pub(crate) file: PathBuf,

    /// There are none: `prove` refuses them with a reason
    #[arg(hide = true, allow_negative_numbers = true)]
    pub(crate) arguments: Vec<String>,

    /// The time for each kernel; one that takes longer is unknown
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "10",
        allow_hyphen_values = true,
        value_parser = parse_seconds
    )]
    pub(crate) timeout: Duration,

    /// Also list who wrote what each read reads, writes that nobody reads and reads of what nobody
    /// wrote; json always does
    #[arg(long)]
    pub(crate) sources: bool,

    /// The most distinct races to report
    #[arg(
        long,
        value_name = "N",
        default_value = "20",
        allow_hyphen_values = true,
        value_parser = parse_count
    )]
    pub(crate) max_races: usize,

    /// The form of the report: text, json, sarif or html
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = parse_format)]
    pub(crate) format: Format,

    /// Write the report to this file; otherwise text goes to standard error, other forms to
    /// standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) terminal: TerminalOptions,
}

/// Which checks are left out.
#[derive(Args)]
pub(crate) struct ChecksOptions {
    /// Which accesses are checked: full (every one), sequential (not those of sequential code),
    /// optimised (none that can be done without), unproved (the same without proofs), or some of
    /// the passes, with commas between. Only the cost differs
    #[arg(
        long = "checks",
        value_name = "CHECKS",
        default_value = "optimised",
        value_parser = parse_passes
    )]
    pub(crate) passes: Passes,
}

#[derive(Args)]
pub(crate) struct ExplainChecksOptions {
    /// The program, a Fin source file
    #[arg(value_name = "FILE.fin")]
    pub(crate) file: PathBuf,

    /// Arguments of the program's `main`, for which accesses may be proved free of races; without
    /// them none is
    #[arg(value_name = "ARGS", allow_negative_numbers = true)]
    pub(crate) arguments: Vec<String>,

    #[command(flatten)]
    pub(crate) checks: ChecksOptions,

    /// Explain the checks of the reference interpreter, instead of those of compiled code
    #[arg(long)]
    pub(crate) interpret: bool,

    /// text (the source, marked) or json
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = parse_explain_format)]
    pub(crate) format: explain::Format,

    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Colour the text
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
}

#[derive(Args)]
pub(crate) struct DetectorsOptions {
    /// text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    pub(crate) format: String,
}

#[derive(Args)]
pub(crate) struct ExplainOptions {
    /// An error code such as E0303, or a verdict such as certified-order; none lists them all
    pub(crate) code: Option<String>,
}

#[derive(Args)]
pub(crate) struct PagesOptions {
    /// Where `man` and shells look for theirs, e.g. ~/.local/share
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

/// Which detector answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Auto,
    All,
    One(Detector),
}

fn parse_choice(word: &str) -> Result<Choice, String> {
    match word {
        "auto" => Ok(Choice::Auto),
        "all" => Ok(Choice::All),
        _ => Detector::from_name(word).map(Choice::One).ok_or_else(|| {
            let names = Detector::ALL.map(Detector::name).join(", ");
            format!("the detectors are auto, all, {names}")
        }),
    }
}

fn parse_passes(words: &str) -> Result<Passes, NoSuchPass> {
    words.parse()
}

fn parse_format(word: &str) -> Result<Format, String> {
    Format::from_name(word).ok_or_else(|| {
        format!(
            "the formats are {}",
            Format::ALL.map(Format::name).join(", ")
        )
    })
}

fn parse_merged_format(word: &str) -> Result<MergedFormat, String> {
    match word {
        "junit" => Ok(MergedFormat::Junit),
        _ => parse_format(word).map(MergedFormat::Any),
    }
}

/// How many: 0, 20.
pub(crate) fn parse_count(word: &str) -> Result<usize, String> {
    let count = word.parse();
    count.map_err(|_| format!("a whole number from 0 to {} is needed", usize::MAX))
}

/// The most threads that run a program or explore.
const MOST_JOBS: usize = 1024;

pub(crate) fn parse_jobs(word: &str) -> Result<NonZero<usize>, String> {
    let jobs: Option<NonZero<usize>> = word.parse().ok();
    (jobs.filter(|jobs| jobs.get() <= MOST_JOBS))
        .ok_or_else(|| format!("a whole number from 1 to {MOST_JOBS} is needed"))
}

/// A part: 3/8 is the third of eight.
fn parse_part(word: &str) -> Result<Part, String> {
    let part: Partition = word.parse().map_err(|error: NoPart| error.to_string())?;
    Ok(Part {
        number: part.number - 1,
        of: part.of,
    })
}

/// A time in seconds: 10, 0.5.
pub(crate) fn parse_seconds(word: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = word.parse().ok();
    (seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()))
        .ok_or_else(|| "a time is a number of seconds, 0 or more, e.g. 10 or 0.5".to_owned())
}

fn parse_explain_format(word: &str) -> Result<explain::Format, String> {
    explain::Format::from_name(word).ok_or_else(|| {
        let names = explain::Format::ALL.map(explain::Format::name);
        format!("the formats are {}", names.join(", "))
    })
}

/// A number of bytes: 1000000, 64K, 512M, 4G.
fn parse_size(word: &str) -> Result<u64, String> {
    let (digits, shift) = match word.char_indices().last() {
        Some((at, 'K' | 'k')) => (&word[..at], 10),
        Some((at, 'M' | 'm')) => (&word[..at], 20),
        Some((at, 'G' | 'g')) => (&word[..at], 30),
        _ => (word, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        let message = "a size is a number of bytes, e.g. 1000000, 64K, 512M or 4G";
        return Err(message.to_owned());
    }
    // A word of digits is wrong only if it has too many.
    let number: Option<u64> = digits.parse().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("a size is at most {}G", u64::MAX >> 30))
}

impl ProgramOptions {
    pub(crate) fn executor(&self) -> Executor {
        executor(self.interpret)
    }

    /// The unit of a run's progress.
    pub(crate) fn unit_of_progress(&self) -> &'static str {
        match self.executor() {
            Executor::Compiled => "tasks",
            Executor::Interpreted => "steps",
        }
    }
}

impl ExplainChecksOptions {
    pub(crate) fn executor(&self) -> Executor {
        executor(self.interpret)
    }
}

fn executor(interpret: bool) -> Executor {
    match interpret {
        true => Executor::Interpreted,
        false => Executor::Compiled,
    }
}

impl When {
    /// The style of text on standard error.
    pub(crate) fn on_standard_error(self) -> Style {
        self.style(std::io::stderr().is_terminal())
    }

    /// The style of text on standard output.
    pub(crate) fn on_standard_output(self) -> Style {
        self.style(std::io::stdout().is_terminal())
    }

    fn style(self, terminal: bool) -> Style {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let plain = dumb || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = match self {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && !plain,
        };
        Style {
            color,
            ..Style::default()
        }
    }
}
