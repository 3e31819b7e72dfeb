//! Tasks and finishes as they were created, for the report.
//!
//! The detector needs of a task nothing but its stamp; this is what a reader wants to know: what kind of task it was, who created
//! it, where, and which finish waits for it.

use crate::calls::Node;
pub use finishline_model::native::{NativeFinishKind as FinishKind, NativeTaskKind as TaskKind};
use finishline_model::{FinishId, TaskId};

/// The kinds of tasks by the numbers that the drop-in uses.
pub const TASKS_BY_NUMBER: [TaskKind; 8] = [
    TaskKind::JoinLeft,
    TaskKind::JoinRight,
    TaskKind::ScopeSpawn,
    TaskKind::Spawn,
    TaskKind::Broadcast,
    TaskKind::SpawnBroadcast,
    TaskKind::ScopeSpawnFifo,
    TaskKind::SpawnFifo,
];

/// The kinds of finishes by the numbers that the drop-in uses.
pub const FINISHES_BY_NUMBER: [FinishKind; 6] = [
    FinishKind::Join,
    FinishKind::Scope,
    FinishKind::ScopeFifo,
    FinishKind::InPlaceScope,
    FinishKind::InPlaceScopeFifo,
    FinishKind::Broadcast,
];

/// A place in the program, with the calls that led there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Position {
    pub place: u64,
    pub calls: Node,
}

#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub kind: TaskKind,
    pub parent: TaskId,
    pub finish: FinishId,
    pub created: Position,
}

#[derive(Clone, Copy, Debug)]
pub struct Finish {
    pub kind: FinishKind,
    pub task: TaskId,
    /// The innermost one open around it.
    pub parent: FinishId,
    pub created: Position,
}

/// All tasks and finishes of a run, by their ids.
#[derive(Debug)]
pub struct Structure {
    tasks: Vec<Task>,
    finishes: Vec<Finish>,
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
            tasks: vec![Task {
                kind: TaskKind::Main,
                parent: TaskId::MAIN,
                finish: FinishId::ROOT,
                created,
            }],
            finishes: vec![Finish {
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

    pub fn task(&self, id: TaskId) -> &Task {
        &self.tasks[id.index()]
    }

    pub fn finish(&self, id: FinishId) -> &Finish {
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
        self.tasks.push(Task {
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
        self.finishes.push(Finish {
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
