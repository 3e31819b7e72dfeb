//! Random loop nests ([`crate::common::nest`]): what a run shows must not change.
//!
//! `FINISHLINE_SEEDS` and `FINISHLINE_SEED` run more, or others. A nest on which a pass errs is
//! shrunk and printed with its seed.

use crate::common::nest::{Maker, Nest};
use crate::common::{compile, limits, same};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_ir::machine::Limits;
use std::sync::atomic::{AtomicU64, Ordering};

const NESTS: u64 = 4_000;
/// Steps after which a nest is given up.
const FUEL: u64 = 100_000;

fn test(nest: &Nest, limits: Limits) -> Result<(u64, u64, bool), String> {
    let source = nest.render();
    let program = finishline_fin::compile("nest.fin", source.as_bytes());
    let Ok(program) = program else {
        return Ok((0, 0, false));
    };
    let fast = finishline_opt::for_speed(&program.module, finishline_model::Passes::NONE);
    Ok(match same(&program.module, &fast, &[], limits, FUEL)? {
        Some((before, after)) => (before.steps, after.steps, before.end != Some(Ok(()))),
        None => (0, 0, false),
    })
}

#[test]
fn nests_run_as_before() {
    let (first, count) = (
        setting("FINISHLINE_SEED", 1),
        setting("FINISHLINE_SEEDS", NESTS),
    );
    let (faster, failing) = (AtomicU64::new(0), AtomicU64::new(0));
    in_parallel(first..first + count, |seed| {
        let mut nest = Maker::nest(seed);
        compile(&nest.render());
        match test(&nest, limits(seed)) {
            Ok((before, after, fails)) => {
                faster.fetch_add(u64::from(after < before), Ordering::Relaxed);
                failing.fetch_add(u64::from(fails), Ordering::Relaxed);
            }
            Err(error) => {
                while let Some(smaller) = nest
                    .smaller()
                    .into_iter()
                    .find(|n| test(n, limits(seed)).is_err())
                {
                    nest = smaller;
                }
                let said = test(&nest, limits(seed)).expect_err("a shrunk nest still fails");
                panic!(
                    "seed {seed}: {error}\nshrunk: {said}\n{}\nrepeat: FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1 \
                     cargo test -p finishline-opt --test opt nests::",
                    nest.render()
                );
            }
        }
    });
    // Nests that all fail, or none, or that are never sped up, would show little.
    if count >= 1000 {
        let (faster, failing) = (faster.into_inner(), failing.into_inner());
        assert!(
            failing > count / 5 && failing < count * 4 / 5,
            "{failing} of {count} fail"
        );
        assert!(faster > count / 2, "{faster} of {count} take fewer steps");
    }
}
