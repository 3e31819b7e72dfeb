//! The accesses that a checked run need not check, because the prover says that they race with
//! nothing for the arguments at hand.
//!
//! The prover is asked if the pass `proved` is among the passes. Its budget is so small that no
//! check takes noticeably longer. Accesses that it has not proved within the budget are checked. If
//! it fails, all are.

use finishline_fin::hir;
use finishline_ir::machine::Datum;
use finishline_model::{Pass, Passes};
use finishline_poly::{Budget, Detail, Harmless, Options};
use std::thread;

/// The prover's budget: about half a second. It is counted in operations, so the same checks go on
/// any machine.
const BUDGET: Budget = Budget::Operations(1_000_000);

/// The accesses that can go unchecked in a run with these arguments, and those that integers which
/// may wrap around keep from it. None if that is not asked for.
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
