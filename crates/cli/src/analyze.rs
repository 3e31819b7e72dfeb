//! `finishline analyze`: the answer of `check` about a run that `record` has written to a file.
//!
//! The source file is not needed: the trace has everything that a report says. A file that can't be
//! read as a trace is a problem like a source file with errors. A trace whose end is missing,
//! because the run was killed, is judged up to there.

use crate::check::{agreement, disagreement, note_left_out, note_unmatched, suppressions};
use crate::destination::Destination;
use crate::options::{AnalyzeOptions, Choice};
use crate::outcome::{DISAGREEMENT, Problem, say};
use crate::progress;
use finishline_answer::exit_status;
use finishline_engine::recorded::{self, AnalyzeError, Asked};
use finishline_report::Selection;
use finishline_trace::{Error, Trace};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::atomic::AtomicU64;

pub(crate) fn analyze(options: &AnalyzeOptions) -> Result<u8, Problem> {
    let (terminal, report) = (&options.terminal, &options.report);
    let progress = AtomicU64::new(0);
    let detector = match options.detector {
        Choice::One(detector) => Some(detector),
        Choice::Auto | Choice::All => None,
    };
    let asked = |suppressions| Asked {
        detector,
        max_races: options.races.max_races,
        suppressions,
        progress: &progress,
    };
    let problem = |error| problem(error, &options.file);
    let trace = open(&options.file)?;
    let suppressions = suppressions(&options.races)?;
    let destination = Destination::open(report.output.as_deref(), report.format, terminal.color)?;
    let done_so_far = (&progress, "accesses");
    let answer = progress::shown(
        terminal.quiet,
        "analyzing",
        done_so_far,
        &mut io::sink(),
        |_| recorded::analyze(trace, asked(suppressions)),
    );
    let answer = answer.map_err(problem)?;
    let comparison = match options.detector {
        Choice::All => {
            let trace = open(&options.file)?;
            Some(recorded::compare(trace, &asked(None)).map_err(problem)?)
        }
        Choice::Auto | Choice::One(_) => None,
    };
    if let Some(disagreement) = comparison.as_ref().and_then(disagreement) {
        say(&disagreement);
        return Ok(DISAGREEMENT);
    }
    let all = Selection::default();
    destination
        .write(|style, out| finishline_report::write(&answer, report.format, all, style, out))?;
    if !terminal.quiet {
        note_unmatched(&answer);
        note_left_out(&answer, options.races.max_races);
    }
    if let Some(comparison) = &comparison {
        say(&agreement(comparison));
    }
    Ok(exit_status(&answer))
}

pub(crate) fn open(path: &Path) -> Result<Trace<BufReader<File>>, Problem> {
    let file = File::open(path).map_err(|error| Problem::Read(path.to_owned(), error))?;
    Trace::open(BufReader::new(file)).map_err(|error| unreadable(error, path))
}

fn unreadable(error: Error, path: &Path) -> Problem {
    match error {
        Error::Io(error) => Problem::Read(path.to_owned(), error),
        other => Problem::Trace(path.to_owned(), other),
    }
}

pub(crate) fn problem(error: AnalyzeError, path: &Path) -> Problem {
    match error {
        AnalyzeError::Trace(error) => unreadable(error, path),
        AnalyzeError::Refused(error, position) => Problem::Usage(format!(
            "{error} at {position}\nhelp: `--detector auto` picks one that can judge the whole program"
        )),
    }
}
