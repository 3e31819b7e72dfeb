//! Exit statuses, and problems that prevent a verdict.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Nothing was found.
pub(crate) const NOTHING_FOUND: u8 = 0;
/// Bad usage, a bad source file, a file that can't be read or written.
pub(crate) const BAD_USAGE: u8 = 2;
/// A race was found.
pub(crate) const RACE_FOUND: u8 = 66;
/// The program failed.
pub(crate) const PROGRAM_FAILED: u8 = 3;
/// Nothing could be established.
pub(crate) const NOTHING_ESTABLISHED: u8 = 4;
/// Detectors disagree: a bug of Finishline.
pub(crate) const DISAGREEMENT: u8 = 70;

/// Why a command could not do its work.
pub(crate) enum Problem {
    /// A question that makes no sense, as a sentence.
    Usage(String),
    /// The source has errors. They are already rendered.
    Source(String),
    Read(PathBuf, io::Error),
    Write(PathBuf, io::Error),
    /// The file can't be read as a trace.
    Trace(PathBuf, finishline_trace::Error),
    /// Standard output or standard error could not be written.
    Output(io::Error),
}

impl Problem {
    /// Whether the reader of our output has closed the pipe. That is no failure.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Problem::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn print(&self) {
        match self {
            // Diagnostics have their own heading and end with a newline.
            Problem::Source(text) => say(text.trim_end_matches('\n')),
            other => say(&format!("error: {other}")),
        }
    }
}

/// Writes a line to standard error. If this fails too, there is nothing left to do.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// A path for a message, without control characters.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Usage(text) | Problem::Source(text) => f.write_str(text),
            Problem::Read(path, error) => write!(f, "can't read {}: {error}", shown(path)),
            Problem::Write(path, error) => write!(f, "can't write {}: {error}", shown(path)),
            Problem::Trace(path, error) => {
                write!(f, "{}: {error}", shown(path))?;
                match error {
                    finishline_trace::Error::CutOff { whole: 1.. } => {
                        f.write_str("\nhelp: cut the file there, and it can be judged up to there")
                    }
                    _ => Ok(()),
                }
            }
            Problem::Output(error) => write!(f, "can't write the output: {error}"),
        }
    }
}
