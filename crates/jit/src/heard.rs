//! Which tasks a detector hears of: those in which something is checked.
//!
//! **What is left out.** In a depth-first run everything between the beginning and the end of a
//! task is done by the task and its descendants. If none of them can make a check, by the calls and
//! creations in the code, the detector is not told that they begin, end, open finishes and wait. It
//! only counts them. If `main` is such a task, objects have no cells either.
//!
//! **Why the answer is the same.** Let x be such a task. The steps before x are those that its
//! creator made before it. The steps after x are those after the end of the finish that waits for
//! x. The creator's own steps lead from the one to the other: the creator has opened that finish
//! itself, or is waited for by it or by one inside it. So the other tasks have the same relations
//! without x and its descendants, and none of these has left a stamp in a cell. The runtime alone
//! cares for the limits on tasks and memory, for ids, and for the tasks that failures name; these
//! stay the same.
//!
//! **Promises and locks.** All this relies on a depth-first run. In a cooperative run the detector
//! hears of every task, unless nothing at all is checked and no lock is taken.
//!
//! Linear in the code.

use finishline_ir::{Function, Module, Op};

/// By function, whether a call of it can make a check.
pub(crate) fn checking(module: &Module) -> Vec<bool> {
    let mut started_by = vec![Vec::new(); module.functions.len()];
    let mut waiting = Vec::new();
    for (index, function) in module.functions.iter().enumerate() {
        for op in operations(function) {
            match op {
                Op::Call { function, .. } | Op::Spawn { function, .. } => {
                    started_by[function.index()].push(index);
                }
                Op::Check { .. } => waiting.push(index),
                _ => {}
            }
        }
    }
    let mut checking = vec![false; module.functions.len()];
    while let Some(index) = waiting.pop() {
        if !std::mem::replace(&mut checking[index], true) {
            waiting.extend(&started_by[index]);
        }
    }
    checking
}

/// Whether a function itself makes checks.
pub(crate) fn has_checks(function: &Function) -> bool {
    operations(function).any(|op| matches!(op, Op::Check { .. }))
}

/// Whether a function itself takes locks. Which ones are taken inside which is to be heard, even if
/// nothing is checked.
pub(crate) fn takes_locks(function: &Function) -> bool {
    operations(function).any(|op| matches!(op, Op::Acquire(_)))
}

fn operations(function: &Function) -> impl Iterator<Item = &Op> {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.map(|instruction| &instruction.op)
}
