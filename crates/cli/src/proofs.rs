//! What proofs spare a checked run: the accesses that the prover says race with nothing, for the arguments at hand.
//!
//! The prover is asked whenever the pass `proved` is made, and it is waited for so little that no check takes noticeably longer. What it
//! has not proved by then is checked as without it; so is everything, should it fail.

use finishline_fin::hir;
use finishline_ir::machine::Datum;
use finishline_model::{AccessId, Pass, Passes};
use finishline_poly::Options;
use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// What the prover may take.
const BUDGET: Duration = Duration::from_millis(500);

/// The accesses that can go unchecked in a run with these arguments. None if that is not asked for.
pub(crate) fn harmless(
    program: hir::Program,
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
    let options = Options {
        timeout: BUDGET,
        dataflow: false,
    };
    let (answer, answered) = mpsc::channel();
    // It is not stopped when time is up: it ends by itself soon after, or with the process.
    let prover = thread::Builder::new().spawn(move || {
        let harmless = finishline_poly::prove(&program, &options).harmless(&integers);
        // Nobody may be waiting any more.
        let _ = answer.send(harmless);
    });
    let waited = prover.map(|_| answered.recv_timeout(BUDGET));
    waited.ok().and_then(Result::ok).unwrap_or_default()
}
