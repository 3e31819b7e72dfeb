//! Computes the figures of the table from the rounds of all programs.

use crate::bench::arithmetic::{geometric_mean, median, spread};
use crate::bench::measure::Round;
use crate::bench::one::Measurement;
use crate::bench::suite::{Benchmark, Elements, SUITE, find, size_word};
use crate::bench::{Column, Rounds};
use finishline_baseline::Size;
use finishline_model::Passes;
use finishline_report::bench::table::{
    BenchTable, CheckColumn, Checked, ChecksMade, Cost, Overall, ProgramRow, RustRow, Target, Unit,
    Worst,
};

/// The least memory for a meaningful ratio. Below it the system's inaccuracy would show.
const LEAST_MEMORY: u64 = 2 << 20;

pub(super) fn table(
    size: Size,
    rounds: usize,
    columns: &[Column],
    measured: Vec<Rounds>,
) -> BenchTable {
    let mut programs = Vec::new();
    let mut rust = Vec::new();
    let mut failures = Vec::new();
    for (benchmark, rounds) in measured {
        match rounds {
            Ok(rounds) => {
                programs.push(program_row(benchmark, columns, &rounds));
                rust.extend(rust_row(benchmark, &rounds));
            }
            Err(failure) => failures.push(failure),
        }
    }
    let columns: Vec<CheckColumn> = (columns.iter().enumerate())
        .filter_map(|(index, column)| check_column(column, index, &programs))
        .collect();
    BenchTable {
        size: size_word(size),
        rounds,
        optimised: !cfg!(debug_assertions),
        suite: SUITE.len(),
        targets: targets(size, &columns, &programs, &rust),
        columns,
        programs,
        rust,
        failures,
    }
}

fn program_row(benchmark: &Benchmark, columns: &[Column], rounds: &[Round]) -> ProgramRow {
    let baselines: Vec<&Measurement> = rounds.iter().map(|round| &round.baseline).collect();
    let baseline = cost(&baselines);
    let checked: Vec<Checked> = (columns.iter().enumerate())
        .map(|(index, column)| {
            let measured: Vec<&Measurement> =
                rounds.iter().map(|round| &round.checked[index]).collect();
            Checked {
                paper_slowdown: column.paper_slowdown.map(|slowdown| slowdown(benchmark)),
                ..checked(&measured, &baselines)
            }
        })
        .collect();
    let full = columns
        .iter()
        .position(|column| column.passes == Passes::NONE);
    let mut told = rounds.iter().flat_map(|round| &round.checked);
    ProgramRow {
        program: benchmark.name,
        tasks: told.find_map(|one| one.tasks).unwrap_or(0),
        accesses: full.map(|index| checked[index].made.single),
        baseline,
        checked,
    }
}

/// The figures with checks beside those without.
pub(super) fn checked(measured: &[&Measurement], baselines: &[&Measurement]) -> Checked {
    let (with, without) = (cost(measured), cost(baselines));
    Checked {
        cost: with,
        slowdown: spread(&ratios(measured, baselines)),
        paper_slowdown: None,
        task_bytes: measured.iter().map(|one| one.task_bytes).max().unwrap_or(0),
        memory_ratio: (without.memory_bytes >= LEAST_MEMORY)
            .then(|| with.memory_bytes as f64 / without.memory_bytes as f64),
        // The number of checks is the same in every round.
        made: measured
            .first()
            .map_or(ChecksMade::default(), |one| one.made()),
    }
}

fn rust_row(benchmark: &Benchmark, rounds: &[Round]) -> Option<RustRow> {
    let rust: Vec<&Measurement> = (rounds.iter())
        .map(|round| round.rust.as_ref())
        .collect::<Option<_>>()?;
    let fin: Vec<&Measurement> = rounds.iter().map(|round| &round.baseline).collect();
    Some(RustRow {
        program: benchmark.name,
        fin_seconds: spread(&seconds(&fin)),
        rust_seconds: spread(&seconds(&rust)),
        ratio: spread(&ratios(&fin, &rust)),
    })
}

