//! What a checked process left behind, as far as it decides an exit status: the rest is for the report.

use crate::Problem;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// One process that was started to be checked.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) program: PathBuf,
    /// The test, if it ran only one.
    pub(crate) test: Option<String>,
    pub(crate) ended: Ended,
    /// The findings of the process, and of instrumented processes that it started.
    pub(crate) findings: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ended {
    Exited(i32),
    Killed { signal: i32 },
}

impl Ended {
    pub(crate) fn from(status: ExitStatus) -> Ended {
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exited(code),
            (None, signal) => Ended::Killed {
                signal: signal.unwrap_or_default(),
            },
        }
    }

    /// The exit status that shells give it.
    pub(crate) fn status(self) -> u8 {
        match self {
            Ended::Exited(code) => code.to_le_bytes()[0],
            Ended::Killed { signal } => signal.to_le_bytes()[0].wrapping_add(128),
        }
    }
}

/// The part of a findings file that is read here.
#[derive(Debug, Deserialize)]
pub(crate) struct Findings {
    pub(crate) complete: bool,
    pub(crate) drop_in: bool,
    pub(crate) races: Vec<Race>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Race {
    pub(crate) class: String,
}

impl Findings {
    pub(crate) fn read(path: &Path) -> Result<Findings, Problem> {
        let text = fs::read_to_string(path).map_err(|error| Problem::read(path, error))?;
        serde_json::from_str(&text).map_err(|error| Problem::read(path, error))
    }
}
