//! The rounds of a program: in each round every configuration runs once, one after the other. So a
//! machine that is slow for a while slows down all configurations of a round.

use super::suite::{Benchmark, Size, traversal_word};
use crate::bench::one::{Answer, Measurement};
use crate::bench::options::DrdpOptions;
use crate::bench::process::{self, Limits};
use crate::bench::under::Under;
use finishline_engine::timing::Traversal;
use finishline_model::Passes;
use finishline_report::bench::drdp::TraversalRow;
use finishline_report::bench::table::{BenchFailure, BenchFailureKind};
use std::path::Path;

/// Every configuration measured once.
pub(super) struct Round {
    pub(super) baseline: Measurement,
    pub(super) all_checks: Measurement,
    pub(super) default: Measurement,
    /// Or why there is none.
    pub(super) drdp: Result<Measurement, String>,
}

/// All rounds of a program.
pub(super) fn rounds(
    finishline: &Path,
    benchmark: &'static Benchmark,
    options: &DrdpOptions,
    limits: Limits,
) -> Result<Vec<Round>, BenchFailure> {
    let arguments = benchmark.arguments(options.size);
    let measure = |under| measure(finishline, benchmark.name, arguments, under, limits);
    let needed = |under| {
        measure(under).map_err(|(kind, message)| BenchFailure {
            program: benchmark.name,
            kind,
            message,
        })
    };
    let mut rounds: Vec<Round> = Vec::new();
    for _ in 0..options.runs {
        let baseline = needed(Under::Nothing)?;
        let all_checks = needed(Under::Check(Passes::NONE))?;
        let default = needed(Under::Check(Passes::ALL))?;
        let drdp = match rounds.last() {
            // It would be stopped again, or take its long time again.
            Some(Round {
                drdp: Err(message), ..
            }) => Err(message.clone()),
            Some(Round {
                drdp: Ok(known), ..
            }) if options.size == Size::Paper => Ok(known.clone()),
            _ => match measure(Under::Drdp(Passes::ALL, Traversal::BEST)) {
                Ok(measured) => Ok(measured),
                Err((BenchFailureKind::Failed, message)) => Err(message),
                Err((kind @ BenchFailureKind::Race, message)) => {
                    let message = format!("drdp: {message}");
                    let program = benchmark.name;
                    return Err(BenchFailure {
                        program,
                        kind,
                        message,
                    });
                }
            },
        };
        let round = Round {
            baseline,
            all_checks,
            default,
            drdp,
        };
        round.same_lines(benchmark)?;
        rounds.push(round);
    }
    Ok(rounds)
}

impl Round {
    /// Checks that all configurations print the same.
    fn same_lines(&self, benchmark: &Benchmark) -> Result<(), BenchFailure> {
        let expected = &self.baseline.printed;
        let drdp = self.drdp.iter();
        for other in [&self.all_checks, &self.default].into_iter().chain(drdp) {
            if other.printed != *expected {
                let (found, expected) = (other.printed.trim_end(), expected.trim_end());
                return Err(BenchFailure {
                    program: benchmark.name,
                    kind: BenchFailureKind::Failed,
                    message: format!("with checks prints `{found}`, without `{expected}`"),
                });
            }
        }
        Ok(())
    }
}

/// The rows of a program in the comparison of traversals. One that is stopped has no row.
pub(super) fn traversals(
    finishline: &Path,
    benchmark: &'static Benchmark,
    size: Size,
    limits: Limits,
) -> Vec<TraversalRow> {
    let Some((_, paper)) = benchmark.traversals else {
        return Vec::new();
    };
    let arguments = benchmark.traversal_arguments(size).unwrap_or_default();
    let row = |(traversal, paper_average): (Traversal, f64)| {
        let under = Under::Drdp(Passes::NONE, traversal);
        let measured = measure(finishline, benchmark.name, arguments, under, limits).ok()?;
        let counted = measured.drdp?;
        Some(TraversalRow {
            program: benchmark.name,
            arguments: shown(arguments),
            traversal: traversal_word(traversal),
            walks: counted.walks,
            least: counted.least_visited,
            most: counted.most_visited,
            average: counted.visited as f64 / counted.walks.max(1) as f64,
            paper_average,
        })
    };
    let rows = Traversal::ALL.into_iter().zip(paper).map(row);
    rows.flatten().collect()
}

/// Arguments as one types them.
pub(super) fn shown(arguments: &[i64]) -> String {
    let words: Vec<String> = arguments.iter().map(i64::to_string).collect();
    words.join(" ")
}

/// Makes one measurement, by starting this program again.
pub(super) fn measure(
    finishline: &Path,
    program: &str,
    arguments: &[i64],
    under: Under,
    limits: Limits,
) -> Result<Measurement, (BenchFailureKind, String)> {
    let program = format!("drdp/{program}");
    match process::measure(finishline, &program, arguments, under, limits) {
        Ok(Answer::Measured(measurement)) => Ok(measurement),
        Ok(Answer::Race { message, .. }) => Err((BenchFailureKind::Race, message)),
        Ok(Answer::Failed { message, .. }) => Err((BenchFailureKind::Failed, message)),
        Err(stopped) => Err((BenchFailureKind::Failed, stopped.to_string())),
    }
}
