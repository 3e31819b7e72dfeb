//! Short names of tasks, the same in every run of an exploration.
//!
//! A task is told by its path of spawn indices. Each path that is met gets a number. Several
//! workers share the numbers; each keeps a copy of those that it has met, so it rarely asks.

use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A task, by its number in [`TaskNames`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct TaskName(u32);

impl TaskName {
    pub const MAIN: TaskName = TaskName(0);
}

#[derive(Default)]
struct Shared {
    children: FxHashMap<(TaskName, u32), TaskName>,
    /// By name, without `main`: the parent, and the index among its children.
    origins: Vec<(TaskName, u32)>,
}

/// A worker's view of the names.
#[derive(Clone, Default)]
pub struct TaskNames {
    shared: Arc<Mutex<Shared>>,
    met: FxHashMap<(TaskName, u32), TaskName>,
}

impl TaskNames {
    pub fn child(&mut self, parent: TaskName, index: u32) -> TaskName {
        let shared = &self.shared;
        *self.met.entry((parent, index)).or_insert_with(|| {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let Shared { children, origins } = &mut *shared;
            *children.entry((parent, index)).or_insert_with(|| {
                origins.push((parent, index));
                TaskName(u32::try_from(origins.len()).expect("fewer than 2³² tasks"))
            })
        })
    }

    /// The spawn indices that lead to the task.
    pub fn path(&self, mut task: TaskName) -> Vec<u32> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut path = Vec::new();
        while task != TaskName::MAIN {
            let (parent, index) = shared.origins[task.0 as usize - 1];
            path.push(index);
            task = parent;
        }
        path.reverse();
        path
    }
}
