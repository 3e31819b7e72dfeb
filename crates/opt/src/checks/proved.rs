//! Proofs: no check for an access that can't conflict with a parallel one.
//!
//! **What is removed.** Every check of the accesses in a set that somebody else has proved *harmless* for this input: whatever instance
//! of one is made in a run, no parallel access to its location conflicts with it, instances of itself and accesses in isolated
//! blocks included.
//!
//! **Why that is exact.** No harmless access is half of a racing pair, so to leave it out takes no pair of racing accesses away, adds
//! none and reorders none: the racing locations are by definition the same. Nor is it half of a pair of isolated accesses that conflict,
//! so the question whether the order of isolated blocks can matter has the same answer too.
//!
//! A history that forgets does not err for it. What is left are the events of the same tasks with fewer accesses, and detectors are
//! exact on those as on any. To see it at a cell: a harmless write w would have taken the place of an earlier writer v, which now
//! stays. Both write, so v precedes w; every later access x conflicts with w, so w precedes x, and so does v: nothing later finds v
//! parallel. A harmless read takes the place of a reader only if that precedes it, and so both precede every later write.
//!
//! **Failures.** A proof is about every instance that the program could make, so it holds for those made before a failure.
//!
//! It is made before all other passes, which have less to do then. Whoever has the set must have it for the very arguments of the run.

use super::note;
use finishline_ir::{Module, Op};
use finishline_model::{AccessId, Pass};
use std::collections::BTreeSet;

/// The program without the checks of harmless accesses, for [`reduce`](crate::reduce) or [`for_speed`](crate::for_speed) to go on with.
pub fn without_proved(module: &Module, harmless: &BTreeSet<AccessId>) -> Module {
    let mut module = module.clone();
    let Module {
        functions,
        unchecked,
        ..
    } = &mut module;
    let blocks = functions.iter_mut().flat_map(|f| &mut f.blocks);
    for block in blocks {
        block
            .instructions
            .retain(|instruction| match instruction.op {
                Op::Check { access, .. } if harmless.contains(&access) => {
                    note(unchecked, access, Pass::Proved);
                    false
                }
                _ => true,
            });
    }
    module
}
