//! `finishline bench-one` and `finishline bench-fin`: one measurement in its own process, printed
//! as one line of JSON.
//!
//! A new process has clean memory: nothing is resident yet, no allocator has pages to spare, and
//! the peak is that of this run. Only the run itself is timed, and its output is kept in memory.
//! Compilation is timed from the source text to machine code. The process has compiled nothing
//! before, like a user's process.
//!
//! Times are processor times of this process. One thread does all work and never waits. So on an
//! idle machine processor time is wall-clock time, and on a busy machine other work does not count.
//! A run on a given number of threads is measured by the clock on the wall, because there threads
//! work at the same time, and some wait.

use crate::bench::memory::{self, Printed, Resident};
use crate::bench::options::{BenchFinOptions, BenchOneOptions};
use crate::bench::suite::{self, Benchmark};
use crate::bench::under::Under;
use crate::outcome::{NOTHING_FOUND, Problem};
use crate::proofs;
use finishline_baseline::Size;
use finishline_engine::check;
use finishline_engine::depth_first::End;
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::question::Question;
use finishline_engine::timing::{self, DrdpFigures, Failure};
use finishline_fin::Program;
use finishline_ir::machine::{Datum, Limits};
use finishline_model::Statistics;
use finishline_model::checks::NoSuchPass;
use finishline_model::{Detector, Passes};
use finishline_report::bench::table::ChecksMade;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::sync::atomic::AtomicU64;

/// The configuration of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Configuration {
    /// Compiled, without checks.
    Run,
    /// Compiled with the checks that these passes leave, under ESP-bags, like `finishline check`.
    Check(Passes),
    /// The same algorithm in Rust.
    Rust,
}

impl Configuration {
    /// `run`, `rust`, or `check:` and a value of `--checks`.
    pub(crate) fn word(self) -> String {
        match self {
            Configuration::Run => "run".to_owned(),
            Configuration::Check(passes) => format!("{CHECK}{passes}"),
            Configuration::Rust => "rust".to_owned(),
        }
    }

    pub(crate) fn parse(word: &str) -> Result<Self, String> {
        match word {
            "run" => Ok(Configuration::Run),
            "rust" => Ok(Configuration::Rust),
            other => match other.strip_prefix(CHECK).map(str::parse) {
                Some(Ok(passes)) => Ok(Configuration::Check(passes)),
                Some(Err(unknown)) => Err(NoSuchPass::to_string(&unknown)),
                None => Err(format!("run, rust, or {CHECK} and some passes")),
            },
        }
    }
}

const CHECK: &str = "check:";

