//! Passes that remove, move or merge race checks. None changes which locations race.
//!
//! | pass | which checks go |
//! |---|---|
//! | `sequential` | those made when no other task is live [ESP-bags §6.1] |
//! | | |
//! | `ranges` | those of `a[c·i + d]` in a loop: one check of a range before it |
//! | `loop_invariant` | those of the same location in every iteration: one check before the loop [ESP-bags §6.4] |
//! | `dominated` | those that another one in the same task covers [ESP-bags §6.5] |
//!
//! `liveness` and `steps` say what operations on tasks mean for the accesses around them, `loops` finds the checks of a loop and makes them in front of it.
//!
//! **Steps.** The run under the detector is depth-first, so what is proved about an order of accesses in one task is proved for
//! all schedules.
//!
//! **Failures.** The passes behind the line let one check stand for accesses before or behind it. If the program fails in between, it has
//! been made for accesses that never happened, or not been made for some that did. So of a run that fails, only what a
//! detector finds without them counts ([`HOLD_IN_FAILED_RUNS`]). In return no pass has to ask what may fail.

mod dominated;
mod liveness;
mod loop_invariant;
mod loops;
mod ranges;
mod sequential;
mod steps;

use crate::loop_form::Nest;
use finishline_ir::{Function, Module, Op, Unchecked};
use finishline_model::{AccessId, Pass, Passes};
use liveness::Liveness;
use std::collections::BTreeMap;
pub(crate) use steps::Steps;

/// Accesses whose checks were removed or moved, each with the pass that did it.
pub(crate) type Notes = Vec<(AccessId, Pass)>;

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

/// Moves checks of a function in front of its loops.
pub(crate) fn in_loops(
    function: &mut Function,
    nest: &Nest,
    steps: &Steps,
    passes: Passes,
    notes: &mut Notes,
) {
    if passes.contains(Pass::Ranges) || passes.contains(Pass::LoopInvariant) {
        loops::move_in_front(function, nest, steps, passes, notes);
    }
}

/// Removes checks of a function that others cover.
pub(crate) fn covered(function: &mut Function, steps: &Steps, passes: Passes, notes: &mut Notes) {
    if passes.contains(Pass::Dominated) {
        dominated::remove_dominated(function, steps, notes);
    }
}

/// Puts the checks into the form that costs least, once they are where they stay.
pub(crate) fn settle(function: &mut Function, passes: Passes) {
    if passes.contains(Pass::LoopInvariant) {
        loop_invariant::branch_around_single_checks(function);
    }
}

/// Notes what passes did.
pub(crate) fn note_all(module: &mut Module, notes: Notes) {
    for (access, pass) in notes {
        note(&mut module.unchecked, access, pass);
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
