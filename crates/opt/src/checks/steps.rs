//! What a call does to the steps of its caller.
//!
//! A *step* is what a task does between two operations on tasks, promises or locks. Within a step
//! of one task, whatever is parallel to one access is parallel to all. A *quiet* function has no
//! such operation, also not in what it calls, so a call of it stays within the step.
//!
//! To `set` a promise is like creating a task: what gets it comes after what the task has done, and
//! runs beside what it does next. To `get` one is like waiting for a task.

use super::liveness::{Liveness, operations};
use finishline_ir::{Module, Op};

/// By function, what a call of it does.
pub(crate) struct Steps {
    quiet: Vec<bool>,
    leaves_tasks: Vec<bool>,
    sets: Vec<bool>,
    changes_locks: Vec<bool>,
}

impl Steps {
    pub(crate) fn of(module: &Module) -> Steps {
        let count = module.functions.len();
        let mut callers = vec![Vec::new(); count];
        let [mut loud, mut setters, mut lockers] = [const { Vec::new() }; 3];
        for (index, function) in module.functions.iter().enumerate() {
            for op in operations(function) {
                match op {
                    Op::Call { function, .. } => callers[function.index()].push(index),
                    op if is_boundary(op) => loud.push(index),
                    _ => {}
                }
                match op {
                    Op::PromiseSet { .. } => setters.push(index),
                    Op::Acquire(_) | Op::Release(_) => lockers.push(index),
                    _ => {}
                }
            }
        }
        let reaches = |mut found: Vec<usize>| {
            let mut reached = vec![false; count];
            while let Some(index) = found.pop() {
                if !std::mem::replace(&mut reached[index], true) {
                    found.extend(&callers[index]);
                }
            }
            reached
        };
        Steps {
            quiet: reaches(loud).into_iter().map(|loud| !loud).collect(),
            leaves_tasks: Liveness::of(module).leaves_tasks,
            sets: reaches(setters),
            changes_locks: reaches(lockers),
        }
    }

    /// Whether it may end a step.
    pub(crate) fn may_end(&self, op: &Op) -> bool {
        match op {
            Op::Call { function, .. } => !self.quiet[function.index()],
            op => is_boundary(op),
        }
    }

    /// Whether something that comes after it in another task may run beside what follows it in this
    /// one: a task that it creates, or what gets a promise that it sets.
    pub(crate) fn may_leave_a_task(&self, op: &Op) -> bool {
        match op {
            Op::Call { function, .. } => {
                self.leaves_tasks[function.index()] || self.sets[function.index()]
            }
            op => matches!(op, Op::Spawn { .. } | Op::PromiseSet { .. }),
        }
    }

    /// Whether other locks may be held after it than before.
    pub(crate) fn may_change_locks(&self, op: &Op) -> bool {
        match op {
            Op::Call { function, .. } => self.changes_locks[function.index()],
            op => matches!(op, Op::Acquire(_) | Op::Release(_)),
        }
    }

    /// Whether it may wait for what another task has done before.
    pub(crate) fn may_join(&self, op: &Op) -> bool {
        match op {
            Op::Call { function, .. } => !self.quiet[function.index()],
            op => matches!(op, Op::FinishEnd(_) | Op::Sync | Op::PromiseGet(_)),
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
            | Op::Acquire(_)
            | Op::Release(_)
            | Op::PromiseSet { .. }
            | Op::PromiseGet(_)
    )
}
