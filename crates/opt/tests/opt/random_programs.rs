//! Random Fin programs: a pass must leave what it promises to leave, and texts are read back.
//!
//! The seeds are fixed; `FINISHLINE_SEEDS` and `FINISHLINE_SEED` run more, or others. A program on
//! which a pass errs is shrunk and printed with its seed.

use crate::common::round_trip::round_trip;
use crate::common::{compile, limits, same};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::random::Ownership;
use finishline_generate::{Program, Settings, program, render, shrink};
use finishline_model::Passes;
use finishline_opt::{for_speed, reduce};

const PROGRAMS: u64 = 6_000;
/// Far more than the generator lets a program execute.
const FUEL: u64 = 10_000_000;

/// Which programs a seed stands for.
fn settings(seed: u64) -> Settings {
    match seed % 7 {
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
        4 => Settings::wrapping(),
        5 if seed.is_multiple_of(2) => Settings::locks(seed / 7),
        5 => Settings::promises(seed / 7),
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
                 cargo test -p finishline-opt --test opt random_programs::",
                render(&small)
            );
        }
    });
}

#[test]
fn for_speed_changes_nothing_that_shows() {
    hold(|program, seed| {
        let module = compile(&render(program));
        let fast = for_speed(&module, Passes::NONE);
        same(&module, &fast, &[], limits(seed), FUEL).map(|_| ())
    });
}

#[test]
fn the_text_is_read_back() {
    hold(|program, _| {
        let module = compile(&render(program));
        round_trip(&module)?;
        let reduced = reduce(&module, Passes::ALL);
        round_trip(&reduced)?;
        round_trip(&for_speed(&module, Passes::ALL))
    });
}
