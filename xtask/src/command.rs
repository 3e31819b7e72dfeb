//! A command that xtask runs for the contributor, and how to type it by hand.
//!
//! Every command runs in the root of the workspace. The text of a command includes its variables of
//! the environment and repeats the command from there: a failure can be repeated without xtask.

use crate::{Failure, Outcome, root};
use std::fmt;
use std::io::PipeWriter;
use std::process::{Child, Command, ExitStatus, Stdio};

pub(crate) struct CommandLine {
    environment: Vec<(&'static str, String)>,
    removed: Vec<&'static str>,
    program: String,
    arguments: Vec<String>,
}

impl CommandLine {
    /// `line` is the program and its arguments, separated by spaces.
    pub(crate) fn new(line: &str) -> CommandLine {
        let mut words = line.split_whitespace();
        CommandLine {
            environment: Vec::new(),
            removed: Vec::new(),
            program: words
                .next()
                .expect("a command line names a program")
                .to_string(),
            arguments: words.map(str::to_string).collect(),
        }
    }

    /// Adds arguments, which may have spaces.
    pub(crate) fn and(mut self, arguments: &[String]) -> CommandLine {
        self.arguments.extend_from_slice(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl fmt::Display) -> CommandLine {
        self.environment.push((name, value.to_string()));
        self
    }

    /// Leaves out a variable that the contributor may have set.
    pub(crate) fn env_remove(mut self, name: &'static str) -> CommandLine {
        self.removed.push(name);
        self
    }

    pub(crate) fn status(&self) -> Result<ExitStatus, Failure> {
        self.prepare().status().map_err(|error| self.not_run(error))
    }

    /// How the command ends. Nothing of what it says is shown.
    pub(crate) fn end(&self) -> Result<ExitStatus, Failure> {
        let output = self.prepare().output();
        Ok(output.map_err(|error| self.not_run(error))?.status)
    }

    /// Starts the command. Both of its outputs go to `writer`.
    pub(crate) fn start(&self, writer: &PipeWriter) -> Result<Child, Failure> {
        let both = writer
            .try_clone()
            .and_then(|first| Ok((first, writer.try_clone()?)));
        both.and_then(|(output, errors)| self.prepare().stdout(output).stderr(errors).spawn())
            .map_err(|error| self.not_run(error))
    }

    /// The standard output of the command, if it succeeds. Its complaints are shown.
    pub(crate) fn output(&self) -> Result<Option<String>, Failure> {
        let output = self.prepare().stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| self.not_run(error))?;
        let text = || String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(output.status.success().then(text))
    }

    fn not_run(&self, error: std::io::Error) -> Failure {
        Failure::Failed(format!("could not run `{self}`: {error}"))
    }

    /// Runs the command. A failure names the command that repeats it.
    pub(crate) fn run(&self) -> Outcome {
        match self.status()? {
            status if status.success() => Ok(()),
            _ => Err(Failure::Failed(format!("failed; to repeat: {self}"))),
        }
    }

    /// The standard output of the command, if it can be run and succeeds. Its complaints are
    /// dropped.
    pub(crate) fn answer(&self) -> Option<String> {
        let output = self.prepare().output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    }

    fn prepare(&self) -> Command {
        let mut command = match (self.program.as_str(), std::env::var_os("CARGO")) {
            // The cargo that runs xtask. Another one may be first in the path.
            ("cargo", Some(cargo)) => Command::new(cargo),
            (program, _) => Command::new(program),
        };
        for name in &self.removed {
            command.env_remove(name);
        }
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        command.args(&self.arguments).current_dir(root());
        command
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(f, "{name}={value} ")?;
        }
        write!(f, "{}", self.program)?;
        for argument in &self.arguments {
            write!(f, " {argument}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_one_types() {
        let line = CommandLine::new("cargo test  -p finishline-detect").env("FINISHLINE_SEED", 7);
        assert_eq!(
            line.to_string(),
            "FINISHLINE_SEED=7 cargo test -p finishline-detect"
        );
    }

    #[test]
    fn a_failure_names_the_command() {
        let outcome = CommandLine::new("false --loudly").run();
        assert_eq!(
            outcome,
            Err(Failure::Failed(
                "failed; to repeat: false --loudly".to_string()
            ))
        );
    }

    #[test]
    fn a_program_that_is_not_there_gives_no_answer() {
        assert_eq!(CommandLine::new("no-such-program-anywhere").answer(), None);
        assert!(CommandLine::new("cargo --version").answer().is_some());
    }
}
