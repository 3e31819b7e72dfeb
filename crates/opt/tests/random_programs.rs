//! Random Fin programs: a pass must leave what it promises to leave.
//!
//! The seeds are fixed; `FINISHLINE_SEEDS` and `FINISHLINE_SEED` run more, or others. A program on which a pass errs is shrunk and
//! printed with its seed.

mod common;

use common::{compile, limits, same};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::random::Ownership;
use finishline_generate::{Program, Settings, program, render, shrink};

const PROGRAMS: u64 = 6_000;
/// Far more than the generator lets a program execute.
const FUEL: u64 = 10_000_000;

/// Which programs a seed stands for.
fn settings(seed: u64) -> Settings {
    match seed % 5 {
        0 => Settings {
            data_dependent: true,
            traps: true,
            ..Settings::default()
        },
        1 => Settings {
            ownership: Ownership::Ignored,
            focus: 60,
            ..Settings::default()
        },
        2 => Settings::spawn_sync(),
        3 => Settings {
            data_dependent: true,
            ..Settings::default()
        },
        _ => Settings::default(),
    }
}

fn hold(test: impl Fn(&Program, u64) -> Result<(), String> + Sync) {
    let (first, count) = (
        setting("FINISHLINE_SEED", 1),
        setting("FINISHLINE_SEEDS", PROGRAMS),
    );
    in_parallel(first..first + count, |seed| {
        let program = program(seed, &settings(seed));
        if let Err(error) = test(&program, seed) {
            let small = shrink(&program, &mut |program| test(program, seed).is_err());
            let said = test(&small, seed).expect_err("a shrunk program still fails");
            panic!(
                "seed {seed}: {error}\nshrunk: {said}\n{}\nrepeat: FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1 \
                 cargo test -p finishline-opt --test random_programs",
                render(&small)
            );
        }
    });
}

#[test]
fn for_speed_changes_nothing_that_shows() {
    hold(|program, seed| {
        let module = compile(&render(program));
        let fast = finishline_opt::for_speed(&module, finishline_model::Passes::NONE);
        same(&module, &fast, &[], limits(seed), FUEL).map(|_| ())
    });
}
