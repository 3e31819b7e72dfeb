//! What proofs spare a checked run: the accesses that the prover says race with nothing, for the arguments at hand.
//!
//! The prover is asked whenever the pass `proved` is made, with a budget so small that no check takes noticeably longer. What it
//! has not proved with that is checked as without it; so is everything, should it fail.

use finishline_fin::hir;
use finishline_ir::machine::Datum;
use finishline_model::{Pass, Passes};
use finishline_poly::{Budget, Detail, Harmless, Options};
use std::thread;

/// What the prover may take: about half a second. Counted in operations, it is the same checks that go, on any machine.
const BUDGET: Budget = Budget::Operations(1_000_000);

/// The accesses that can go unchecked in a run with these arguments, and those that integers which may wrap around
/// keep from it. None if that is not asked for.
pub(crate) fn harmless(program: hir::Program, arguments: &[Datum], passes: Passes) -> Harmless {
    if !passes.contains(Pass::Proved) {
        return Harmless::default();
    }
    let integers: Vec<Option<i64>> = (arguments.iter())
        .map(|argument| match argument {
            Datum::Int(value) => Some(*value),
            _ => None,
        })
        .collect();
    let options = Options {
        budget: BUDGET,
        detail: Detail::Verdicts,
    };
    let prover = thread::Builder::new()
        .spawn(move || finishline_poly::prove(&program, &options).for_arguments(&integers));
    let answer = prover.ok().and_then(|prover| prover.join().ok());
    answer.unwrap_or_default()
}
