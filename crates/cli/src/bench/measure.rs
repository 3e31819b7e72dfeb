//! The rounds of a benchmark. In each round every configuration runs once, one after the other,
//! each in its own process.
//!
//! A machine that is slow for a while slows down all configurations of a round. So the ratios
//! within a round stay the same.

use crate::bench::Column;
use crate::bench::one::{Answer, Configuration, Measurement};
use crate::bench::suite::{Benchmark, size_word};
use finishline_baseline::Size;
use finishline_report::bench::table::{BenchFailure, BenchFailureKind};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Every configuration measured once.
pub(crate) struct Round {
    pub(crate) baseline: Measurement,
    /// One for each column.
    pub(crate) checked: Vec<Measurement>,
    pub(crate) rust: Option<Measurement>,
}

/// The number of measurements in a round of this benchmark.
pub(crate) fn measurements(benchmark: &Benchmark, columns: &[Column]) -> usize {
    1 + columns.len() + usize::from(benchmark.rust.is_some())
}

/// Measures a round. `tell` is called before each measurement.
pub(crate) fn round(
    finishline: &Path,
    benchmark: &Benchmark,
    size: Size,
    columns: &[Column],
    mut tell: impl FnMut(Configuration),
) -> Result<Round, BenchFailure> {
    let mut one = |configuration| {
        tell(configuration);
        let measured = measure(finishline, benchmark, size, configuration);
        measured.map_err(|(kind, message)| BenchFailure {
            program: benchmark.name,
            kind,
            message,
        })
    };
    let baseline = one(Configuration::Run)?;
    let mut checked = Vec::new();
    for column in columns {
        checked.push(one(Configuration::Check(column.passes))?);
    }
    let rust = match benchmark.rust {
        Some(_) => Some(one(Configuration::Rust)?),
        None => None,
    };
    let round = Round {
        baseline,
        checked,
        rust,
    };
    round.same_lines(benchmark)?;
    Ok(round)
}

impl Round {
    /// Checks that all configurations print the same.
    fn same_lines(&self, benchmark: &Benchmark) -> Result<(), BenchFailure> {
        let expected = &self.baseline.printed;
        let others = self.checked.iter().map(|one| ("with checks", one));
        let others = others.chain(self.rust.iter().map(|one| ("the version in Rust", one)));
        for (who, other) in others {
            if other.printed != *expected {
                let (found, expected) = (other.printed.trim_end(), expected.trim_end());
                return Err(BenchFailure {
                    program: benchmark.name,
                    kind: BenchFailureKind::Failed,
                    message: format!("{who} prints `{found}`, without checks `{expected}`"),
                });
            }
        }
        Ok(())
    }
}

/// Makes one measurement, by starting this program again.
fn measure(
    finishline: &Path,
    benchmark: &Benchmark,
    size: Size,
    configuration: Configuration,
) -> Result<Measurement, (BenchFailureKind, String)> {
    let failed = |message| Err((BenchFailureKind::Failed, message));
    let output = Command::new(finishline)
        .arg("bench-one")
        .args([benchmark.name, size_word(size)])
        .arg(configuration.word())
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return failed(format!("can't run {}: {error}", finishline.display())),
    };
    match answer(&output) {
        Some(Answer::Measured(measurement)) => Ok(measurement),
        Some(Answer::Race { message, .. }) => Err((BenchFailureKind::Race, message)),
        Some(Answer::Failed { message, .. }) => failed(message),
        None => failed(format!(
            "its process ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

fn answer(output: &Output) -> Option<Answer> {
    if !output.status.success() {
        return None;
    }
    serde_json::from_slice(&output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::suite;

    fn printed(line: &str) -> Measurement {
        Measurement {
            run_seconds: 1.0,
            printed: line.to_owned(),
            ..Measurement::default()
        }
    }

    #[test]
    fn another_line_is_a_failure() {
        let benchmark = suite::find("sor").expect("a benchmark");
        let round = |baseline, checked, rust| Round {
            baseline: printed(baseline),
            checked: vec![printed(checked)],
            rust: Some(printed(rust)),
        };
        assert!(round("a\n", "a\n", "a\n").same_lines(benchmark).is_ok());
        for (checked, rust, who) in [("b\n", "a\n", "with checks"), ("a\n", "b\n", "Rust")] {
            let failure = round("a\n", checked, rust).same_lines(benchmark);
            let failure = failure.expect_err("another line");
            assert!(failure.message.contains(who), "{}", failure.message);
        }
    }
}
