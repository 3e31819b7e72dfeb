//! One checked process: what it was, how it ended, and where its findings are.

use crate::options::Subcommand;
use crate::orders::Ran;
use finishline_answer::process::Limit;
use serde::{Deserialize, Serialize};
use std::env;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) program: PathBuf,
    /// The folder of the program's package, as cargo names it.
    pub(crate) package: PathBuf,
    /// The test, if the process ran only one.
    pub(crate) test: Option<String>,
    pub(crate) ended: Ended,
    /// Why we ended the process, if we did.
    pub(crate) cut_short: Option<CutShort>,
    /// Where a test panicked, as it said itself.
    pub(crate) panicked: Option<Panicked>,
    /// Why the process did not complete, in a sentence.
    pub(crate) failure: Option<String>,
    /// The findings of the process and of instrumented processes that it started.
    pub(crate) findings: Vec<PathBuf>,
    /// In which order of its tasks it ran, and how many others did, if there were others.
    pub(crate) orders: Option<Ran>,
    /// False for a program that runs as a part of the compiler, and was built without checks.
    pub(crate) checked: bool,
}

impl Run {
    /// The order of its tasks in which it ran.
    pub(crate) fn order(&self) -> u32 {
        self.orders.map_or(0, |orders| orders.told)
    }

    /// Whether somebody else killed it in another order than the usual one. Mostly the system does,
    /// which has no memory left. That says nothing about the program.
    pub(crate) fn was_killed_in_another_order(&self) -> bool {
        const SIGKILL: i32 = 9;
        let killed = self.ended == Ended::Killed { signal: SIGKILL };
        killed && self.cut_short.is_none() && self.order() > 0
    }

    pub(crate) fn program_name(&self) -> String {
        name_of(&self.program)
    }
}

/// The folder of the package whose program cargo has this process run.
pub(crate) fn package() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default().into()
}

/// The name of a program, without the hash that cargo adds to the names of tests.
pub(crate) fn name_of(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    match name.rsplit_once('-') {
        Some((name, hash)) if is_hash(hash) => name.to_owned(),
        _ => name.into_owned(),
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A place, as the compiler names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Panicked {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Why a process was ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CutShort {
    TimeLimit,
    Interrupt,
}

impl CutShort {
    pub(crate) const fn limit(self) -> Limit {
        match self {
            CutShort::TimeLimit => Limit::TimedOut,
            CutShort::Interrupt => Limit::Interrupted,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ended {
    Exited(i32),
    Killed { signal: i32 },
}

/// The exit status of a Rust program that panicked.
const PANICKED: i32 = 101;

impl Ended {
    pub(crate) fn from(status: ExitStatus) -> Ended {
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exited(code),
            (None, signal) => Ended::Killed {
                signal: signal.unwrap_or_default(),
            },
        }
    }

    /// The exit status that shells report.
    pub(crate) fn status(self) -> u8 {
        match self {
            Ended::Exited(code) => code.to_le_bytes()[0],
            Ended::Killed { signal } => signal.to_le_bytes()[0].wrapping_add(128),
        }
    }

    /// The failure that this ending shows. A program's exit status may mean anything, except that
    /// of a panic. In a test program every status but 0 means that some test failed.
    pub(crate) fn failure(self, subcommand: Subcommand) -> Option<String> {
        match self {
            Ended::Exited(0) => None,
            Ended::Exited(code) if subcommand.tests() => Some(format!(
                "the program of tests ended with exit status {code}"
            )),
            Ended::Exited(PANICKED) => Some(format!(
                "the program ended with exit status {PANICKED}, as after a panic"
            )),
            Ended::Exited(_) => None,
            Ended::Killed { signal } => Some(format!("the process was killed by signal {signal}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_without_cargos_hash() {
        let name = |path: &str| name_of(Path::new(path));
        assert_eq!(name("/t/deps/my_crate-047bf3123f3c0e9e"), "my_crate");
        assert_eq!(name("/t/debug/my-program"), "my-program");
    }

    #[test]
    fn statuses_are_those_of_shells() {
        assert_eq!(Ended::Exited(3).status(), 3);
        assert_eq!(Ended::Killed { signal: 6 }.status(), 134);
    }

    #[test]
    fn programs_may_end_as_they_like_but_for_panics() {
        let failed = |ended: Ended, subcommand| ended.failure(subcommand).is_some();
        let (run, test) = (Subcommand::Run, Subcommand::Test);
        let ends = [Ended::Exited(0), Ended::Exited(1), Ended::Exited(101)];
        assert_eq!(ends.map(|ended| failed(ended, run)), [false, false, true]);
        assert_eq!(ends.map(|ended| failed(ended, test)), [false, true, true]);
        assert!(failed(Ended::Killed { signal: 9 }, run));
    }
}