/// The line of JSON.
#[derive(Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub(crate) enum Answer {
    Measured(Measurement),
    /// Races were found.
    Race {
        message: String,
        /// How many locations race.
        locations: u64,
        /// How many pairs of places in the source race, if that was counted.
        distinct: Option<u64>,
    },
    Failed {
        why: WhyFailed,
        message: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WhyFailed {
    /// The program or its process.
    Broken,
    /// The detector has too little memory.
    Memory,
    /// The detector has no rule for something.
    Unsupported,
}

impl From<&Failure> for WhyFailed {
    fn from(failure: &Failure) -> WhyFailed {
        match failure {
            Failure::Memory(_) | Failure::TooMany { .. } => WhyFailed::Memory,
            Failure::Unsupported(_) => WhyFailed::Unsupported,
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// 0 for Rust, which was compiled with Finishline.
    pub(crate) compile_seconds: f64,
    /// The part of that time in passes from IR to IR.
    pub(crate) optimise_seconds: f64,
    pub(crate) run_seconds: f64,
    /// The peak resident memory during the run, and the resident memory before it.
    pub(crate) peak_bytes: u64,
    pub(crate) start_bytes: u64,
    /// Tasks created, without `main`. Only detectors know this.
    pub(crate) tasks: Option<u64>,
    /// The memory that the detector keeps for tasks.
    pub(crate) task_bytes: u64,
    /// The number of checks of one location and of ranges, and the number of locations in these
    /// ranges.
    pub(crate) single_checks: u64,
    pub(crate) range_checks: u64,
    pub(crate) in_ranges: u64,
    /// The questions that the detector's order had to think about, and the comparisons that this
    /// took.
    pub(crate) questions: u64,
    pub(crate) comparisons: u64,
    pub(crate) drdp: Option<Counted>,
    pub(crate) printed: String,
}

/// What DRDP counts.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) height: u32,
    pub(crate) tree_joins: u64,
    pub(crate) non_tree_joins: u64,
    /// The walks over the graph, and the tasks that one of them visited at least, at most and in
    /// all.
    pub(crate) walks: u64,
    pub(crate) least_visited: u64,
    pub(crate) most_visited: u64,
    pub(crate) visited: u64,
}

impl From<DrdpFigures> for Counted {
    fn from(figures: DrdpFigures) -> Counted {
        Counted {
            reads: figures.reads,
            writes: figures.writes,
            height: figures.height,
            tree_joins: figures.tree_joins,
            non_tree_joins: figures.non_tree_joins,
            walks: figures.visits.walks,
            least_visited: figures.visits.least,
            most_visited: figures.visits.most,
            visited: figures.visits.all,
        }
    }
}

impl Measurement {
    pub(crate) fn made(&self) -> ChecksMade {
        ChecksMade {
            single: self.single_checks,
            ranges: self.range_checks,
            in_ranges: self.in_ranges,
        }
    }
}

pub(crate) fn one(options: &BenchOneOptions) -> Result<u8, Problem> {
    let benchmark = options.program;
    let of_size = |under| {
        let program = FinProgram {
            name: benchmark.name,
            source: benchmark.source,
            arguments: &[options.size.argument()],
        };
        fin(&program, under)
    };
    let answer = match options.configuration {
        Configuration::Run => of_size(Under::Nothing)?,
        Configuration::Check(passes) => of_size(Under::Check(passes))?,
        Configuration::Rust => rust(benchmark, options.size)?,
    };
    print(&answer)
}

/// Prints the line of JSON.
pub(crate) fn print(answer: &Answer) -> Result<u8, Problem> {
    let line = serde_json::to_string(answer).map_err(|error| Problem::Output(error.into()))?;
    writeln!(io::stdout().lock(), "{line}").map_err(Problem::Output)?;
    Ok(NOTHING_FOUND)
}

/// The processor time that this process has used.
fn processor_seconds() -> f64 {
    seconds_of(ClockId::ProcessCPUTime)
}

fn seconds_of(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn rust(benchmark: &Benchmark, size: Size) -> Result<Answer, Problem> {
    let run = benchmark.rust.ok_or_else(|| {
        Problem::Usage(format!(
            "there is no Rust version of {}; there is one of {}",
            benchmark.name,
            suite::names(|benchmark| benchmark.rust.is_some())
        ))
    })?;
    let resident = Resident::before().map_err(memory::problem)?;
    let start = processor_seconds();
    // A wrong result is a panic, which ends this process with a failure status.
    let line = run(size);
    let run_seconds = processor_seconds() - start;
    Ok(Answer::Measured(Measurement {
        run_seconds,
        peak_bytes: resident.peak().map_err(memory::problem)?,
        start_bytes: resident.start,
        printed: line + "\n",
        ..Measurement::default()
    }))
}

/// A program in Fin that is part of the tool.
#[derive(Clone, Copy)]
pub(crate) struct FinSource {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
}

/// A program in Fin and its input.
pub(crate) struct FinProgram<'a> {
    pub(crate) name: &'a str,
    pub(crate) source: &'a str,
    pub(crate) arguments: &'a [i64],
}

/// `finishline bench-fin`.
pub(crate) fn one_of_fin(options: &BenchFinOptions) -> Result<u8, Problem> {
    let FinSource { name, source } = options.program;
    let program = FinProgram {
        name,
        source,
        arguments: &options.arguments,
    };
    print(&fin(&program, options.under)?)
}

/// Measures a program in Fin.
pub(crate) fn fin(program: &FinProgram, under: Under) -> Result<Answer, Problem> {
    let failed = |message: String| {
        let why = WhyFailed::Broken;
        Ok(Answer::Failed { why, message })
    };
    let start = processor_seconds();
    let file = format!("{}.fin", program.name);
    let Program { hir, module } = match finishline_fin::compile(&file, program.source.as_bytes()) {
        Ok(program) => program,
        Err(diagnostics) => return Err(Problem::Source(diagnostics.render(false))),
    };
    let passes = match under {
        Under::Nothing | Under::Threads(_, None) => Passes::NONE,
        Under::Check(passes) | Under::Drdp(passes, _) | Under::Threads(_, Some((_, passes))) => {
            passes
        }
        Under::Races => Passes::ALL,
    };
    let arguments: Vec<Datum> = program.arguments.iter().copied().map(Datum::Int).collect();
    let harmless = proofs::harmless(hir, &arguments, passes).accesses;
    let question = Question {
        module: &module,
        forms: Forms::new(&module, Executor::Compiled, passes).with_harmless(harmless),
        words: program.arguments.iter().map(i64::to_string).collect(),
        arguments,
        limits: Limits::default(),
        max_races: 0,
        suppressions: None,
        watch: None,
        schedule: None,
        progress: AtomicU64::new(0),
    };
    let detector = match under {
        Under::Nothing => None,
        Under::Check(_) => Some(check::choose(&module)),
        Under::Drdp(..) => Some(Detector::Drdp),
        Under::Threads(_, checked) => checked.map(|(detector, _)| detector),
        Under::Races => return races(&question),
    };
    let optimise = processor_seconds();
    timing::optimise(&question, detector);
    let optimise_seconds = processor_seconds() - optimise;
    let ready = match under {
        Under::Nothing | Under::Check(_) | Under::Races => timing::prepare(&question, detector),
        Under::Drdp(_, traversal) => timing::prepare_drdp(&question, traversal),
        Under::Threads(threads, _) => {
            timing::prepare_on_threads(&question, detector, threads.get())
        }
    };
    let ready = match ready {
        Ok(ready) => ready,
        Err(error) => return failed(error.to_string()),
    };
    let compile_seconds = processor_seconds() - start;

    let resident = Resident::before().map_err(memory::problem)?;
    let mut printed = Printed::nothing(&resident);
    let clock = match under {
        Under::Threads(..) => ClockId::Monotonic,
        _ => ClockId::ProcessCPUTime,
    };
    let start = seconds_of(clock);
    let ran = ready.run(&mut printed);
    let run_seconds = seconds_of(clock) - start;
    let peak_bytes = printed.peak().map_err(memory::problem)?;

    match ran.end {
        End::Finished | End::OutOfFuel => {}
        End::Trapped(trap) => {
            let position = module.source.position(trap.site);
            return failed(format!("{} at {position}", trap.kind.message()));
        }
        End::OutputError(error) => return failed(error.to_string()),
    }
    let findings = match ran.findings {
        None => None,
        Some(Ok(findings)) => Some(findings),
        Some(Err(failure)) => {
            let message = format!("the detector gave up: {failure}");
            let why = WhyFailed::from(&failure);
            return Ok(Answer::Failed { why, message });
        }
    };
    if let Some(findings) = &findings
        && !findings.racing.is_empty()
    {
        return Ok(racing(findings.racing.len() as u64, None));
    }
    let statistics = findings.as_ref().map(|found| found.statistics);
    let made = statistics.map_or(ChecksMade::default(), checks_made);
    let effort = findings
        .as_ref()
        .map(|found| found.effort)
        .unwrap_or_default();
    Ok(Answer::Measured(Measurement {
        compile_seconds,
        optimise_seconds,
        run_seconds,
        peak_bytes,
        start_bytes: resident.start,
        // `main` is a task too.
        tasks: statistics.map(|statistics| statistics.tasks - 1),
        task_bytes: findings.map_or(0, |found| found.task_bytes as u64),
        single_checks: made.single,
        range_checks: made.ranges,
        in_ranges: made.in_ranges,
        questions: effort.questions,
        comparisons: effort.comparisons,
        drdp: ran.drdp.map(Counted::from),
        printed: String::from_utf8_lossy(&printed.text).into_owned(),
    }))
}

/// The answer of a run with races.
fn racing(locations: u64, distinct: Option<u64>) -> Answer {
    Answer::Race {
        message: format!("{locations} racing locations"),
        locations,
        distinct,
    }
}

/// Checks a program as `finishline check` does, and counts its races.
fn races(question: &Question) -> Result<Answer, Problem> {
    let detector = check::choose(question.module);
    let answer = check::check(question, detector, &mut io::sink());
    let answer = answer.map_err(|error| crate::check::problem(error, question))?;
    Ok(match answer.check() {
        Some(check) => racing(check.racing_locations.count, Some(answer.distinct)),
        None => Answer::Failed {
            why: WhyFailed::Broken,
            message: "the check has no answer".to_owned(),
        },
    })
}

/// The checks of a run. Its accesses are the checked ones, one by one or in ranges.
fn checks_made(statistics: Statistics) -> ChecksMade {
    ChecksMade {
        single: statistics.accesses - statistics.in_ranges,
        ranges: statistics.ranges,
        in_ranges: statistics.in_ranges,
    }
}
