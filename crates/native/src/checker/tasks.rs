//! Tasks and finishes as they begin and end.

use super::glimpses::Glimpse;
use super::{Checker, NO_SITE};
use crate::facts::structure::{FinishKind, TaskKind, Whereabouts};
use crate::facts::synchronisation;
use finishline_model::{Event, FinishId, FinishKind as Scope, TaskId, TaskKind as Creation};
use finishline_trace::process::Call;

/// A task on a thread's stack: it runs, or waits for the one above it.
#[derive(Debug)]
pub(super) struct StackedTask {
    /// Its frames on the stack are below.
    pub(super) entry: u64,
    pub(super) task: TaskId,
    /// What the one below, mostly its creator, takes up again when the task has ended. It is not
    /// kept on the machine's stack: its words there could be taken for the program's.
    creator: SuspendedCreator,
}

#[derive(Default, Debug)]
struct SuspendedCreator {
    /// Where it was, unless the task on top of it is its child.
    whereabouts: Option<Whereabouts>,
    calls_outside: usize,
    lowest: u64,
    glimpse: Glimpse,
    synchronisation: synchronisation::Suspended,
}

impl StackedTask {
    /// Of a thread's first task.
    pub(super) fn outermost(entry: u64, task: TaskId) -> StackedTask {
        StackedTask {
            entry,
            task,
            creator: SuspendedCreator::default(),
        }
    }
}

impl Checker {
    /// A task begins that a finish waits for; its frames will be below `entry`.
    pub fn begin_task(&mut self, kind: TaskKind, finish: FinishId, place: u64, entry: u64) {
        self.note(|| Call::TaskBegin {
            kind,
            finish,
            place,
            entry,
        });
        self.look_around(place);
        let created = self.position(place);
        let parent = self.structure.running();
        let task = self.structure.begin_task(kind, finish, created);
        self.event(Event::TaskBegin {
            task,
            parent: Some(parent),
            kind: Creation::Async,
            finish,
            site: NO_SITE,
        });
        self.stack_task(task, entry, None);
    }

    /// A task is created that a finish waits for, and runs later.
    pub fn create_task(&mut self, kind: TaskKind, finish: FinishId, place: u64) -> TaskId {
        self.note(|| Call::TaskCreate {
            kind,
            finish,
            place,
        });
        self.look_around(place);
        let created = self.position(place);
        let creator = self.structure.whereabouts();
        let task = self.structure.begin_task(kind, finish, created);
        self.created.insert(task, self.structure.whereabouts());
        self.event(Event::TaskBegin {
            task,
            parent: Some(creator.running),
            kind: Creation::Async,
            finish,
            site: NO_SITE,
        });
        self.structure.go_to(creator);
        self.event(Event::Suspend { task });
        task
    }

    /// Whether a task was created and has not run.
    pub fn is_created(&self, task: TaskId) -> bool {
        self.created.contains_key(&task)
    }

    /// A task that was created begins, on top of the running one; its frames will be below `entry`.
    pub fn run_created(&mut self, task: TaskId, entry: u64) {
        let Some(whereabouts) = self.created.remove(&task) else {
            return;
        };
        self.note(|| Call::TaskRun { task, entry });
        self.look_around(0);
        // Frames were there of functions that the running task has called since the creation. They
        // are parallel to this one, and gone.
        let lowest = self.thread.lowest;
        self.forget(lowest, entry.saturating_sub(lowest));
        let below = self.structure.whereabouts();
        self.structure.go_to(whereabouts);
        self.event(Event::Resume { task });
        self.stack_task(task, entry, Some(below));
    }

    /// Puts a task on top of the running one.
    fn stack_task(&mut self, task: TaskId, entry: u64, whereabouts: Option<Whereabouts>) {
        let creator = SuspendedCreator {
            whereabouts,
            calls_outside: self.calls.begin_task(),
            lowest: self.thread.lowest,
            glimpse: std::mem::take(&mut self.thread.glimpse),
            synchronisation: self.synchronisation.begin_task(),
        };
        self.thread.lowest = entry;
        self.thread.tasks.push(StackedTask {
            entry,
            task,
            creator,
        });
    }

    /// The task that began last ends.
    pub fn end_task(&mut self) {
        self.note(|| Call::TaskEnd);
        self.look_around(0);
        let used = self.entry() - self.thread.lowest;
        let Some(StackedTask { creator, .. }) = self.thread.tasks.pop() else {
            return;
        };
        let mut told = Vec::new();
        self.synchronisation
            .end_task(creator.synchronisation, |event| told.push(event));
        self.tell(&told);
        self.calls.end_task(creator.calls_outside);
        self.forget(self.thread.lowest, used);
        (self.thread.lowest, self.thread.glimpse) = (creator.lowest, creator.glimpse);
        let task = self.structure.end_task();
        if let Some(below) = creator.whereabouts {
            self.structure.go_to(below);
        }
        self.event(Event::TaskEnd { task });
    }

    pub fn begin_finish(&mut self, kind: FinishKind, place: u64) -> FinishId {
        self.note(|| Call::FinishBegin { kind, place });
        self.look_around(place);
        let created = self.position(place);
        let finish = self.structure.begin_finish(kind, created);
        self.event(Event::FinishBegin {
            task: self.structure.running(),
            finish,
            kind: Scope::Lexical,
            site: NO_SITE,
        });
        finish
    }

    pub fn end_finish(&mut self, finish: FinishId) {
        self.note(|| Call::FinishEnd(finish));
        self.look_around(0);
        self.structure.end_finish(finish);
        self.event(Event::FinishEnd {
            task: self.structure.running(),
            finish,
            site: NO_SITE,
        });
    }
}
