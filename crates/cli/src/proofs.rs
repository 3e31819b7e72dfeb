//! What proofs spare a checked run: the accesses that the prover says conflict with no parallel one, for the arguments at hand.
//!
//! The prover is asked whenever the pass `proved` is made, and gets so little time that no check takes noticeably longer for it.
//! What it has not proved by then is checked as without it.

use finishline_fin::Program;
use finishline_ir::machine::Datum;
use finishline_model::{AccessId, Pass, Passes};
use finishline_poly::Options;
use std::collections::BTreeSet;
use std::time::Duration;

/// What the prover may take.
const BUDGET: Duration = Duration::from_millis(200);

/// The accesses that can go unchecked in a run with these arguments. None if that is not asked for.
pub(crate) fn harmless(
    program: &Program,
    arguments: &[Datum],
    passes: Passes,
) -> BTreeSet<AccessId> {
    if !passes.contains(Pass::Proved) {
        return BTreeSet::new();
    }
    let integers: Vec<Option<i64>> = (arguments.iter())
        .map(|argument| match argument {
            Datum::Int(value) => Some(*value),
            _ => None,
        })
        .collect();
    let answer = finishline_poly::prove(&program.hir, &Options { timeout: BUDGET });
    answer.harmless(&integers)
}
