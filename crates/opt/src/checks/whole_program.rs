//! The passes that look at the whole program, together.
//!
//! They share their facts: where tasks may be live ([`liveness`](super::liveness)), which
//! operations can run beside which ([`regions`](super::regions)), and which objects a reference can
//! refer to ([`points_to`](super::points_to)). None of them moves a check. A check goes if one of
//! these passes has a reason.

use super::liveness::Position;
use super::points_to::{Part, PointsTo};
use super::read_only::Written;
use super::regions::{Beside, Regions};
use super::task_local::{Locality, Shared};
use super::{contexts, note, sequential};
use finishline_ir::{BlockId, FunctionId, Module, Op};
use finishline_model::{AccessKind, Pass, Passes};

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
        let unneeded = known.unneeded_in(module, FunctionId::from_index(index));
        let Module {
            functions,
            unchecked,
            ..
        } = module;
        // In the order of the text, so the next one to go is always the first of the rest.
        let mut unneeded = unneeded.into_iter().peekable();
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

    /// The checks of a function that can go, in the order of the text, each with the passes that
    /// say so.
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
