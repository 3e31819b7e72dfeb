//! Passes that remove, move or merge race checks. None changes which locations race.
//!
//! | pass | which checks go |
//! |---|---|
//! | `sequential` | those made when no other task is live [ESP-bags §6.1] |
//!
//! **Steps.** The run under the detector is depth-first, so what is proved about an order of accesses in one task is proved for
//! all schedules.
//!
//! **Failures.** The passes behind the line let one check stand for accesses before or behind it. If the program fails in between, it has
//! been made for accesses that never happened, or not been made for some that did. So of a run that fails, only what a
//! detector finds without them counts ([`HOLD_IN_FAILED_RUNS`]). In return no pass has to ask what may fail.

mod liveness;
mod sequential;

use finishline_ir::{Module, Op, Unchecked};
use finishline_model::{AccessId, Pass, Passes};
use liveness::Liveness;
use std::collections::BTreeMap;

/// Passes whose results also hold in a run that fails.
pub const HOLD_IN_FAILED_RUNS: Passes = Passes::SEQUENTIAL
    .with(Pass::Contexts)
    .with(Pass::ReadOnly)
    .with(Pass::TaskLocal);

/// Makes those of the passes that look at the whole program.
pub(crate) fn whole_program(module: &mut Module, passes: Passes) {
    if passes.contains(Pass::Sequential) {
        let liveness = Liveness::of(module);
        sequential::sequential(module, &liveness);
    }
}

/// Removes the checks of some accesses everywhere.
fn remove(module: &mut Module, pass: Pass, unneeded: impl Fn(AccessId) -> bool) {
    let Module {
        functions,
        unchecked,
        ..
    } = module;
    for block in functions.iter_mut().flat_map(|f| &mut f.blocks) {
        block
            .instructions
            .retain(|instruction| match instruction.op {
                Op::Check { access, .. } if unneeded(access) => {
                    note(unchecked, access, pass);
                    false
                }
                _ => true,
            });
    }
}

/// Notes that a pass has removed or moved a check.
fn note(unchecked: &mut BTreeMap<AccessId, Unchecked>, access: AccessId, pass: Pass) {
    let by = &mut unchecked.entry(access).or_default().by;
    *by = by.with(pass);
}