pub(super) fn cost(measured: &[&Measurement]) -> Cost {
    let memory = |one: &&Measurement| one.peak_bytes.saturating_sub(one.start_bytes) as f64;
    let memory: Vec<f64> = measured.iter().map(memory).collect();
    let compile: Vec<f64> = measured.iter().map(|one| one.compile_seconds).collect();
    let optimise: Vec<f64> = measured.iter().map(|one| one.optimise_seconds).collect();
    Cost {
        seconds: spread(&seconds(measured)),
        memory_bytes: median(&memory) as u64,
        compile_seconds: median(&compile),
        optimise_seconds: median(&optimise),
    }
}

/// Never 0, although a clock may not have moved.
fn seconds(measured: &[&Measurement]) -> Vec<f64> {
    measured
        .iter()
        .map(|one| one.run_seconds.max(1e-9))
        .collect()
}

/// The ratios of times, round by round.
pub(super) fn ratios(these: &[&Measurement], those: &[&Measurement]) -> Vec<f64> {
    let pairs = seconds(these).into_iter().zip(seconds(those));
    pairs.map(|(this, that)| this / that).collect()
}

/// The figures of a column over all programs. None if there is no program.
fn check_column(column: &Column, index: usize, programs: &[ProgramRow]) -> Option<CheckColumn> {
    let of = |value: fn(&Checked) -> Option<f64>| {
        let values: Option<Vec<Worst>> = (programs.iter())
            .map(|row| {
                let value = value(&row.checked[index])?;
                let program = row.program;
                Some(Worst { program, value })
            })
            .collect();
        overall(&values?)
    };
    Some(CheckColumn {
        key: column.key.clone(),
        title: column.title.clone(),
        passes: column.passes,
        of_breakdown: column.of_breakdown,
        overall: of(|checked| Some(checked.slowdown.median))?,
        paper: of(|checked| checked.paper_slowdown),
    })
}

pub(super) fn overall(values: &[Worst]) -> Option<Overall> {
    let numbers: Vec<f64> = values.iter().map(|one| one.value).collect();
    Some(Overall {
        worst: worst(values.iter().copied())?,
        geometric_mean: geometric_mean(&numbers),
    })
}

pub(super) fn worst(values: impl Iterator<Item = Worst>) -> Option<Worst> {
    values.max_by(|a, b| a.value.total_cmp(&b.value))
}

/// The targets that these measurements can judge. A target without a named column is about all
/// checks.
fn targets(
    size: Size,
    columns: &[CheckColumn],
    programs: &[ProgramRow],
    rust: &[RustRow],
) -> Vec<Target> {
    let at = |passes| columns.iter().position(|column| column.passes == passes);
    let positions = [Passes::SEQUENTIAL, Passes::UNPROVED, Passes::ALL].map(at);
    let [Some(all_checks), Some(optimised), Some(with_proofs)] = positions else {
        return Vec::new();
    };
    let mut targets = Vec::new();
    let mut add = |(key, what), unit, limit, measured: Option<Measured>| {
        targets.extend(measured.map(|(measured, program)| Target {
            key,
            what,
            unit,
            limit,
            measured,
            program,
        }));
    };
    // At size small programs end too soon for a meaningful time.
    if size != Size::Small {
        for (column, mean, most, worst, most_at_worst) in [
            (
                &columns[all_checks],
                ("slowdown_geometric_mean", "slowdown, geometric mean"),
                2.5,
                ("slowdown_worst", "slowdown, worst"),
                6.0,
            ),
            (
                &columns[optimised],
                ("optimised_geometric_mean", "optimised, geometric mean"),
                1.25,
                ("optimised_worst", "optimised, worst"),
                3.0,
            ),
        ] {
            let overall = column.overall;
            let measured = Some((overall.geometric_mean, None));
            add(mean, Unit::Times, most, measured);
            add(worst, Unit::Times, most_at_worst, of(Some(overall.worst)));
        }
        add(
            ("with_proofs_geometric_mean", "with proofs, geometric mean"),
            Unit::Times,
            1.02,
            Some((columns[with_proofs].overall.geometric_mean, None)),
        );
        let affine = programs
            .iter()
            .filter(|row| find(row.program).is_some_and(|benchmark| benchmark.affine));
        let proved = affine.map(|row| Worst {
            program: row.program,
            value: row.checked[with_proofs].slowdown.median,
        });
        add(
            ("with_proofs_affine_worst", "with proofs, worst affine"),
            Unit::Times,
            1.05,
            of(worst(proved)),
        );
        let ratios = rust.iter().map(|row| Worst {
            program: row.program,
            value: row.ratio.median,
        });
        add(
            ("rust_ratio_worst", "Fin over Rust, worst"),
            Unit::Times,
            1.6,
            of(worst(ratios)),
        );
    }
    for (elements, name, limit) in [
        (
            Elements::Words,
            ("memory_ratio_words", "memory, 8-byte elements, worst"),
            3.0,
        ),
        (
            Elements::Bytes,
            ("memory_ratio_bytes", "memory, bytes, worst"),
            9.0,
        ),
    ] {
        let of_these = programs.iter().filter(|row| {
            find(row.program).is_some_and(|benchmark| benchmark.elements == elements)
        });
        let ratios = of_these.filter_map(|row| memory_ratio(row, &row.checked[all_checks]));
        add(name, Unit::Times, limit, of(worst(ratios)));
    }
    let compile = programs.iter().map(|row| {
        let checked = [all_checks, optimised].map(|index| &row.checked[index].cost);
        let costs = checked.into_iter().chain([&row.baseline]);
        Worst {
            program: row.program,
            value: costs.map(|cost| cost.compile_seconds).fold(0.0, f64::max),
        }
    });
    add(
        ("compile_seconds_longest", "compile time, longest"),
        Unit::Seconds,
        0.05,
        of(worst(compile)),
    );
    let optimise = programs.iter().map(|row| Worst {
        program: row.program,
        value: row.checked[optimised].cost.optimise_seconds,
    });
    add(
        ("optimise_seconds_longest", "of that, all passes, longest"),
        Unit::Seconds,
        0.02,
        of(worst(optimise)),
    );
    let crypt = programs
        .iter()
        .find(|row| size == Size::C && row.program == "crypt");
    let crypt = crypt.map(|row| Worst {
        program: row.program,
        value: row.checked[all_checks].cost.memory_bytes as f64,
    });
    add(
        ("crypt_memory_bytes", "memory of crypt with checks"),
        Unit::Bytes,
        2.5 * GIB,
        of(crypt),
    );
    targets
}

