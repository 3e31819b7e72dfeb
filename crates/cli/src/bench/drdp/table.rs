//! Computes the figures of the tables from the rounds of all programs.

use super::measure::{Round, shown};
use super::suite::{Benchmark, SUITE, Size};
use crate::bench::arithmetic::geometric_mean;
use crate::bench::one::Measurement;
use crate::bench::table::{checked, cost, worst};
use finishline_report::bench::drdp::{DrdpRow, DrdpTable, Ours, TraversalRow, Twin, UnderDrdp};
use finishline_report::bench::table::{BenchFailure, Overall, Target, Unit, Worst};

/// All rounds of a program, or why there are none.
type Rounds = (&'static Benchmark, Result<Vec<Round>, BenchFailure>);

pub(super) fn table(
    size: Size,
    rounds: usize,
    measured: Vec<Rounds>,
    traversals: Vec<TraversalRow>,
    twin: Twin,
) -> DrdpTable {
    let mut programs = Vec::new();
    let mut failures = Vec::new();
    for (benchmark, rounds) in measured {
        match rounds {
            Ok(rounds) => programs.push(row(benchmark, size, &rounds)),
            Err(failure) => failures.push(failure),
        }
    }
    let overall = overall(&programs);
    DrdpTable {
        size: size.word(),
        rounds,
        optimised: !cfg!(debug_assertions),
        suite: SUITE.len(),
        targets: targets(size, &programs, overall.as_ref()),
        overall,
        programs,
        traversals,
        twin,
        failures,
    }
}

fn row(benchmark: &'static Benchmark, size: Size, rounds: &[Round]) -> DrdpRow {
    let baselines: Vec<&Measurement> = rounds.iter().map(|round| &round.baseline).collect();
    let ours = |which: fn(&Round) -> &Measurement| {
        let measured: Vec<&Measurement> = rounds.iter().map(which).collect();
        Ours {
            checked: checked(&measured, &baselines),
            questions: measured[0].questions,
            comparisons: measured[0].comparisons,
        }
    };
    let drdp: Result<Vec<&Measurement>, &String> =
        rounds.iter().map(|round| round.drdp.as_ref()).collect();
    let drdp = drdp.map_err(String::clone).and_then(|measured| {
        let counted = measured[0].drdp.ok_or("it counted nothing")?;
        Ok(UnderDrdp {
            checked: checked(&measured, &baselines),
            reads: counted.reads,
            writes: counted.writes,
            height: counted.height,
            tree_joins: counted.tree_joins,
            non_tree_joins: counted.non_tree_joins,
        })
    });
    DrdpRow {
        program: benchmark.name,
        arguments: shown(benchmark.arguments(size)),
        tasks: rounds[0].all_checks.tasks.unwrap_or(0),
        baseline: cost(&baselines),
        all_checks: ours(|round| &round.all_checks),
        default: ours(|round| &round.default),
        drdp,
        paper_slowdown: benchmark.paper.slowdown(),
        paper_memory_ratio: benchmark.paper.memory_ratio(),
    }
}

/// The slowdowns with all checks and with the default ones. None if there is no program.
fn overall(programs: &[DrdpRow]) -> Option<[Overall; 2]> {
    let of = |ours: fn(&DrdpRow) -> &Ours| {
        let slowdown = |row: &DrdpRow| ours(row).checked.slowdown.median;
        let values: Vec<f64> = programs.iter().map(slowdown).collect();
        Some(Overall {
            geometric_mean: geometric_mean(&values),
            worst: worst(programs.iter().map(|row| Worst {
                program: row.program,
                value: slowdown(row),
            }))?,
        })
    };
    Some([of(|row| &row.all_checks)?, of(|row| &row.default)?])
}

/// The targets that these measurements can judge.
fn targets(size: Size, programs: &[DrdpRow], overall: Option<&[Overall; 2]>) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut add = |(key, what), unit, limit, found: Option<(f64, Option<&'static str>)>| {
        targets.extend(found.map(|(measured, program)| Target {
            key,
            what,
            unit,
            limit,
            measured,
            program,
        }));
    };
    let of = |worst: Option<Worst>| worst.map(|worst| (worst.value, Some(worst.program)));
    // At size small programs end too soon for a meaningful time.
    if let Some([all, default]) = overall
        && size != Size::Small
    {
        for (name, limit, overall) in [
            (
                ("slowdown_geometric_mean", "all checks, geometric mean"),
                4.0,
                all,
            ),
            (
                ("default_geometric_mean", "default, geometric mean"),
                2.0,
                default,
            ),
        ] {
            let mean = Some((overall.geometric_mean, None));
            add(name, Unit::Times, limit, mean);
        }
    }
    let ratios = programs.iter().filter_map(|row| {
        let ratios = [&row.all_checks, &row.default].map(|ours| ours.checked.memory_ratio);
        let value = ratios.into_iter().flatten().reduce(f64::max)?;
        let program = row.program;
        Some(Worst { program, value })
    });
    add(
        ("memory_ratio_worst", "memory, worst"),
        Unit::Times,
        4.0,
        of(worst(ratios)),
    );
    let comparisons = programs.iter().filter_map(|row| {
        let each = [&row.all_checks, &row.default].map(Ours::comparisons_each);
        let value = each.into_iter().flatten().reduce(f64::max)?;
        let program = row.program;
        Some(Worst { program, value })
    });
    add(
        ("comparisons_worst", "comparisons a question, worst"),
        Unit::Number,
        2.0,
        of(worst(comparisons)),
    );
    let big = programs.iter().filter(|row| row.tasks >= 2_000_000);
    let big = big.map(|row| Worst {
        program: row.program,
        value: row.all_checks.checked.cost.memory_bytes as f64,
    });
    add(
        ("two_million_tasks_bytes", "memory of two million tasks"),
        Unit::Bytes,
        2.0 * (1_u64 << 30) as f64,
        of(worst(big)),
    );
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::drdp::suite::find;

    fn measurement(run_seconds: f64, megabytes: u64) -> Measurement {
        Measurement {
            run_seconds,
            peak_bytes: megabytes << 20,
            tasks: Some(3),
            questions: 10,
            comparisons: 15,
            ..Measurement::default()
        }
    }

    fn round(scale: f64, drdp: Result<Measurement, String>) -> Round {
        Round {
            baseline: measurement(scale, 10),
            all_checks: measurement(3.0 * scale, 20),
            default: measurement(1.5 * scale, 30),
            drdp,
        }
    }

    #[test]
    fn figures_are_over_all_rounds_and_programs() {
        let stopped = || Err("out of memory".to_owned());
        let counted = Measurement {
            drdp: Some(crate::bench::one::Counted::default()),
            ..measurement(40.0, 50)
        };
        let measured = vec![
            (find("sort").unwrap(), Ok(vec![round(1.0, stopped())])),
            (
                find("poisson").unwrap(),
                Ok(vec![
                    round(1.0, Ok(counted.clone())),
                    round(2.0, Ok(counted)),
                ]),
            ),
        ];
        let twin = Twin::Missing("no".to_owned());
        let table = table(Size::Medium, 2, measured, Vec::new(), twin);
        let [all, default] = table.overall.expect("two programs");
        assert!((all.geometric_mean - 3.0).abs() < 1e-9);
        assert!((default.geometric_mean - 1.5).abs() < 1e-9);
        let [sort, poisson] = &table.programs[..] else {
            panic!("two rows");
        };
        assert_eq!(sort.drdp.as_ref().unwrap_err(), "out of memory");
        let drdp = poisson.drdp.as_ref().expect("measured");
        assert_eq!(drdp.checked.slowdown.median, 30.0);
        assert_eq!(sort.all_checks.comparisons_each(), Some(1.5));
        let target = |key: &str| {
            let found = table.targets.iter().find(|target| target.key == key);
            found.map(|target| target.measured)
        };
        assert_eq!(target("memory_ratio_worst"), Some(3.0));
        assert_eq!(target("comparisons_worst"), Some(1.5));
        assert_eq!(target("two_million_tasks_bytes"), None);
    }
}
