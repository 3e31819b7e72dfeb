//! Random Fin programs: every detector must agree with the oracle on each of them.
//!
//! The seeds are fixed. `FINISHLINE_SEEDS` and `FINISHLINE_SEED` run more, or others (`cargo xtask
//! soak`). A program on which they disagree is shrunk and printed with its seed.

use crate::common::{Judge, Judged, compile, record};
use finishline_generate::campaign::{in_parallel_with, setting};
use finishline_generate::random::Ownership;
use finishline_generate::{Program, Settings, program, render, shrink};
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 25_000;
const FIRST_SEED: u64 = 1;
/// Far more than the generator lets a program execute.
const FUEL: u64 = 10_000_000;

fn judge(judge: &mut Judge, program: &Program) -> Result<Judged, String> {
    let module = compile(&render(program))?;
    let records = record(&module, FUEL)?;
    judge.judge(&module, &records)
}

#[test]
fn detectors_agree_with_the_oracle() {
    let (first, count) = (
        setting("FINISHLINE_SEED", FIRST_SEED),
        setting("FINISHLINE_SEEDS", PROGRAMS),
    );
    let (racy, ordered) = (AtomicU64::new(0), AtomicU64::new(0));
    in_parallel_with(first..first + count, Judge::new, |judges, seed| {
        let settings = Settings::of_seed(seed);
        let program = program(seed, &settings);
        match judge(judges, &program) {
            Ok(judged) => {
                if settings.ownership == Ownership::Kept {
                    assert!(
                        judged.racing.is_empty(),
                        "seed {seed} is free of races by construction"
                    );
                }
                racy.fetch_add(u64::from(!judged.real.is_empty()), Ordering::Relaxed);
                ordered.fetch_add(u64::from(judged.real != judged.racing), Ordering::Relaxed);
            }
            Err(error) => {
                // Shrink to a program that fails in the same way: detectors disagree, or it is
                // refused.
                let refused = error.starts_with("error");
                let small = shrink(&program, &mut |program| match judge(judges, program) {
                    Ok(_) => false,
                    Err(error) => error.starts_with("error") == refused,
                });
                let said = judge(judges, &small).expect_err("a shrunk program still fails");
                panic!(
                    "seed {seed}: {error}\nshrunk: {said}\n{}\n\
                     repeat: FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1 \
                     cargo test -p finishline-engine --test engine random_programs::",
                    render(&small)
                );
            }
        }
    });
    // The programs must not all be of one kind, or the comparison shows little.
    if count >= 1000 {
        let (racy, ordered) = (racy.into_inner(), ordered.into_inner());
        assert!(
            racy > count / 5 && racy < count * 4 / 5,
            "{racy} of {count} race"
        );
        assert!(
            ordered > count / 500,
            "{ordered} of {count} have races that isolated blocks order"
        );
    }
}
