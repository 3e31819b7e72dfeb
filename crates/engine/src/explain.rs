//! Explains the checks of a program: which accesses the first pass still checks, and which pass
//! removed the other checks.
//!
//! Nothing is recorded for this during compilation. A pass notes itself at each access whose check
//! it touches ([`finishline_ir::Unchecked`]). The remaining checks are counted in the form of the
//! program that is run. There, one access of the source can occur several times, because functions
//! and loops are copied.
//!
//! Only code that calls and jumps can reach counts. This excludes functions that main can't reach,
//! and functions whose calls were all inlined. The cost is linear in the program.

use crate::executor::Forms;
use finishline_answer::explain::{ExplainedAccess, Explanation, Fate};
use finishline_ir::{Function, FunctionId, Module, Op, Operand};
use finishline_model::{AccessId, AccessKind, Pass, Passes};
use std::collections::BTreeSet;

/// Explains the checks of the form that [`crate::check`] runs first. `wrapping` has the accesses
/// that are unproved only because integers may wrap around.
pub fn explain(forms: &Forms, wrapping: &BTreeSet<AccessId>) -> Explanation {
    let (written, run) = (forms.module(), forms.checked());
    let source = &written.source;
    let tallies = tallies(run);
    let mut can_run = vec![false; source.accesses.len()];
    for_each_op(written, |op| {
        if let Op::Load { access, .. }
        | Op::Store { access, .. }
        | Op::PromiseSet {
            access: Some(access),
            ..
        } = op
        {
            can_run[access.index()] = true;
        }
    });
    let mut accesses: Vec<ExplainedAccess> = (source.accesses.iter().enumerate())
        .map(|(index, info)| {
            let unchecked = run.unchecked.get(&AccessId::from_index(index));
            let by = unchecked.map_or(Passes::NONE, |unchecked| unchecked.by);
            let Tally { alone, in_range } = tallies[index];
            ExplainedAccess {
                kind: info.kind,
                site: *source.site(info.place),
                place: source.snippet(info.place),
                function: info.function.clone(),
                fate: match can_run[index] {
                    true => tallies[index].fate(by),
                    false => Fate::Unreachable,
                },
                by,
                checks: alone,
                range_checks: in_range,
                wraps: wrapping.contains(&AccessId::from_index(index)),
            }
        })
        .collect();
    accesses.sort_by_key(|access| {
        let is_write = access.kind == AccessKind::Write;
        (access.site.start, access.site.end, is_write)
    });
    Explanation {
        program: source.path.clone(),
        source: source.text.clone(),
        passes: forms.passes(),
        accesses,
    }
}

/// The number of checks of an access, by kind.
#[derive(Clone, Copy, Default)]
struct Tally {
    alone: usize,
    in_range: usize,
}

impl Tally {
    fn fate(self, by: Passes) -> Fate {
        match (self.alone, self.in_range) {
            // If no pass removed the check, its code turned out never to run.
            (0, 0) if by.is_empty() => Fate::Unreachable,
            (0, 0) => Fate::Removed,
            (0, _) => Fate::Merged,
            _ if by.is_empty() => Fate::Kept,
            _ if by.contains(Pass::LoopInvariant) => Fate::Moved,
            _ => Fate::Partly,
        }
    }
}

fn tallies(module: &Module) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); module.source.accesses.len()];
    for_each_op(module, |op| {
        // A set is always checked.
        if let Op::PromiseSet {
            access: Some(access),
            ..
        } = op
        {
            tallies[access.index()].alone += 1;
        }
        if let Op::Check { access, count, .. } = op {
            let tally = &mut tallies[access.index()];
            match count {
                Operand::Constant(1) => tally.alone += 1,
                _ => tally.in_range += 1,
            }
        }
    });
    tallies
}

/// The operations that can run.
fn for_each_op(module: &Module, mut visit: impl FnMut(&Op)) {
    let mut reached = vec![false; module.functions.len()];
    let mut waiting = vec![module.main];
    while let Some(id) = waiting.pop() {
        if std::mem::replace(&mut reached[id.index()], true) {
            continue;
        }
        for_each_op_of(module.function(id), |op| {
            waiting.extend(started(op));
            visit(op);
        });
    }
}

/// The function that an operation calls or starts as a task.
fn started(op: &Op) -> Option<FunctionId> {
    match op {
        Op::Call { function, .. } | Op::Spawn { function, .. } => Some(*function),
        _ => None,
    }
}

fn for_each_op_of(function: &Function, mut visit: impl FnMut(&Op)) {
    let mut reached = vec![false; function.blocks.len()];
    let mut waiting = vec![Function::ENTRY];
    while let Some(id) = waiting.pop() {
        if std::mem::replace(&mut reached[id.index()], true) {
            continue;
        }
        let block = function.block(id);
        for instruction in &block.instructions {
            visit(&instruction.op);
        }
        waiting.extend(block.terminator.targets().map(|target| target.block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checks_left_decide_the_fate() {
        let some = Passes::NONE.with(Pass::ReadOnly);
        let moved = some.with(Pass::LoopInvariant);
        for (alone, in_range, by, fate) in [
            (1, 0, Passes::NONE, Fate::Kept),
            (2, 0, Passes::NONE, Fate::Kept),
            (1, 0, some, Fate::Partly),
            (1, 1, some, Fate::Partly),
            (1, 0, moved, Fate::Moved),
            (0, 1, some, Fate::Merged),
            (0, 2, moved, Fate::Merged),
            (0, 0, moved, Fate::Removed),
            (0, 0, Passes::NONE, Fate::Unreachable),
        ] {
            let tally = Tally { alone, in_range };
            assert_eq!(tally.fate(by), fate, "{alone} and {in_range}, {by}");
        }
    }
}
