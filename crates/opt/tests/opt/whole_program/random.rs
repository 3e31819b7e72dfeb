//! Random programs, and all those of the suite: no set of passes changes which locations race, or
//! any other event.
//!
//! `FINISHLINE_SEED` and `FINISHLINE_SEEDS` run other random programs, or more. One on which a pass
//! errs is shrunk and printed.

use crate::common::races::Checked;
use crate::common::suite::{load, programs};
use crate::common::{compile, limits};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::random::Ownership;
use finishline_generate::{Program, Settings, program, render, shrink};
use finishline_ir::machine::Limits;
use finishline_model::{Pass, Passes};
use std::collections::BTreeMap;
use std::sync::Mutex;

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
        3 if seed.is_multiple_of(2) => Settings::locks(seed / 5),
        3 => Settings::promises(seed / 5),
        _ => Settings::default(),
    }
}

const WHOLE_PROGRAM: [Pass; 4] = [
    Pass::Contexts,
    Pass::Sequential,
    Pass::ReadOnly,
    Pass::TaskLocal,
];

/// Every set of these passes.
pub(crate) fn subsets() -> impl Iterator<Item = Passes> {
    let all: Passes = WHOLE_PROGRAM.into_iter().collect();
    Passes::subsets().filter(move |some| some.intersection(all) == *some)
}

/// How many checks a run is spared by some of the sets of passes, which the seed chooses.
fn same_races(program: &Program, seed: u64) -> Result<Vec<(Passes, usize)>, String> {
    let module = compile(&render(program));
    let run = Checked::new(&module, &[], limits(seed));
    let chosen = subsets().zip(seed..).filter(|(_, n)| n % 5 == 0);
    chosen
        .map(|(passes, _)| Ok((passes, run.without(passes)?)))
        .collect()
}

#[test]
fn no_set_of_passes_changes_the_races_of_a_random_program() {
    let (first, count) = (
        setting("FINISHLINE_SEED", 1),
        setting("FINISHLINE_SEEDS", 3_000),
    );
    let spared = Mutex::new(BTreeMap::new());
    in_parallel(first..first + count, |seed| {
        let program = program(seed, &settings(seed));
        match same_races(&program, seed) {
            Ok(checks) => {
                for (passes, checks) in checks {
                    let mut spared = spared.lock().expect("no test has failed");
                    *spared.entry(passes.to_string()).or_insert(0) += u64::from(checks > 0);
                }
            }
            Err(error) => {
                let small = shrink(&program, &mut |program| same_races(program, seed).is_err());
                panic!("seed {seed}: {error}\n{}", render(&small));
            }
        }
    });
    // That the comparison is one of something: how many programs each pass alone does something to.
    if count >= 1000 {
        let spared = spared.into_inner().expect("no test has failed");
        for pass in [Pass::Sequential, Pass::ReadOnly, Pass::TaskLocal] {
            let programs = spared[pass.name()];
            assert!(programs > count / 50, "{pass}: {programs} of {count}");
        }
        assert_eq!(spared[Pass::Contexts.name()], 0);
    }
}

#[test]
fn no_set_of_passes_changes_the_races_of_the_suite() {
    let programs = programs();
    assert!(programs.len() > 24);
    let memory = Limits {
        memory: 1 << 28,
        ..Limits::default()
    };
    in_parallel(0..programs.len() as u64, |index| {
        let path = &programs[index as usize];
        let Some((module, arguments)) = load(path) else {
            return;
        };
        let run = Checked::new(&module, &arguments, memory);
        for passes in subsets() {
            run.without(passes)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    });
}
