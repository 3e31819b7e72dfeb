//! Tasks and finishes as they were created, for the report.
//!
//! The detector needs only the stamp of a task. A reader of the report wants to know what kind of
//! task it was, who created it, where, and which finish waits for it.

use crate::facts::calls::CallNode;
pub use finishline_model::kinds::{NativeFinishKind as FinishKind, NativeTaskKind as TaskKind};
use finishline_model::{FinishId, TaskId};

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

/// All tasks and finishes of a run, by their ids.
#[derive(Debug)]
pub struct Structure {
    tasks: Vec<CreatedTask>,
    finishes: Vec<OpenedFinish>,
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
        Structure {
            tasks: vec![CreatedTask {
                kind: TaskKind::Main,
                parent: TaskId::MAIN,
                finish: FinishId::ROOT,
                created,
            }],
            finishes: vec![OpenedFinish {
                kind: FinishKind::Program,
                task: TaskId::MAIN,
                parent: FinishId::ROOT,
                created,
            }],
            running: TaskId::MAIN,
            innermost: FinishId::ROOT,
        }
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

    pub fn task(&self, id: TaskId) -> &CreatedTask {
        &self.tasks[id.index()]
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

    pub fn finish(&self, id: FinishId) -> &OpenedFinish {
        &self.finishes[id.index()]
    }

    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    pub fn finishes(&self) -> usize {
        self.finishes.len()
    }

    pub fn begin_task(&mut self, kind: TaskKind, finish: FinishId, created: Position) -> TaskId {
        let id = TaskId::from_index(self.tasks.len());
        self.tasks.push(CreatedTask {
            kind,
            parent: self.running,
            finish,
            created,
        });
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
        self.finishes.push(OpenedFinish {
            kind,
            task: self.running,
            parent: self.innermost,
            created,
        });
        self.innermost = id;
        id
    }

    pub fn end_finish(&mut self, id: FinishId) {
        self.innermost = self.finish(id).parent;
    }
}
