//! Short names of tasks, the same in every run of an exploration.
//!
//! A task is told by its path of spawn indices. Each path that is met gets a number.

use rustc_hash::FxHashMap;

/// A task, by its number in [`TaskNames`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct TaskName(u32);

impl TaskName {
    pub const MAIN: TaskName = TaskName(0);
}

#[derive(Clone, Default)]
pub struct TaskNames {
    children: FxHashMap<(TaskName, u32), TaskName>,
    /// By name, without `main`: the parent, and the index among its children.
    origins: Vec<(TaskName, u32)>,
}

impl TaskNames {
    pub fn child(&mut self, parent: TaskName, index: u32) -> TaskName {
        let origins = &mut self.origins;
        *self.children.entry((parent, index)).or_insert_with(|| {
            origins.push((parent, index));
            TaskName(u32::try_from(origins.len()).expect("fewer than 2³² tasks"))
        })
    }

    /// The task that creates it, and its index there. None for `main`.
    fn origin(&self, task: TaskName) -> Option<(TaskName, u32)> {
        Some(self.origins[task.0.checked_sub(1)? as usize])
    }

    pub fn parent(&self, task: TaskName) -> Option<TaskName> {
        Some(self.origin(task)?.0)
    }

    /// The task to which these spawn indices lead.
    pub fn named(&mut self, path: &[u32]) -> TaskName {
        path.iter()
            .fold(TaskName::MAIN, |task, index| self.child(task, *index))
    }

    /// The spawn indices that lead to the task.
    pub fn path(&self, mut task: TaskName) -> Vec<u32> {
        let mut path = Vec::new();
        while let Some((parent, index)) = self.origin(task) {
            path.push(index);
            task = parent;
        }
        path.reverse();
        path
    }
}
