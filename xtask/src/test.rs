//! `cargo xtask test`: the checks that must pass before a change lands, the quick ones first.
//!
//! All checks run, also after a failure. The last lines name every failure by the command that
//! repeats it, or say that all passed.

use crate::bless::BLESS;
use crate::command::CommandLine;
use crate::{Failure, Outcome, prerequisites, suite, tidy};
use std::time::{Duration, Instant};

/// Checks that are one command.
const COMMANDS: [(&str, &str); 3] = [
    ("fmt", "cargo fmt --all --check"),
    (
        "clippy",
        "cargo clippy --workspace --all-targets -- -D warnings",
    ),
    (
        "clippy of the runtime",
        "cargo clippy --package finishline-native --features runtime -- -D warnings",
    ),
];

/// Calls of `cargo test`.
const SUITES: [(&str, &str); 2] = [
    // The drop-in is no member of the workspace: it has the name of the crate that it replaces.
    (
        "drop-in",
        "cargo test --manifest-path crates/rayon-core/Cargo.toml --target-dir target/rayon-core",
    ),
    ("tests", "cargo test --workspace"),
];

pub(crate) fn run(_: &[String]) -> Outcome {
    prerequisites::ensure_build()?;
    prerequisites::ensure_components()?;
    let mut checks = Checks::default();
    checks.check("tidy", "cargo xtask tidy", || {
        Ok(match tidy::run(&[]) {
            Ok(()) => Vec::new(),
            Err(_) => vec!["cargo xtask tidy".to_string()],
        })
    })?;
    for (name, line) in COMMANDS {
        checks.check(name, line, || {
            let succeeded = CommandLine::new(line).status()?.success();
            Ok(match succeeded {
                true => Vec::new(),
                false => vec![line.to_string()],
            })
        })?;
    }
    for (name, line) in SUITES {
        // A test that blesses cannot fail.
        checks.check(name, line, || suite::run(line, BLESS))?;
    }
    checks.outcome()
}

/// The checks that have run.
#[derive(Default)]
struct Checks {
    times: Vec<(&'static str, Duration)>,
    /// The command that repeats each failure.
    failures: Vec<String>,
}

impl Checks {
    /// Runs one check, which answers with a command for each of its failures. An error is a check
    /// that can't be run at all, which ends the test.
    fn check(
        &mut self,
        name: &'static str,
        repeat: &str,
        check: impl FnOnce() -> Result<Vec<String>, Failure>,
    ) -> Outcome {
        println!("== {name}: {repeat}");
        let begun = Instant::now();
        let failures = check()?;
        let time = begun.elapsed();
        let result = match failures.len() {
            0 => "passed".to_string(),
            1 => "1 failure".to_string(),
            several => format!("{several} failures"),
        };
        println!("   {result}, {}", readable(time));
        self.times.push((name, time));
        self.failures.extend(failures);
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        let time = readable(self.times.iter().map(|(_, time)| *time).sum());
        if self.failures.is_empty() {
            let each = |(name, time): &(&str, Duration)| format!("{name} {}", readable(*time));
            let each: Vec<String> = self.times.iter().map(each).collect();
            println!("all passed in {time}: {}", each.join(", "));
            return Ok(());
        }
        Err(Failure::Failed(format!(
            "{} failed in {time}; to repeat:\n  {}",
            self.failures.len(),
            self.failures.join("\n  ")
        )))
    }
}

fn readable(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}.{} s", time.subsec_millis() / 100),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_for_people() {
        assert_eq!(readable(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(readable(Duration::from_millis(59_999)), "59.9 s");
        assert_eq!(readable(Duration::from_secs(61)), "1 min 1 s");
    }

    #[test]
    fn all_checks_run_and_all_failures_are_told() {
        let mut checks = Checks::default();
        let mut ran = 0;
        for failures in [vec!["one", "two"], vec![], vec!["three"]] {
            let outcome = checks.check("a check", "a command", || {
                ran += 1;
                Ok(failures.iter().map(|word| word.to_string()).collect())
            });
            assert_eq!(outcome, Ok(()));
        }
        assert_eq!(ran, 3);
        let Err(Failure::Failed(message)) = checks.outcome() else {
            panic!("three failures pass");
        };
        assert!(message.starts_with("3 failed in "), "{message}");
        assert!(
            message.ends_with("to repeat:\n  one\n  two\n  three"),
            "{message}"
        );
    }

    #[test]
    fn without_a_failure_the_test_passes() {
        let mut checks = Checks::default();
        assert_eq!(checks.check("a check", "a command", || Ok(vec![])), Ok(()));
        assert_eq!(checks.outcome(), Ok(()));
    }

    #[test]
    fn a_check_that_can_not_run_ends_the_test() {
        let lost = || Failure::Failed("no cargo".to_string());
        let mut checks = Checks::default();
        let outcome = checks.check("a check", "a command", || Err(lost()));
        assert_eq!(outcome, Err(lost()));
    }
}
