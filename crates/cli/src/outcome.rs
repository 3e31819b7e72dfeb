//! Exit statuses, and the problems that keep a program from being judged.

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
    /// A question that makes no sense; a sentence.
    Usage(String),
    /// The source has errors, already put into words.
    Source(String),
    Read(PathBuf, io::Error),
    Write(PathBuf, io::Error),
    /// Standard output or standard error.
    Output(io::Error),
}

impl Problem {
    /// The reader of our output has seen enough. That is no failure.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Problem::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn print(&self) {
        match self {
            // Diagnostics bring their own heading, and end with a newline.
            Problem::Source(text) => say(text.trim_end_matches('\n')),
            other => say(&format!("error: {other}")),
        }
    }
}

/// A line on standard error. If even that can't be written, there is nobody left to tell.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// A path in a message: no control character of it reaches the terminal.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Usage(text) | Problem::Source(text) => f.write_str(text),
            Problem::Read(path, error) => write!(f, "can't read {}: {error}", shown(path)),
            Problem::Write(path, error) => write!(f, "can't write {}: {error}", shown(path)),
            Problem::Output(error) => write!(f, "can't write the output: {error}"),
        }
    }
}
