//! What a call does to the steps of its caller.
//!
//! A *step* is what a task does between two operations on tasks. Within a step of one task,
//! whatever is parallel to one access is parallel to all. A *quiet* function has no operation on
//! tasks, also not in what it calls, so a call of it stays within the step.

use super::liveness::{Liveness, operations};
use finishline_ir::{Module, Op};

/// By function, what a call of it does.
pub(crate) struct Steps {
    quiet: Vec<bool>,
    leaves_tasks: Vec<bool>,
}

impl Steps {
    pub(crate) fn of(module: &Module) -> Steps {
        let count = module.functions.len();
        let mut callers = vec![Vec::new(); count];
        let mut loud = Vec::new();
        for (index, function) in module.functions.iter().enumerate() {
            for op in operations(function) {
                match op {
                    Op::Call { function, .. } => callers[function.index()].push(index),
                    op if is_boundary(op) => loud.push(index),
                    _ => {}
                }
            }
        }
        let mut quiet = vec![true; count];
        while let Some(index) = loud.pop() {
            if std::mem::replace(&mut quiet[index], false) {
                loud.extend(&callers[index]);
            }
        }
        Steps {
            quiet,
            leaves_tasks: Liveness::of(module).leaves_tasks,
        }
    }

    /// Whether it may end a step.
    pub(crate) fn may_end(&self, op: &Op) -> bool {
        match op {
            Op::Call { function, .. } => !self.quiet[function.index()],
            op => is_boundary(op),
        }
    }

    /// Whether a task that it creates may still be running behind it.
    pub(crate) fn may_leave_a_task(&self, op: &Op) -> bool {
        match op {
            Op::Call { function, .. } => self.leaves_tasks[function.index()],
            op => matches!(op, Op::Spawn { .. }),
        }
    }

    /// Whether it may wait for a task that was created before it.
    pub(crate) fn may_join(&self, op: &Op) -> bool {
        match op {
            Op::Call { function, .. } => !self.quiet[function.index()],
            op => matches!(op, Op::FinishEnd(_) | Op::Sync),
        }
    }
}

fn is_boundary(op: &Op) -> bool {
    matches!(
        op,
        Op::Spawn { .. }
            | Op::FinishBegin(_)
            | Op::FinishEnd(_)
            | Op::Sync
            | Op::IsolatedBegin
            | Op::IsolatedEnd
    )
}
