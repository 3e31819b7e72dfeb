//! Passes that remove, move or merge race checks. None changes which locations race.
//!
//! | pass | which checks go |
//! |---|---|
//! | `contexts` | none, but functions get copies that the next ones can tell apart |
//! | `sequential` | those made when no other task is live [ESP-bags §6.1] |
//! | `read_only` | those of reads of what nobody writes meanwhile [§6.2] |
//! | `task_local` | those of objects that one task alone can reach [§6.3] |
//! | | |
//! | `ranges` | those of `a[c·i + d]` in a loop: one check of a range before it |
//! | `loop_invariant` | those of the same location in every iteration: one check before the loop [§6.4] |
//! | `dominated` | those that another one in the same task covers [§6.5] |
//!
//! The ones above the line look at the whole program: at where tasks may be live (`liveness`), which operations can run beside which (`regions`), and which
//! objects a reference can refer to (`points_to`). None of them moves a check, so each decides for itself. The ones below look at a
//! function at a time: `steps` says where a task's accesses have the same relation to all others, `loops` finds the checks of a
//! loop, which are made in the `place` in front of it or `behind` it.
//!
//! **Steps.** The run under the detector is depth-first, so what is proved about an order of accesses in one task is proved for
//! all schedules.
//!
//! **Failures.** The passes below the line let one check stand for accesses before or behind it. If the program fails in between, it has
//! been made for accesses that never happened, or not been made for some that did. So of a run that fails, only what a
//! detector finds without them counts ([`HOLD_IN_FAILED_RUNS`]). In return no pass has to ask what may fail.

mod behind;
mod budget;
mod contexts;
mod dominated;
mod liveness;
mod loop_invariant;
mod loops;
mod place;
mod points_to;
mod ranges;
mod read_only;
mod regions;
mod sequential;
mod sparse_set;
mod steps;
mod task_local;

use finishline_ir::{BlockId, Function, FunctionId, Module, Op, Unchecked};
use finishline_model::{AccessId, AccessKind, Pass, Passes};
use liveness::Position;
use points_to::{Part, PointsTo};
use read_only::Written;
use regions::{Beside, Regions};
use std::collections::BTreeMap;
pub(crate) use steps::Steps;
use task_local::{Locality, Shared};

/// Accesses whose checks were removed or moved, each with the pass that did it.
pub(crate) type Notes = Vec<(AccessId, Pass)>;

/// Passes whose results also hold in a run that fails.
pub const HOLD_IN_FAILED_RUNS: Passes = Passes::SEQUENTIAL
    .with(Pass::Contexts)
    .with(Pass::ReadOnly)
    .with(Pass::TaskLocal);

/// Makes those of the passes that look at the whole program.
pub(crate) fn whole_program(module: &mut Module, passes: Passes) {
    let removing = [Pass::Sequential, Pass::ReadOnly, Pass::TaskLocal];
    if !removing.into_iter().any(|pass| passes.contains(pass)) {
        return;
    }
    let copies = passes
        .contains(Pass::Contexts)
        .then(|| contexts::specialise(module));
    remove(module, &Known::of(module, passes));
    if let Some(copies) = copies {
        copies.merge(module);
    }
}

/// Removes the checks that the passes show to be unneeded.
fn remove(module: &mut Module, known: &Known) {
    for index in 0..module.functions.len() {
        let mut unneeded = known.unneeded_in(module, FunctionId::from_index(index));
        let Module {
            functions,
            unchecked,
            ..
        } = module;
        // In the order of the text, so the next one to go is always the first of the rest.
        let mut unneeded = unneeded.drain(..).peekable();
        for (block, number) in functions[index].blocks.iter_mut().zip(0..) {
            let mut position = 0..;
            block.instructions.retain(|instruction| {
                let here = Position {
                    block: BlockId(number),
                    instruction: position.next().unwrap_or_default(),
                };
                let removed = unneeded.next_if(|(at, _)| *at == here);
                if let (Op::Check { access, .. }, Some((_, by))) = (&instruction.op, removed) {
                    by.iter().for_each(|pass| note(unchecked, *access, pass));
                }
                removed.is_none()
            });
        }
    }
}

/// Moves checks of a function out of its loops.
pub(crate) fn in_loops(function: &mut Function, steps: &Steps, passes: Passes, notes: &mut Notes) {
    if passes.contains(Pass::Ranges) || passes.contains(Pass::LoopInvariant) {
        loops::move_out(function, steps, passes, notes);
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
        loop_invariant::settle(function);
    }
}

/// Notes what passes did.
pub(crate) fn note_all(module: &mut Module, notes: Notes) {
    for (access, pass) in notes {
        note(&mut module.unchecked, access, pass);
    }
}

/// What the passes over the whole program know of it, as far as they are made.
struct Known {
    regions: Regions,
    sequential: bool,
    /// None, too, if it was too much work.
    points_to: Option<PointsTo>,
    shared: Option<Shared>,
    written: Option<Written>,
}

impl Known {
    fn of(module: &Module, passes: Passes) -> Known {
        let regions = Regions::of(module);
        let (read_only, task_local) = (
            passes.contains(Pass::ReadOnly),
            passes.contains(Pass::TaskLocal),
        );
        let points_to = (read_only || task_local)
            .then(|| PointsTo::of(module, &regions))
            .flatten();
        let shared = (points_to.as_ref().filter(|_| task_local))
            .map(|points_to| Shared::of(module, &regions, points_to));
        let written = points_to
            .as_ref()
            .filter(|_| read_only)
            .and_then(|points_to| {
                let counts = |object| shared.as_ref().is_none_or(|shared| shared.contains(object));
                Written::of(module, &regions, points_to, counts)
            });
        Known {
            sequential: passes.contains(Pass::Sequential),
            regions,
            points_to,
            shared,
            written,
        }
    }

    /// The checks of a function that can go, in the order of the text, each with the passes that say so.
    fn unneeded_in(&self, module: &Module, id: FunctionId) -> Vec<(Position, Passes)> {
        let mut unneeded = Vec::new();
        self.regions.for_each_op(module, id, |op, at, beside| {
            let by = self.unneeded(id, op, beside);
            if !by.is_empty() {
                unneeded.push((at, by));
            }
        });
        unneeded
    }

    /// The passes that together show an operation to be a check that can go.
    fn unneeded(&self, function: FunctionId, op: &Op, beside: Beside) -> Passes {
        let Op::Check {
            kind,
            base,
            first,
            count,
            ..
        } = op
        else {
            return Passes::NONE;
        };
        if self.sequential && sequential::is_sequential(beside) {
            return Passes::SEQUENTIAL;
        }
        let Some(points_to) = &self.points_to else {
            return Passes::NONE;
        };
        let objects = points_to.objects(function, *base);
        let local =
            (self.shared.as_ref()).map_or(Locality::None, |shared| shared.locality(objects));
        if local == Locality::All {
            return Passes::NONE.with(Pass::TaskLocal);
        }
        let part = Part::checked(*first, *count);
        let unwritten =
            |written: &Written| written.misses(function, beside, objects, part, points_to);
        if *kind == AccessKind::Read && self.written.as_ref().is_some_and(unwritten) {
            let read_only = Passes::NONE.with(Pass::ReadOnly);
            return match local {
                Locality::Some => read_only.with(Pass::TaskLocal),
                _ => read_only,
            };
        }
        Passes::NONE
    }
}

/// Notes that a pass has removed or moved a check.
fn note(unchecked: &mut BTreeMap<AccessId, Unchecked>, access: AccessId, pass: Pass) {
    let by = &mut unchecked.entry(access).or_default().by;
    *by = by.with(pass);
}
