//! The accesses that a checked run need not check, because they are proved to race with nothing for
//! the given arguments.
//!
//! The prover is asked if the pass `proved` is among the passes. Its budget is so small that no
//! check takes noticeably longer. Accesses that are not proved within the budget are checked. If
//! the prover fails, all accesses are checked.

use finishline_fin::hir;
use finishline_ir::machine::Datum;
use finishline_model::{Pass, Passes};
use finishline_poly::{Budget, Detail, Harmless, Options};
use std::thread;

/// The prover's budget: about half a second. It is counted in operations, so the same checks are
/// removed on any machine.
const BUDGET: Budget = Budget::Operations(1_000_000);

/// The accesses that need no check in a run with these arguments, and those that are unproved only
/// because integers may wrap around. Both are empty if the pass is not asked for.
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
