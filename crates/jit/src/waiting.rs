//! Which functions need a stack of their own when a task runs them: those that may wait.
//!
//! A task waits at a `get` or an `acquire`, and at the end of a finish or a `sync` for tasks that
//! wait. So a task may wait if its function, or one that this calls, has a `get` or an `acquire`.
//! It also may if such a function ends a finish or syncs, and the task or its descendants can reach
//! a `get` or an `acquire`, by the calls and creations in the code. Every other task ends before
//! its creator goes on.
//!
//! Linear in the code.

use finishline_ir::{Construct, Module, Op};

/// Whether tasks may wait at all: such a program has no depth-first run.
pub(crate) fn tasks_may_wait(module: &Module) -> bool {
    [Construct::Promise, Construct::Future, Construct::Lock]
        .into_iter()
        .any(|construct| module.uses(construct).is_some())
}

/// By function, whether a task that runs it may wait.
pub(crate) fn may_wait(module: &Module) -> Vec<bool> {
    let waits = |op: &Op| matches!(op, Op::PromiseGet(_) | Op::Acquire(_));
    let called = |op: &Op| match op {
        Op::Call { function, .. } => Some(function.index()),
        _ => None,
    };
    let started = |op: &Op| match op {
        Op::Call { function, .. } | Op::Spawn { function, .. } => Some(function.index()),
        _ => None,
    };
    let wait = reaching(module, waits, called);
    let joins = reaching(
        module,
        |op| matches!(op, Op::FinishEnd(_) | Op::Sync),
        called,
    );
    let leads_to_wait = reaching(module, waits, started);
    (0..module.functions.len())
        .map(|index| wait[index] || joins[index] && leads_to_wait[index])
        .collect()
}

/// By function, whether such an operation can be reached, from an operation to the function that it
/// leads to.
fn reaching(
    module: &Module,
    is_such: impl Fn(&Op) -> bool,
    leads_to: impl Fn(&Op) -> Option<usize>,
) -> Vec<bool> {
    let mut reached_from = vec![Vec::new(); module.functions.len()];
    let mut found = Vec::new();
    for (index, function) in module.functions.iter().enumerate() {
        let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
        for instruction in instructions {
            if let Some(callee) = leads_to(&instruction.op) {
                reached_from[callee].push(index);
            }
            if is_such(&instruction.op) {
                found.push(index);
            }
        }
    }
    let mut reaching = vec![false; module.functions.len()];
    while let Some(index) = found.pop() {
        if !std::mem::replace(&mut reaching[index], true) {
            found.extend(&reached_from[index]);
        }
    }
    reaching
}