/// A value, and the program that decides it if a single one does.
type Measured = (f64, Option<&'static str>);

fn of(worst: Option<Worst>) -> Option<Measured> {
    worst.map(|worst| (worst.value, Some(worst.program)))
}

const GIB: f64 = (1_u64 << 30) as f64;

/// The memory ratio for the target. It leaves out the memory that the detector keeps for tasks.
fn memory_ratio(row: &ProgramRow, checked: &Checked) -> Option<Worst> {
    checked.memory_ratio?;
    let memory = checked.cost.memory_bytes.saturating_sub(checked.task_bytes);
    Some(Worst {
        program: row.program,
        value: memory as f64 / row.baseline.memory_bytes as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::columns;
    use finishline_report::bench::table::{BenchFailure, BenchFailureKind, Spread};

    fn measurement(run_seconds: f64, megabytes: u64, compile_seconds: f64) -> Measurement {
        Measurement {
            compile_seconds,
            optimise_seconds: compile_seconds / 4.0,
            run_seconds,
            peak_bytes: (megabytes + 10) << 20,
            start_bytes: 10 << 20,
            ..Measurement::default()
        }
    }

    /// The optimised program takes half the time and twice the time to compile. With proofs it
    /// takes a quarter, and three times.
    fn round(baseline: f64, checked: f64, rust: Option<f64>) -> Round {
        Round {
            baseline: measurement(baseline, 2, 0.01),
            checked: vec![
                Measurement {
                    tasks: Some(7),
                    task_bytes: 1 << 20,
                    ..measurement(checked, 9, 0.03)
                },
                measurement(checked / 2.0, 3, 0.06),
                measurement(checked / 4.0, 2, 0.09),
            ],
            rust: rust.map(|seconds| measurement(seconds, 1, 0.0)),
        }
    }

    /// sor: slowdowns 2, 8, 3; Fin over Rust 2, 0.5, 1. lufact: slowdown 12 twice.
    fn sample() -> BenchTable {
        let sor = vec![
            round(1.0, 2.0, Some(0.5)),
            round(0.5, 4.0, Some(1.0)),
            round(2.0, 6.0, Some(2.0)),
        ];
        let lufact = vec![round(1.0, 12.0, None), round(2.0, 24.0, None)];
        let crypt = BenchFailure {
            program: "crypt",
            kind: BenchFailureKind::Failed,
            message: "no".to_owned(),
        };
        let of = |name| find(name).expect("a benchmark");
        let measured = vec![
            (of("crypt"), Err(crypt)),
            (of("lufact"), Ok(lufact)),
            (of("sor"), Ok(sor)),
        ];
        table(Size::A, 3, &columns(false), measured)
    }

    fn target(table: &BenchTable, key: &str) -> Option<(f64, Option<&'static str>)> {
        let found = table.targets.iter().find(|target| target.key == key);
        found.map(|target| (target.measured, target.program))
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let table = sample();
        let [lufact, sor] = &table.programs[..] else {
            panic!("two programs were measured");
        };
        // The ratio of the medians would be 4.
        let slowdown = Spread {
            median: 3.0,
            least: 2.0,
            greatest: 8.0,
        };
        assert_eq!(sor.checked[0].slowdown, slowdown);
        assert_eq!(sor.baseline.seconds.median, 1.0);
        assert_eq!(sor.tasks, 7);
        assert_eq!(lufact.checked[0].slowdown.median, 12.0);
        let [rust] = &table.rust[..] else {
            panic!("one of them is there in Rust");
        };
        let ratio = Spread {
            median: 1.0,
            least: 0.5,
            greatest: 2.0,
        };
        assert_eq!(rust.ratio, ratio);
    }

    #[test]
    fn the_whole_is_over_all_programs_measured() {
        let table = sample();
        let column = &table.columns[0];
        // 3 · 12 = 36 = 6²
        assert!((column.overall.geometric_mean - 6.0).abs() < 1e-12);
        let worst = Worst {
            program: "lufact",
            value: 12.0,
        };
        assert_eq!(column.overall.worst, worst);
        let paper = column.paper.expect("the paper has the same column");
        assert_eq!(paper.worst.program, "sor");
        assert!((paper.geometric_mean - (12.45_f64 * 14.99).sqrt()).abs() < 1e-12);
        let optimised = &table.columns[1];
        assert!((optimised.overall.geometric_mean - 3.0).abs() < 1e-12);
        let paper = optimised.paper.expect("the paper has the same column");
        assert_eq!(paper.worst.program, "lufact");
    }

    #[test]
    fn targets_are_about_what_was_measured() {
        let table = sample();
        let mean = target(&table, "slowdown_geometric_mean").expect("a target");
        assert!((mean.0 - 6.0).abs() < 1e-12);
        assert_eq!(
            target(&table, "slowdown_worst"),
            Some((12.0, Some("lufact")))
        );
        assert_eq!(target(&table, "rust_ratio_worst"), Some((1.0, Some("sor"))));
        let compile = target(&table, "compile_seconds_longest").expect("a target");
        assert_eq!(compile.0, 0.06);
        // A quarter of that of the optimised program.
        let optimise = target(&table, "optimise_seconds_longest").expect("a target");
        assert_eq!(optimise.0, 0.015);
        let mean = target(&table, "optimised_geometric_mean").expect("a target");
        assert!((mean.0 - 3.0).abs() < 1e-12);
        assert_eq!(
            target(&table, "optimised_worst"),
            Some((6.0, Some("lufact")))
        );
        let mean = target(&table, "with_proofs_geometric_mean").expect("a target");
        assert!((mean.0 - 1.5).abs() < 1e-12);
        // For sor and lufact, which are both affine.
        assert_eq!(
            target(&table, "with_proofs_affine_worst"),
            Some((3.0, Some("lufact")))
        );
        // 9 MiB over 2 MiB is 4.5. Without the detector's 1 MiB for tasks it is 4.
        assert_eq!(table.programs[0].checked[0].memory_ratio, Some(4.5));
        let memory = target(&table, "memory_ratio_words").expect("a target");
        assert_eq!(memory.0, 4.0);
        assert_eq!(target(&table, "memory_ratio_bytes"), None);
        assert_eq!(target(&table, "crypt_memory_bytes"), None);
    }

    #[test]
    fn times_of_runs_have_no_target_at_size_small() {
        let sor = find("sor").expect("a benchmark");
        let measured = vec![(sor, Ok(vec![round(1.0, 2.0, Some(1.0))]))];
        let table = table(Size::Small, 1, &columns(false), measured);
        let keys: Vec<&str> = table.targets.iter().map(|target| target.key).collect();
        assert_eq!(
            keys,
            [
                "memory_ratio_words",
                "compile_seconds_longest",
                "optimise_seconds_longest"
            ]
        );
    }

    #[test]
    fn crypt_has_a_target_of_its_own_at_size_c() {
        let of = find("crypt").expect("a benchmark");
        let measured = vec![(of, Ok(vec![round(1.0, 1.0, Some(1.0))]))];
        let table = table(Size::C, 1, &columns(false), measured);
        let bytes = target(&table, "crypt_memory_bytes").expect("a target");
        assert_eq!(bytes.0, (9 << 20) as f64);
    }

    /// The time of each column encodes its position, so a misplaced column would show.
    #[test]
    fn a_breakdown_has_each_pass_alone_and_counts() {
        let columns = columns(true);
        let made = |(index, column): (usize, &Column)| Measurement {
            single_checks: match column.passes {
                Passes::NONE => 1000,
                Passes::UNPROVED => 10,
                _ => 500,
            },
            range_checks: 2,
            in_ranges: if column.passes == Passes::UNPROVED {
                90
            } else {
                0
            },
            ..measurement(index as f64 + 1.0, 2, 0.01)
        };
        let round = Round {
            baseline: measurement(1.0, 2, 0.01),
            checked: columns.iter().enumerate().map(made).collect(),
            rust: None,
        };
        let of = find("sor").expect("a benchmark");
        let table = table(Size::A, 1, &columns, vec![(of, Ok(vec![round]))]);
        let told: Vec<(&str, String, f64)> = (table.columns.iter())
            .map(|column| {
                let mean = column.overall.geometric_mean.round();
                (column.key.as_str(), column.passes.to_string(), mean)
            })
            .collect();
        let expected = [
            ("full", "full"),
            ("all_checks", "sequential"),
            ("proved", "proved,sequential"),
            ("contexts", "contexts,sequential"),
            ("read_only", "sequential,read-only"),
            ("task_local", "sequential,task-local"),
            ("ranges", "sequential,ranges"),
            ("loop_invariant", "sequential,loop-invariant"),
            ("dominated", "sequential,dominated"),
            ("optimised", "unproved"),
            ("with_proofs", "optimised"),
        ];
        for ((told, expected), position) in told.iter().zip(expected).zip(1..) {
            let (key, passes) = expected;
            assert_eq!(*told, (key, passes.to_owned(), f64::from(position)));
        }
        assert_eq!(told.len(), expected.len());
        let row = &table.programs[0];
        assert_eq!(row.accesses, Some(1000));
        let optimised = &row.checked[row.checked.len() - 2];
        assert_eq!(optimised.made.removed_of(1000), 900);
        // The targets are about the columns of the plain table.
        let mean = target(&table, "slowdown_geometric_mean").expect("a target");
        assert_eq!(mean.0.round(), 2.0);
        let mean = target(&table, "optimised_geometric_mean").expect("a target");
        assert_eq!(mean.0.round(), 10.0);
    }

    /// There is no time limit for programs that are not affine.
    #[test]
    fn proofs_are_held_to_affine_programs() {
        let of = |name| find(name).expect("a benchmark");
        let measured = vec![
            (of("series"), Ok(vec![round(1.0, 4.0, None)])),
            (of("sparse"), Ok(vec![round(1.0, 40.0, None)])),
        ];
        let table = table(Size::A, 1, &columns(false), measured);
        let expected = Some((1.0, Some("series")));
        assert_eq!(target(&table, "with_proofs_affine_worst"), expected);
    }

    #[test]
    fn little_memory_has_no_ratio() {
        let of = find("series").expect("a benchmark");
        let mut only = round(1.0, 1.0, None);
        only.baseline.peak_bytes = only.baseline.start_bytes + LEAST_MEMORY - 1;
        let table = table(Size::A, 1, &columns(false), vec![(of, Ok(vec![only]))]);
        assert_eq!(table.programs[0].checked[0].memory_ratio, None);
        assert_eq!(target(&table, "memory_ratio_words"), None);
    }

    #[test]
    fn nothing_measured_is_no_panic() {
        let table = table(Size::A, 1, &columns(false), Vec::new());
        assert!(table.columns.is_empty() && table.targets.is_empty());
    }
}
