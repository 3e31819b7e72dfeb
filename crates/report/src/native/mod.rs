//! Runs of instrumented programs as text, JSON or SARIF 2.1.0: one process, or all processes of a command.
//!
//! A report of one process has the fields of any other report and says more: stacks, objects, locks. Of many processes there is one
//! document, whose exit status is that of its worst process. Nothing is looked up here: the run comes in the user's words.

mod json;
mod sarif;
mod text;
mod words;

use crate::{Format, Style};
use finishline_answer::native::{NativeRun, NativeSuite};
use finishline_answer::verdict::Verdict;
use std::io;

/// Writes the report of one process. There is no HTML of it: an error of kind `Unsupported`.
pub fn write(
    run: &NativeRun,
    format: Format,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        Format::Text => text::write(run, style, out),
        Format::Json => json::write(run, out),
        Format::Sarif => sarif::write(std::slice::from_ref(run), None, out),
        Format::Html => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Writes one document about all processes of a command.
pub fn write_suite(
    suite: &NativeSuite,
    format: Format,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        Format::Text => text::write_suite(suite, style, out),
        Format::Json => json::write_suite(suite, out),
        Format::Sarif => sarif::write(&suite.runs, Some(suite), out),
        Format::Html => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Writes what stands below the reports of a command's processes: how many there were of each verdict.
pub fn write_summary(suite: &NativeSuite, style: Style, out: &mut dyn io::Write) -> io::Result<()> {
    text::write_summary(suite, style, out)
}

const RACE: u8 = 66;
const FAILED: u8 = 3;
const UNKNOWN: u8 = 4;

/// The exit status that belongs to a run: 66 for a pair that is not suppressed (those that locks or atomics order are listed only for
/// who asks for them), also when the program failed afterwards; 3 for a program that failed; 4 for `unknown`. If nothing was found it is that of
/// the program.
pub fn exit_status(run: &NativeRun) -> u8 {
    trouble(run).unwrap_or(run.status)
}

/// Whether there is a pair that is not suppressed.
pub fn has_races(run: &NativeRun) -> bool {
    trouble(run) == Some(RACE)
}

/// The exit status of what is to be said of a run, if that is not that nothing was found.
fn trouble(run: &NativeRun) -> Option<u8> {
    if run.distinct > run.suppressed_count() || !run.conflicts.is_empty() {
        Some(RACE)
    } else if run.failure.is_some() || run.verdict == Verdict::Trap {
        Some(FAILED)
    } else if run.verdict == Verdict::Unknown {
        Some(UNKNOWN)
    } else {
        None
    }
}

/// The exit status of a command: that of the first of 66, 3 and 4 that any process has, else that of a program. A process in which nothing
/// was parallel counts only if all are like that: many tests of a crate have nothing to do with rayon, but if none has, nothing was checked.
pub fn suite_exit_status(suite: &NativeSuite) -> u8 {
    let working: Vec<&NativeRun> = suite.runs.iter().filter(|run| !run.is_idle()).collect();
    if working.is_empty() {
        return UNKNOWN;
    }
    let has = |status: &u8| working.iter().any(|run| trouble(run) == Some(*status));
    let worst = [RACE, FAILED, UNKNOWN].into_iter().find(has);
    let of_program = || working.iter().map(|run| run.status).find(|own| *own != 0);
    worst.or_else(of_program).unwrap_or(0)
}
