//! A problem that keeps the tool from doing its work, in words for the user.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// A sentence, without a full stop.
#[derive(Debug)]
pub(crate) struct Problem(String);

impl Problem {
    pub(crate) fn new(sentence: impl Into<String>) -> Problem {
        Problem(sentence.into())
    }

    /// Tells the user.
    pub(crate) fn tell(&self) {
        // If this can't be written either, there is nothing left to do.
        let _ = writeln!(io::stderr().lock(), "error: {self}");
    }

    pub(crate) fn read(path: &Path, error: impl fmt::Display) -> Problem {
        Problem(format!("can't read {}: {error}", path.display()))
    }

    pub(crate) fn write(path: &Path, error: impl fmt::Display) -> Problem {
        Problem(format!("can't write {}: {error}", path.display()))
    }

    pub(crate) fn start(program: impl AsRef<Path>, error: io::Error) -> Problem {
        Problem(format!(
            "can't start {}: {error}",
            program.as_ref().display()
        ))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
