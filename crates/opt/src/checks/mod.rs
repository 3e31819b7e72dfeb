//! Passes that remove, move or merge race checks. None changes which locations race.
//!
//! | pass | the checks that it removes |
//! |---|---|
//! | `proved` | those of accesses that somebody else proved to be in no race, before all others |
//! | | |
//! | `contexts` | none, but functions get copies that the next ones can tell apart |
//! | `sequential` | those made when no other task is live [ESP-bags §6.1] |
//! | `read_only` | those of reads of what nobody writes meanwhile [§6.2] |
//! | `task_local` | those of objects that one task alone can reach [§6.3] |
//! | | |
//! | `ranges` | those of `a[c·i + d]` in a loop: one check of a range before it or behind it |
//! | `loop_invariant` | those of one location in every iteration: one check before it [§6.4] |
//! | `dominated` | those that another one in the same task covers [§6.5] |
//!
//! The passes between the empty rows look at the whole program and never move a check:
//! `whole_program` runs them. The passes below look at one function at a time. `steps` knows where
//! the accesses of a task have the same relation to all others. `loops` finds the checks of a loop.
//! They are made in the `place` in front of the loop or `behind` it.
//!
//! **Steps.** What is proved about accesses of one task rests on the order of its operations on
//! tasks and promises, which is the same in all schedules.
//!
//! **Failures.** The passes in the last rows let one check stand for accesses before or behind it.
//! If the program fails in between, the check was made for accesses that never happened, or not
//! made for some that did. Hence a run that fails is judged without these passes
//! ([`HOLD_IN_FAILED_RUNS`]). In return no pass has to ask what may fail.

mod behind;
mod budget;
mod contexts;
mod dominated;
mod liveness;
mod loop_front;
mod loop_invariant;
mod loops;
mod points_to;
mod proved;
mod ranges;
mod read_only;
mod references;
mod regions;
mod sequential;
mod sparse_set;
mod steps;
mod sweeps;
mod task_local;
mod ways;
mod whole_program;

use dominated::Direction;
use finishline_ir::{Function, Module, Unchecked};
use finishline_model::{AccessId, Pass, Passes};
pub(crate) use loops::Round;
pub use proved::without_proved;
pub use references::References;
use std::collections::BTreeMap;
pub(crate) use steps::Steps;
pub(crate) use whole_program::whole_program;

/// Accesses whose checks were removed or moved, each with the pass that did it.
pub(crate) type Notes = Vec<(AccessId, Pass)>;

/// Passes whose results also hold in a run that fails.
pub const HOLD_IN_FAILED_RUNS: Passes = Passes::SEQUENTIAL
    .with(Pass::Proved)
    .with(Pass::Contexts)
    .with(Pass::ReadOnly)
    .with(Pass::TaskLocal);

/// Whether some of the passes look at functions one at a time, for which equal values must have one
/// name.
pub(crate) fn look_at_functions(passes: Passes) -> bool {
    passes.intersection(HOLD_IN_FAILED_RUNS) != passes
}

/// Moves checks of a function out of its loops, and removes those that others cover. Whether any
/// moved.
pub(crate) fn leave_loops(
    function: &mut Function,
    steps: &Steps,
    passes: Passes,
    round: &mut Round,
    notes: &mut Notes,
) -> bool {
    let dominated = passes.contains(Pass::Dominated);
    // What an earlier check of the same iteration covers need not leave the loop. A check that is
    // covered from behind may still be the one that leaves it.
    if dominated {
        dominated::remove_dominated(function, steps, &[Direction::Before], notes);
    }
    let moved = (passes.contains(Pass::Ranges) || passes.contains(Pass::LoopInvariant))
        && loops::move_out(function, steps, passes, round, notes);
    if moved {
        // Equal ranges have different names until then.
        crate::tidy(function);
    }
    if dominated {
        let directions = [Direction::Before, Direction::Behind];
        dominated::remove_dominated(function, steps, &directions, notes);
    }
    moved
}

/// Puts the checks into the form that costs least, once they are where they stay.
pub(crate) fn settle(function: &mut Function, passes: Passes) {
    if passes.contains(Pass::LoopInvariant) {
        loop_invariant::settle(function);
    }
}

/// Notes what passes did.
pub(crate) fn note_all(module: &mut Module, notes: Notes) {
    for (access, pass) in notes {
        note(&mut module.unchecked, access, pass);
    }
}

/// Notes that a pass has removed or moved a check.
fn note(unchecked: &mut BTreeMap<AccessId, Unchecked>, access: AccessId, pass: Pass) {
    let by = &mut unchecked.entry(access).or_default().by;
    *by = by.with(pass);
}
