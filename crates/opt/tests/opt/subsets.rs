//! Every subset of the passes that leave checks out keeps the racing locations, on random programs,
//! on random loop nests with tasks in them and on every program of `programs/`: verdict and
//! locations are those of all checks, which other suites compare with the oracle.
//!
//! `FINISHLINE_SEEDS` and `FINISHLINE_SEED` run more, or others. What goes wrong is shrunk and
//! printed with its seed.

use crate::common::nest::Maker;
use crate::common::{both_forms, compile};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::random::Ownership;
use finishline_generate::rng::Rng;
use finishline_generate::{Settings, program, render, shrink};
use finishline_model::Passes;
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 3_000;
const NESTS: u64 = 3_000;

fn seeds(count: u64) -> std::ops::Range<u64> {
    let first = setting("FINISHLINE_SEED", 1);
    first..first + setting("FINISHLINE_SEEDS", count)
}

/// All passes for a third of the seeds, any of the subsets for the others.
fn passes(seed: u64) -> Passes {
    if seed.is_multiple_of(3) {
        return Passes::ALL;
    }
    let all: Vec<Passes> = Passes::subsets().collect();
    all[Rng::new(seed ^ 0x5eed).index(all.len())]
}

fn settings(seed: u64) -> Settings {
    match seed % 5 {
        0 => Settings::spawn_sync(),
        1 => Settings {
            ownership: Ownership::Ignored,
            focus: 60,
            ..Settings::default()
        },
        2 => Settings {
            data_dependent: true,
            traps: true,
            ..Settings::default()
        },
        3 if seed.is_multiple_of(2) => Settings::locks(seed / 5),
        3 => Settings::promises(seed / 5),
        _ => Settings::default(),
    }
}

/// A source that is shrunk too far is no counter-example.
fn same(source: String, seed: u64, fuel: u64) -> Result<usize, String> {
    match finishline_fin::compile("test.fin", source.as_bytes()) {
        Ok(program) => both_forms::same(&program.module, passes(seed), fuel),
        Err(_) => Ok(0),
    }
}

#[test]
fn random_programs_race_as_before() {
    let spared = AtomicU64::new(0);
    let range = seeds(PROGRAMS);
    let count = range.end - range.start;
    in_parallel(range, |seed| {
        let test = |program: &_| same(render(program), seed, 10_000_000);
        let program = program(seed, &settings(seed));
        compile(&render(&program));
        match test(&program) {
            Ok(checks) => {
                spared.fetch_add(u64::from(checks > 0), Ordering::Relaxed);
            }
            Err(error) => {
                let small = shrink(&program, &mut |program| test(program).is_err());
                let said = test(&small).expect_err("a shrunk program still fails");
                panic!("seed {seed}: {error}\nshrunk: {said}\n{}", render(&small));
            }
        }
    });
    let spared = spared.into_inner();
    assert!(
        count < 1000 || spared > count / 3,
        "{spared} of {count} have fewer checks"
    );
}

#[test]
fn nests_race_as_before() {
    let spared = AtomicU64::new(0);
    let range = seeds(NESTS);
    let count = range.end - range.start;
    in_parallel(range, |seed| {
        let test = |source: String| same(source, seed, 50_000);
        let mut nest = Maker::parallel_nest(seed);
        compile(&nest.render());
        match test(nest.render()) {
            Ok(checks) => {
                spared.fetch_add(u64::from(checks > 0), Ordering::Relaxed);
            }
            Err(error) => {
                let fails = |nest: &crate::common::nest::Nest| test(nest.render()).is_err();
                while let Some(smaller) = nest.smaller().into_iter().find(fails) {
                    nest = smaller;
                }
                let said = test(nest.render()).expect_err("a shrunk nest still fails");
                panic!("seed {seed}: {error}\nshrunk: {said}\n{}", nest.render());
            }
        }
    });
    let spared = spared.into_inner();
    assert!(
        count < 1000 || spared > count / 3,
        "{spared} of {count} have fewer checks"
    );
}
