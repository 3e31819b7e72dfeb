//! The data that the parts of one `cargo finishline` share: a directory with one description, and
//! the results of runners.
//!
//! An environment variable names the directory. Cargo passes the variable on to the parts. The
//! checked program gets the user's environment back: it may start cargo itself, and that cargo must
//! not be checked.

use crate::Problem;
use crate::course::{Course, Event};
use crate::options::{Options, Subcommand};
use crate::run;
use crate::settings::{Configured, Settings};
use serde::{Deserialize, Serialize};
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const VARIABLE: &str = "FINISHLINE_SESSION";
const DESCRIPTION: &str = "session.json";
const EVENTS: &str = "events";
/// Locked as long as the session is not over.
const GOING_ON: &str = "going-on";
/// Locked by each runner.
const RUNNERS: &str = "runners";
const INTERRUPTED: &str = "interrupted";

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) directory: PathBuf,
    pub(crate) subcommand: Subcommand,
    pub(crate) command: CommandLine,
    pub(crate) options: Options,
    pub(crate) compiler: Compiler,
    /// The user's own runner, as a program and its arguments. Empty if programs are started
    /// directly.
    pub(crate) users_runner: Vec<OsString>,
    /// The folder of the user's workspace.
    pub(crate) workspace: PathBuf,
    /// The packages that have settings.
    pub(crate) configured: Vec<Configured>,
    /// The user's values of the variables that the session sets.
    pub(crate) users_environment: Vec<(String, Option<String>)>,
}

/// The option that chooses an order of tasks.
const ORDER: &str = "--order=";

/// The user's command line and directory.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct CommandLine {
    pub(crate) directory: String,
    /// The words from `cargo` on, up to `--`.
    pub(crate) before: Vec<String>,
    /// The same for cargo itself, without checks.
    pub(crate) unchecked: Vec<String>,
    /// The words after `--`.
    pub(crate) after: Vec<String>,
    /// The option that names the part of the tests. It repeats nothing, since a test is in its part
    /// whether or not the part is named.
    pub(crate) partition: Option<String>,
}

impl CommandLine {
    pub(crate) fn words(&self) -> Vec<String> {
        let before = self.before.iter().chain(&self.partition);
        together(&before.cloned().collect::<Vec<_>>(), &self.after)
    }

    /// Whether cargo was told to build the tests and not to run them.
    pub(crate) fn only_builds(&self) -> bool {
        self.before.iter().any(|word| word == "--no-run")
    }

    /// The command that repeats the result, for one test if there is one, in this order of tasks.
    pub(crate) fn replay(&self, test: Option<&str>, order: u32) -> String {
        let mut before = self.before.clone();
        if order > 0 {
            before.retain(|word| !word.starts_with(ORDER));
            before.push(format!("{ORDER}{order}"));
        }
        self.once_more(&before, test)
    }

    /// The command that runs the same without checks.
    pub(crate) fn unchecked(&self, test: Option<&str>) -> String {
        self.once_more(&self.unchecked, test)
    }

    fn once_more(&self, before: &[String], test: Option<&str>) -> String {
        let after = match test {
            Some(test) => ["--include-ignored", "--exact", test]
                .map(str::to_owned)
                .to_vec(),
            None => self.after.clone(),
        };
        let words: Vec<String> = together(before, &after)
            .iter()
            .map(|it| quoted(it))
            .collect();
        words.join(" ")
    }
}

fn together(before: &[String], after: &[String]) -> Vec<String> {
    let separator = (!after.is_empty()).then(|| "--".to_owned());
    let before = before.iter().cloned();
    before
        .chain(separator)
        .chain(after.iter().cloned())
        .collect()
}

/// A word, quoted for a shell if necessary.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=./:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The data that the wrapper around rustc needs.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Compiler {
    /// Whether unstable options must be enabled.
    pub(crate) stable: bool,
    pub(crate) users_wrapper: Option<PathBuf>,
    /// The crate root that replaces rayon-core's.
    pub(crate) drop_in: PathBuf,
    /// The file that replaces one of rayon's.
    pub(crate) rayon_file: PathBuf,
    /// Where packages are that have one of their files replaced.
    pub(crate) overlays: PathBuf,
    /// Arguments of rustc for every instrumented crate.
    pub(crate) compile_arguments: Vec<String>,
    /// Arguments of rustc that link the runtime into a program.
    pub(crate) link_arguments: Vec<String>,
}

impl Session {
    /// The session that this process belongs to.
    pub(crate) fn inherited() -> Option<Result<Session, Problem>> {
        let path = PathBuf::from(env::var_os(VARIABLE)?).join(DESCRIPTION);
        let text = fs::read_to_string(&path).map_err(|error| Problem::read(&path, error));
        Some(text.and_then(|text| {
            serde_json::from_str(&text).map_err(|error| Problem::read(&path, error))
        }))
    }

    /// The settings of the package with this folder.
    pub(crate) fn settings(&self, folder: &Path) -> Option<&Settings> {
        let mut configured = self.configured.iter();
        let found = configured.find(|configured| configured.folder == folder)?;
        Some(&found.settings)
    }

