//! Which tasks a detector hears of: those in which something is checked.
//!
//! **What is left out.** In a depth-first run everything between the beginning and the end of a task is done by the task and its
//! descendants. If none of them can make a check, as far as calls and creations in the code tell, the detector is not told that they
//! begin, end, open finishes and wait. It only counts them. If `main` is such a task, objects have no cells either.
//!
//! **Why nobody can tell.** Let x be such a task. What happens before x is what its creator did before, and what happens after x is what
//! follows the end of the finish that waits for it. The creator's own steps lead from the one to the other: it has opened
//! that finish itself or is waited for by it, or by one inside it. So the tasks that are left have the same relations without x and its
//! descendants, and none of these has left a stamp in a cell. The limits on tasks and memory, ids, and the tasks that failures
//! name are the runtime's affair and stay as they are.
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

fn operations(function: &Function) -> impl Iterator<Item = &Op> {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.map(|instruction| &instruction.op)
}
