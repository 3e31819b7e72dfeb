//! The rounds of a program. In each round every configuration runs once, one after the other, on
//! each number of threads, each in its own process. So a machine that is slow for a while slows
//! down all configurations of a round.
//!
//! A configuration that is stopped or fails is not tried again in later rounds.

use super::suite::{Benchmark, Kind};
use super::{Configuration, Plan};
use crate::bench::one::{Answer, Measurement, WhyFailed};
use crate::bench::process::{self, Stopped};
use crate::bench::under::Under;
use finishline_engine::check;
use finishline_ir::Module;
use finishline_model::Passes;
use finishline_report::bench::fastracer::{Missing, NoFigures, SerialRaces};
use finishline_report::bench::table::{BenchFailure, BenchFailureKind};
use std::num::NonZero;

/// A measurement, or why there is none.
pub(super) type Measured = Result<Measurement, NoFigures>;

/// Every configuration measured once.
pub(super) struct Round {
    /// One for each number of threads.
    pub(super) on: Vec<OnThreads>,
}

pub(super) struct OnThreads {
    pub(super) unchecked: Measurement,
    /// One for each configuration.
    pub(super) checked: Vec<Measured>,
}

/// All that is measured of a program without races.
pub(super) struct Timed {
    pub(super) rounds: Vec<Round>,
    /// A run on one thread under the detector that `finishline check` chooses, with all checks. It
    /// counts tasks and accesses even if no other detector can judge the program.
    pub(super) counted: Measured,
}

/// The races of a program.
pub(super) struct Races {
    /// The racing locations: for each number of threads, by configuration.
    pub(super) locations: Vec<Vec<Result<u64, NoFigures>>>,
    pub(super) serial: Result<SerialRaces, NoFigures>,
}

/// How many processes measure this program, unless some are not tried again.
pub(super) fn measurements(plan: &Plan, benchmark: &Benchmark, module: &Module) -> usize {
    let judges = |one: &&Configuration| check::unsupported(one.detector, module).is_none();
    let checked = plan.configurations.iter().filter(judges).count();
    let rounds = match benchmark.kind {
        Kind::Clean(_) => plan.runs * (1 + checked),
        Kind::Racy(_) => checked,
    };
    1 + rounds * plan.threads.len()
}

pub(super) fn timed(
    plan: &Plan,
    benchmark: &'static Benchmark,
    module: &Module,
) -> Result<Timed, BenchFailure> {
    let failed = |kind, message| BenchFailure {
        program: benchmark.name,
        kind,
        message,
    };
    let counted = measured(plan.measure(benchmark, Under::Check(Passes::SEQUENTIAL), "counts"));
    let mut rounds: Vec<Round> = Vec::new();
    // What every run has to print.
    let mut line: Option<String> = None;
    for number in 1..=plan.runs {
        let mut on = Vec::new();
        for (index, threads) in plan.threads.iter().enumerate() {
            let words =
                |what: &str| format!("{what} on {threads}, round {number} of {}", plan.runs);
            let under = Under::Threads(*threads, None);
            let unchecked = measured(plan.measure(benchmark, under, &words("no checks")));
            let unchecked =
                unchecked.map_err(|why| failed(BenchFailureKind::Failed, why.message))?;
            let expected = line.get_or_insert_with(|| unchecked.printed.clone());
            same_line(expected, &unchecked)
                .map_err(|why| failed(BenchFailureKind::Failed, why.message))?;
            let before: Option<&OnThreads> = rounds.last().map(|round| &round.on[index]);
            let checked = plan.configurations.iter().enumerate();
            let checked = checked.map(|(column, configuration)| {
                if let Some(Err(why)) = before.map(|before| &before.checked[column]) {
                    return Err(why.clone());
                }
                supported(configuration, module)?;
                let under = configuration.under(*threads);
                let answer = plan.measure(benchmark, under, &words(&configuration.title));
                let measurement = measured(answer)?;
                same_line(expected, &measurement)?;
                Ok(measurement)
            });
            let checked = checked.collect();
            on.push(OnThreads { unchecked, checked });
        }
        rounds.push(Round { on });
    }
    Ok(Timed { rounds, counted })
}

