//! What became of the checks of a program: which accesses a first pass still pays for, and who took
//! the others out.
//!
//! Nothing is recorded for this on the way. The passes name themselves at each access whose check
//! they touch ([`finishline_ir::Unchecked`]), and the checks that are left are counted in the very
//! form of the program that is run. One access of the source can be several there: functions and
//! loops are copied.
//!
//! Only code that can run counts, as far as calls and jumps tell: neither what main can't reach nor
//! the bodies that are left of functions whose calls were all inlined. Linear in the program.

use crate::executor::Forms;
use finishline_answer::explain::{ExplainedAccess, Explanation, Fate};
use finishline_ir::{Function, FunctionId, Module, Op, Operand};
use finishline_model::{AccessId, AccessKind, Pass, Passes};
use std::collections::BTreeSet;

/// Explains the checks of what [`crate::check`] runs first. Some accesses are not proved only
/// because integers may wrap around.
pub fn explain(forms: &Forms, wrapping: &BTreeSet<AccessId>) -> Explanation {
    let (written, run) = (forms.module(), forms.checked());
    let source = &written.source;
    let tallies = tallies(run);
    let mut can_run = vec![false; source.accesses.len()];
    for_each_op(written, |op| {
        if let Op::Load { access, .. } | Op::Store { access, .. } = op {
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

/// The checks of an access.
#[derive(Clone, Copy, Default)]
struct Tally {
    alone: usize,
    in_range: usize,
}

impl Tally {
    fn fate(self, by: Passes) -> Fate {
        match (self.alone, self.in_range) {
            // Without a pass that took it, a check goes only with code that turned out never to
            // run.
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

/// The function that an operation calls or makes a task of.
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