    /// The file of suppressions for the programs of a package.
    pub(crate) fn suppressions(&self, folder: &Path) -> Option<&Path> {
        let of_package = || self.settings(folder)?.suppressions.as_deref();
        self.options.suppressions.as_deref().or_else(of_package)
    }

    /// Whether a test of a program belongs to the part of the suite that is to be run. A program
    /// that is no list of tests has an empty name as its only one.
    pub(crate) fn has(&self, program: &Path, test: &str) -> bool {
        let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
        let program = run::name_of(program);
        let part = self.options.partition;
        part.is_none_or(|part| part.has(&package, &program, test))
    }

    /// Starts the session. `command` and all processes that it starts belong to it. The session
    /// goes on until the file is closed, if only because this process has died.
    pub(crate) fn open(&self, command: &mut Command) -> Result<File, Problem> {
        let path = self.directory.join(DESCRIPTION);
        let text = serde_json::to_string(self).map_err(|error| Problem::write(&path, error))?;
        fs::write(&path, text).map_err(|error| Problem::write(&path, error))?;
        command.env(VARIABLE, &self.directory);
        let path = self.directory.join(GOING_ON);
        let going_on = File::create(&path).and_then(|file| file.lock().map(|()| file));
        going_on.map_err(|error| Problem::write(&path, error))
    }

    /// Waits until the process that has opened the session closes it.
    pub(crate) fn wait_for_its_end(&self) {
        // If the file is not there any more, the session is not either.
        if let Ok(file) = File::open(self.directory.join(GOING_ON)) {
            let _ = file.lock_shared();
        }
    }

    /// Notes that a runner is at work, until the file is closed.
    pub(crate) fn runner(&self) -> Result<File, Problem> {
        let path = self.directory.join(RUNNERS);
        let file = File::options().append(true).create(true).open(&path);
        let locked = file.and_then(|file| file.lock_shared().map(|()| file));
        locked.map_err(|error| Problem::write(&path, error))
    }

    /// Waits until no runner is at work. Cargo does not wait for them if it is interrupted.
    pub(crate) fn wait_for_runners(&self) {
        if let Ok(file) = File::open(self.directory.join(RUNNERS)) {
            let _ = file.lock();
        }
    }

    /// Notes that the user has interrupted the session. Runners start nothing any more.
    pub(crate) fn interrupt(directory: &Path) {
        // The worst that follows from a failure is that some more tests are run.
        let _ = File::create(directory.join(INTERRUPTED));
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.directory.join(INTERRUPTED).exists()
    }

    /// Restores the user's environment for a process.
    pub(crate) fn leave(&self, command: &mut Command) {
        command.env_remove(VARIABLE);
        for (name, value) in &self.users_environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// Creates a new folder of the session. No other process gets the same number.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn new_folder(&self, kind: &str) -> Result<PathBuf, Problem> {
        let made = tempfile::Builder::new()
            .prefix(&format!("{kind}-"))
            .tempdir_in(&self.directory);
        made.map(TempDir::keep)
            .map_err(|error| Problem::write(&self.directory, error))
    }

    /// Adds an event to those that are reported at the end.
    pub(crate) fn record(&self, event: &Event) -> Result<(), Problem> {
        let path = self.directory.join(EVENTS);
        let mut line = serde_json::to_vec(event).map_err(|error| Problem::write(&path, error))?;
        line.push(b'\n');
        let file = File::options().append(true).create(true).open(&path);
        file.and_then(|mut file| file.write_all(&line))
            .map_err(|error| Problem::write(&path, error))
    }

    /// All that has happened so far, in the order in which it was added.
    pub(crate) fn course(&self) -> Result<Course, Problem> {
        let path = self.directory.join(EVENTS);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Problem::read(&path, error)),
        };
        let events = text.lines().map(serde_json::from_str);
        let events = events.collect::<Result<Vec<Event>, _>>();
        let events = events.map_err(|error| Problem::read(&path, error))?;
        Ok(events.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_are_what_was_typed_but_for_other_tests() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let command = CommandLine {
            directory: String::new(),
            before: words(&["cargo", "finishline", "test", "--features", "a b"]),
            unchecked: words(&["cargo", "test", "--features", "a b"]),
            after: words(&["it's"]),
            partition: Some("--partition=1/2".to_owned()),
        };
        assert_eq!(
            command.replay(None, 0),
            r"cargo finishline test --features 'a b' -- 'it'\''s'"
        );
        assert_eq!(
            command.replay(Some("a::b"), 0),
            "cargo finishline test --features 'a b' -- --include-ignored --exact a::b"
        );
        assert_eq!(
            command.replay(Some("a::b"), 2),
            "cargo finishline test --features 'a b' --order=2 -- --include-ignored --exact a::b"
        );
        let part = &["--partition=1/2", "--", "it's"];
        assert!(command.words().ends_with(&words(part)));
        assert_eq!(
            command.unchecked(Some("a::b")),
            "cargo test --features 'a b' -- --include-ignored --exact a::b"
        );
    }
}
