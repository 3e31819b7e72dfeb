//! Computes the figures of the tables from the rounds of all programs.

use super::Plan;
use super::measure::{Races, Round, Timed};
use super::suite::{Benchmark, paper_slowdown};
use crate::bench::arithmetic::{geometric_mean, spread};
use crate::bench::one::Measurement;
use crate::bench::table::{checked, cost, overall, ratios};
use finishline_report::bench::fastracer::{
    DetectorColumn, FastRacerRow, FastRacerTable, Means, Missing, NoFigures, OnThreads, RacyRow,
    UnderDetector,
};
use finishline_report::bench::table::{BenchFailure, BenchFailureKind, Worst};
use std::time::Duration;

/// What was found out about a program.
pub(super) enum Found {
    Timed(&'static Benchmark, Result<Timed, BenchFailure>),
    /// With the number of races in the paper.
    Races(&'static Benchmark, u64, Races),
}

pub(super) fn table(
    size: &'static str,
    limit: Duration,
    plan: &Plan,
    found: Vec<Found>,
) -> FastRacerTable {
    let (mut programs, mut racy, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for one in found {
        match one {
            Found::Timed(_, Err(failure)) => failures.push(failure),
            Found::Timed(benchmark, Ok(timed)) => {
                let row = row(benchmark, plan, &timed);
                failures.extend(failures_of(&row, plan));
                programs.push(row);
            }
            Found::Races(benchmark, races, found) => racy.push(RacyRow {
                program: benchmark.name,
                paper_races: Some(races),
                locations: found.locations,
                serial: found.serial,
            }),
        }
    }
    let columns = plan.configurations.iter().enumerate();
    let columns = columns.map(|(index, configuration)| {
        let means = (0..plan.threads.len()).map(|threads| means(&programs, threads, index));
        DetectorColumn {
            key: configuration.key.clone(),
            title: configuration.title.clone(),
            detector: configuration.detector.name(),
            checks: configuration.passes.to_string(),
            means: means.collect(),
            paper_slowdown: paper_slowdown(configuration.detector),
        }
    });
    FastRacerTable {
        size,
        rounds: plan.runs,
        optimised: !cfg!(debug_assertions),
        threads: plan.threads.iter().map(|threads| threads.get()).collect(),
        limit: limit.as_secs_f64(),
        columns: columns.collect(),
        programs,
        racy,
        failures,
    }
}

fn row(benchmark: &'static Benchmark, plan: &Plan, timed: &Timed) -> FastRacerRow {
    let rounds = &timed.rounds;
    let unchecked = |threads: usize| -> Vec<&Measurement> {
        let on = rounds.iter().map(|round| &round.on[threads]);
        on.map(|on| &on.unchecked).collect()
    };
    let alone = unchecked(0);
    let on = (0..plan.threads.len()).map(|threads| {
        let without = unchecked(threads);
        let columns = plan.configurations.iter().enumerate();
        let checked = columns.map(|(column, configuration)| {
            let with = all_rounds(rounds, threads, column)?;
            Ok(UnderDetector {
                checked: checked(&with, &without),
                speedup: all_rounds(rounds, 0, column)
                    .ok()
                    .map(|alone| spread(&ratios(&alone, &with))),
                paper_memory_ratio: benchmark.paper_memory_ratio(configuration.detector),
            })
        });
        OnThreads {
            unchecked: cost(&without),
            speedup: spread(&ratios(&alone, &without)),
            checked: checked.collect(),
        }
    });
    let counted = timed.counted.as_ref().ok();
    FastRacerRow {
        program: benchmark.name,
        tasks: counted.and_then(|counted| counted.tasks),
        accesses: counted.map(|counted| counted.single_checks + counted.in_ranges),
        on: on.collect(),
    }
}

/// The measurements of a configuration, or why they are not complete.
fn all_rounds(
    rounds: &[Round],
    threads: usize,
    column: usize,
) -> Result<Vec<&Measurement>, NoFigures> {
    let all = rounds
        .iter()
        .map(|round| round.on[threads].checked[column].as_ref());
    all.collect::<Result<_, _>>().map_err(NoFigures::clone)
}

/// The means of a column over the programs that have figures. None if there are no such programs.
fn means(programs: &[FastRacerRow], threads: usize, column: usize) -> Option<Means> {
    let known = programs.iter().filter_map(|row| {
        let under = row.on[threads].checked[column].as_ref().ok()?;
        Some((row.program, under))
    });
    let slowdowns: Vec<Worst> = (known.clone())
        .map(|(program, under)| Worst {
            program,
            value: under.checked.slowdown.median,
        })
        .collect();
    let speedups = known.clone().filter_map(|(_, under)| under.speedup);
    let speedups: Vec<f64> = speedups.map(|speedup| speedup.median).collect();
    let memory = known.filter_map(|(_, under)| under.checked.memory_ratio);
    let memory: Vec<f64> = memory.collect();
    let mean = |values: &[f64]| (!values.is_empty()).then(|| geometric_mean(values));
    Some(Means {
        programs: slowdowns.len(),
        slowdown: overall(&slowdowns)?,
        speedup: mean(&speedups),
        memory_ratio: mean(&memory),
    })
}

/// Detectors that are wrong about a program or broke. To be stopped or to have no rule is no
/// failure.
fn failures_of(row: &FastRacerRow, plan: &Plan) -> Vec<BenchFailure> {
    let mut failures = Vec::new();
    for (threads, on) in plan.threads.iter().zip(&row.on) {
        for (configuration, one) in plan.configurations.iter().zip(&on.checked) {
            let Err(NoFigures { kind, message }) = one else {
                continue;
            };
            let kind = match kind {
                Missing::Race => BenchFailureKind::Race,
                Missing::Failed => BenchFailureKind::Failed,
                Missing::Timeout | Missing::Memory | Missing::Unsupported => continue,
            };
            let title = &configuration.title;
            failures.push(BenchFailure {
                program: row.program,
                kind,
                message: format!("{title} on {threads}: {message}"),
            });
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::fastracer::measure::{self, Measured};
    use crate::bench::fastracer::suite::find;
    use crate::bench::fastracer::{Configuration, SUITE};
    use crate::bench::process::Limits;
    use finishline_baseline::Size;
    use finishline_model::{Detector, Passes};
    use finishline_report::bench::fastracer::SerialRaces;
    use indicatif::ProgressBar;
    use std::num::NonZero;
    use std::path::PathBuf;

    fn measurement(run_seconds: f64, megabytes: u64) -> Measurement {
        Measurement {
            run_seconds,
            peak_bytes: megabytes << 20,
            tasks: Some(3),
            single_checks: 10,
            in_ranges: 5,
            ..Measurement::default()
        }
    }

    fn missing(kind: Missing) -> NoFigures {
        NoFigures {
            kind,
            message: "why".to_owned(),
        }
    }

    /// Two threads are twice as fast as one without checks, and 1.5 times as fast with them.
    fn round(scale: f64, second: &Measured) -> Round {
        let on = |unchecked: f64, checked: f64| measure::OnThreads {
            unchecked: measurement(unchecked * scale, 10),
            checked: vec![Ok(measurement(checked * scale, 30)), second.clone()],
        };
        Round {
            on: vec![on(2.0, 6.0), on(1.0, 4.0)],
        }
    }

    #[test]
    fn figures_are_of_one_number_of_threads_and_over_the_programs_that_have_some() {
        let bar = ProgressBar::hidden();
        let configuration = |key: &str, passes| Configuration {
            key: key.to_owned(),
            title: key.to_owned(),
            detector: Detector::Spd3,
            passes,
        };
        let plan = Plan {
            finishline: PathBuf::new(),
            size: Size::Small,
            runs: 2,
            threads: [1, 2].map(|count| NonZero::new(count).unwrap()).into(),
            configurations: vec![
                configuration("first", Passes::SEQUENTIAL),
                configuration("second", Passes::ALL),
            ],
            limits: Limits::new(Duration::ZERO),
            bar: &bar,
        };
        let timed = |second: &Measured| Timed {
            rounds: vec![round(1.0, second), round(3.0, second)],
            counted: Ok(measurement(1.0, 1)),
        };
        let found = vec![
            Found::Timed(&SUITE[0], Ok(timed(&Err(missing(Missing::Timeout))))),
            Found::Timed(&SUITE[1], Ok(timed(&Err(missing(Missing::Race))))),
            Found::Races(
                find("sort_racy").unwrap(),
                1024,
                Races {
                    locations: vec![vec![Ok(1), Ok(2)], vec![Ok(3), Ok(4)]],
                    serial: Ok(SerialRaces {
                        locations: 5,
                        distinct: 6,
                    }),
                },
            ),
        ];
        let table = table("small", Duration::from_secs(1), &plan, found);
        assert_eq!(table.threads, [1, 2]);
        let row = &table.programs[0];
        assert_eq!((row.tasks, row.accesses), (Some(3), Some(15)));
        let slowdown = |threads: usize| {
            let under = row.on[threads].checked[0].as_ref().expect("figures");
            (under.checked.slowdown.median, under.speedup.expect("one"))
        };
        assert_eq!(slowdown(0).0, 3.0);
        let (slower, speedup) = slowdown(1);
        assert_eq!((slower, speedup.median), (4.0, 1.5));
        assert_eq!(row.on[1].speedup.median, 2.0);
        let [first, second] = &table.columns[..] else {
            panic!("two columns");
        };
        let means = first.means[1].expect("figures");
        assert_eq!(means.programs, 2);
        assert!((means.slowdown.geometric_mean - 4.0).abs() < 1e-9);
        let ratio = means.memory_ratio.expect("enough memory");
        assert!((ratio - 3.0).abs() < 1e-9);
        assert_eq!(second.means, [None, None]);
        // A race in a program without races is a failure, being late is none.
        let kinds: Vec<_> = table.failures.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [BenchFailureKind::Race; 2]);
        assert_eq!(table.racy[0].locations[1][0], Ok(3));
    }
}
