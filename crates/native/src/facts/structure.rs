//! Tasks and finishes as they were created, for the report.
//!
//! The detector needs only the stamp of a task. A reader of the report wants to know what kind of
//! task it was, who created it, where, and which finish waits for it.
//!
//! Any task may take part in a race that is found later, so all are kept, 12 bytes for each task
//! and each finish. Kinds and places are few, and are kept once.

use crate::facts::calls::CallNode;
use finishline_model::hash::IdMap;
pub use finishline_model::kinds::{NativeFinishKind as FinishKind, NativeTaskKind as TaskKind};
use finishline_model::{FinishId, TaskId};
use std::hash::Hash;

/// A place in the program, with the calls of its task that led there. What led to the task is the
/// position where it was created, and so on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Position {
    pub place: u64,
    pub calls: CallNode,
}

#[derive(Clone, Copy, Debug)]
pub struct CreatedTask {
    pub kind: TaskKind,
    pub parent: TaskId,
    pub finish: FinishId,
    pub created: Position,
}

#[derive(Clone, Copy, Debug)]
pub struct OpenedFinish {
    pub kind: FinishKind,
    pub task: TaskId,
    /// The innermost one open around it.
    pub parent: FinishId,
    pub created: Position,
}

/// What is different about each task: who created it, the finish that waits for it, and the number
/// of its kind and position.
type TaskWords = [u32; 3];
/// Of a finish: its task, the finish around it, and the number of its kind and position.
type FinishWords = [u32; 3];

/// Values of which there are few, each kept once by a number.
#[derive(Debug)]
struct Few<T> {
    all: Vec<T>,
    numbers: IdMap<T, u32>,
}

impl<T: Copy + Eq + Hash> Few<T> {
    fn number(&mut self, value: T) -> u32 {
        *self.numbers.entry(value).or_insert_with(|| {
            self.all.push(value);
            self.all.len() as u32 - 1
        })
    }

    fn value(&self, number: u32) -> T {
        self.all[number as usize]
    }
}

impl<T> Default for Few<T> {
    fn default() -> Few<T> {
        Few {
            all: Vec::new(),
            numbers: IdMap::default(),
        }
    }
}

/// All tasks and finishes of a run, by their ids.
#[derive(Debug)]
pub struct Structure {
    tasks: Vec<TaskWords>,
    finishes: Vec<FinishWords>,
    creations: Few<(TaskKind, Position)>,
    openings: Few<(FinishKind, Position)>,
    running: TaskId,
    /// The innermost finish that is open in the running thread.
    innermost: FinishId,
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whereabouts {
    pub running: TaskId,
    pub innermost: FinishId,
}

impl Structure {
    /// Main and the program's own finish.
    pub fn new(created: Position) -> Structure {
        let mut structure = Structure {
            tasks: Vec::new(),
            finishes: Vec::new(),
            creations: Few::default(),
            openings: Few::default(),
            running: TaskId::MAIN,
            innermost: FinishId::ROOT,
        };
        structure.begin_task(TaskKind::Main, FinishId::ROOT, created);
        structure.begin_finish(FinishKind::Program, created);
        structure
    }

    pub fn whereabouts(&self) -> Whereabouts {
        Whereabouts {
            running: self.running,
            innermost: self.innermost,
        }
    }

    /// Another thread runs, which is there.
    pub fn go_to(&mut self, whereabouts: Whereabouts) {
        (self.running, self.innermost) = (whereabouts.running, whereabouts.innermost);
    }

    pub fn running(&self) -> TaskId {
        self.running
    }

    pub fn task(&self, id: TaskId) -> CreatedTask {
        let [parent, finish, creation] = self.tasks[id.index()];
        let (kind, created) = self.creations.value(creation);
        CreatedTask {
            kind,
            parent: TaskId(parent),
            finish: FinishId(finish),
            created,
        }
    }

    /// Whose stack a task runs on, if it has none of its own: that of its creator, from the
    /// position where the creator made it.
    pub fn below(&self, id: TaskId) -> Option<(TaskId, Position)> {
        let task = self.task(id);
        match task.kind {
            TaskKind::Main | TaskKind::Thread => None,
            TaskKind::Rayon(_) => Some((task.parent, task.created)),
        }
    }

    pub fn finish(&self, id: FinishId) -> OpenedFinish {
        let [task, parent, opening] = self.finishes[id.index()];
        let (kind, created) = self.openings.value(opening);
        OpenedFinish {
            kind,
            task: TaskId(task),
            parent: FinishId(parent),
            created,
        }
    }

    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    pub fn finishes(&self) -> usize {
        self.finishes.len()
    }

    pub fn begin_task(&mut self, kind: TaskKind, finish: FinishId, created: Position) -> TaskId {
        let id = TaskId::from_index(self.tasks.len());
        let creation = self.creations.number((kind, created));
        self.tasks.push([self.running.0, finish.0, creation]);
        self.running = id;
        id
    }

    /// The running task ends. Which one it was.
    pub fn end_task(&mut self) -> TaskId {
        let ended = self.running;
        self.running = self.task(ended).parent;
        ended
    }

    pub fn begin_finish(&mut self, kind: FinishKind, created: Position) -> FinishId {
        let id = FinishId::from_index(self.finishes.len());
        let opening = self.openings.number((kind, created));
        self.finishes
            .push([self.running.0, self.innermost.0, opening]);
        self.innermost = id;
        id
    }

    pub fn end_finish(&mut self, id: FinishId) {
        self.innermost = self.finish(id).parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::calls::ROOT;
    use finishline_model::kinds::rayon;

    #[test]
    fn what_is_kept_is_what_was_told() {
        let at = |place| Position { place, calls: ROOT };
        let mut structure = Structure::new(at(0));
        let scope = FinishKind::Rayon(rayon::FinishKind::Scope);
        let [outer, inner] = [1, 2].map(|place| structure.begin_finish(scope, at(place)));
        let spawn = TaskKind::Rayon(rayon::TaskKind::ScopeSpawn);
        let first = structure.begin_task(spawn, outer, at(3));
        let second = structure.begin_task(TaskKind::Thread, FinishId::ROOT, at(3));
        let task = structure.task(second);
        assert_eq!((task.kind, task.parent), (TaskKind::Thread, first));
        assert_eq!((task.finish, task.created), (FinishId::ROOT, at(3)));
        assert_eq!(
            structure.below(second),
            None,
            "a thread has a stack of its own"
        );
        assert_eq!(structure.below(first), Some((TaskId::MAIN, at(3))));
        let finish = structure.finish(inner);
        assert_eq!((finish.kind, finish.task), (scope, TaskId::MAIN));
        assert_eq!((finish.parent, finish.created), (outer, at(2)));
        assert_eq!((structure.tasks(), structure.finishes()), (3, 3));
        assert_eq!(structure.end_task(), second);
        assert_eq!(structure.running(), first);
    }

    #[test]
    fn tasks_and_finishes_of_one_place_take_twelve_bytes_each() {
        assert_eq!(size_of::<TaskWords>().max(size_of::<FinishWords>()), 12);
        let at = Position {
            place: 7,
            calls: ROOT,
        };
        let mut structure = Structure::new(at);
        for _ in 0..1000 {
            let join = FinishKind::Rayon(rayon::FinishKind::Join);
            let finish = structure.begin_finish(join, at);
            structure.begin_task(TaskKind::Rayon(rayon::TaskKind::JoinLeft), finish, at);
            structure.end_task();
            structure.end_finish(finish);
        }
        assert_eq!(
            (structure.creations.all.len(), structure.openings.all.len()),
            (2, 2)
        );
    }
}