pub(super) fn races(plan: &Plan, benchmark: &'static Benchmark, module: &Module) -> Races {
    let found = |configuration: &Configuration, threads: NonZero<usize>| {
        supported(configuration, module)?;
        let words = format!("{} on {threads}", configuration.title);
        match plan.measure(benchmark, configuration.under(threads), &words) {
            Ok(Answer::Race { locations, .. }) => Ok(locations),
            other => measured(other).map(|_| 0),
        }
    };
    let locations = plan.threads.iter().map(|threads| {
        let all = plan.configurations.iter();
        all.map(|configuration| found(configuration, *threads))
            .collect()
    });
    let locations = locations.collect();
    let serial = match plan.measure(benchmark, Under::Races, "serial") {
        Ok(Answer::Race {
            locations,
            distinct: Some(distinct),
            ..
        }) => Ok(SerialRaces {
            locations,
            distinct,
        }),
        other => measured(other).map(|_| SerialRaces {
            locations: 0,
            distinct: 0,
        }),
    };
    Races { locations, serial }
}

impl Plan<'_> {
    /// Measures a program in a process of its own. `what` is for the progress bar.
    fn measure(&self, benchmark: &Benchmark, under: Under, what: &str) -> Result<Answer, Stopped> {
        self.bar.set_message(format!("{}: {what}", benchmark.name));
        self.bar.inc(1);
        let program = format!("fastracer/{}", benchmark.name);
        let arguments = [self.size.argument()];
        process::measure(&self.finishline, &program, &arguments, under, self.limits)
    }
}

/// Whether the detector has rules for all constructs of the program.
fn supported(configuration: &Configuration, module: &Module) -> Result<(), NoFigures> {
    match check::unsupported(configuration.detector, module) {
        None => Ok(()),
        Some(used) => {
            let word = used.construct.word();
            Err(no_figures(
                Missing::Unsupported,
                format!("it has no rule for {word}"),
            ))
        }
    }
}

fn no_figures(kind: Missing, message: String) -> NoFigures {
    NoFigures { kind, message }
}

/// The measurement in an answer.
fn measured(answer: Result<Answer, Stopped>) -> Measured {
    let (kind, message) = match answer {
        Ok(Answer::Measured(measurement)) => return Ok(measurement),
        Ok(Answer::Race { message, .. }) => (Missing::Race, message),
        Ok(Answer::Failed { why, message }) => {
            let kind = match why {
                WhyFailed::Broken => Missing::Failed,
                WhyFailed::Memory => Missing::Memory,
                WhyFailed::Unsupported => Missing::Unsupported,
            };
            (kind, message)
        }
        Err(stopped) => {
            let kind = match stopped {
                Stopped::Late(_) => Missing::Timeout,
                Stopped::Big(_) => Missing::Memory,
                Stopped::Lost(_) => Missing::Failed,
            };
            (kind, stopped.to_string())
        }
    };
    Err(no_figures(kind, message))
}

/// Checks that a run prints what the others print.
fn same_line(expected: &str, found: &Measurement) -> Result<(), NoFigures> {
    let (expected, found) = (expected.trim_end(), found.printed.trim_end());
    match found == expected {
        true => Ok(()),
        false => {
            let message = format!("prints `{found}`, without checks on one thread `{expected}`");
            Err(no_figures(Missing::Failed, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_end_has_its_word() {
        let failed = |why| {
            Ok(Answer::Failed {
                why,
                message: String::new(),
            })
        };
        let race = Answer::Race {
            message: String::new(),
            locations: 1,
            distinct: None,
        };
        for (answer, kind) in [
            (failed(WhyFailed::Broken), Missing::Failed),
            (failed(WhyFailed::Memory), Missing::Memory),
            (failed(WhyFailed::Unsupported), Missing::Unsupported),
            (Ok(race), Missing::Race),
            (Err(Stopped::Late(Duration::ZERO)), Missing::Timeout),
            (Err(Stopped::Big(1)), Missing::Memory),
            (Err(Stopped::Lost(String::new())), Missing::Failed),
        ] {
            assert_eq!(measured(answer).expect_err("no measurement").kind, kind);
        }
    }

    #[test]
    fn another_line_is_no_measurement() {
        let printed = |line: &str| Measurement {
            printed: line.to_owned(),
            ..Measurement::default()
        };
        assert!(same_line("a\n", &printed("a\n")).is_ok());
        let why = same_line("a\n", &printed("b\n")).expect_err("another line");
        assert_eq!(why.message, "prints `b`, without checks on one thread `a`");
    }
}
