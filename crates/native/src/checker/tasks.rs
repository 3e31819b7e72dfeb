//! Tasks, finishes and threads as they begin and end.

use super::{Checker, NO_SITE};
use crate::structure::{FinishKind, TaskKind};
use crate::synchronisation::{self, Told};
use finishline_model::{Event, FinishId, FinishKind as Scope, ObjectId, TaskKind as Creation};
use std::ops::Range;

/// What a task's creator takes up again when it has ended.
#[derive(Debug)]
pub struct Suspended {
    depth: usize,
    lowest: u64,
    synchronisation: synchronisation::Suspended,
}

/// What a thread's creator takes up again when it has ended.
#[derive(Debug)]
pub struct SuspendedThread {
    task: Suspended,
    stack: Range<u64>,
    private: Range<u64>,
}

impl Checker {
    /// A task begins that a finish waits for; its frames will be below `entry`.
    pub fn begin_task(
        &mut self,
        kind: TaskKind,
        finish: FinishId,
        place: u64,
        entry: u64,
    ) -> Suspended {
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
        let suspended = Suspended {
            depth: self.calls.depth(),
            lowest: self.lowest,
            synchronisation: self.synchronisation.begin_task(),
        };
        self.lowest = entry;
        self.frames.push((entry, task));
        suspended
    }

    pub fn end_task(&mut self, suspended: Suspended) {
        let mut told = Vec::new();
        self.synchronisation
            .end_task(suspended.synchronisation, |event| told.push(event));
        self.tell(&told);
        self.calls.back_to(suspended.depth);
        let used = self.entry() - self.lowest;
        self.forget(self.lowest, used);
        self.lowest = suspended.lowest;
        self.frames.pop();
        let task = self.structure.end_task();
        self.event(Event::TaskEnd { task });
    }

    /// A thread begins, with a stack and thread-local variables of its own.
    pub fn begin_thread(
        &mut self,
        kind: TaskKind,
        place: u64,
        entry: u64,
        stack: Range<u64>,
        private: Range<u64>,
    ) -> SuspendedThread {
        let task = self.begin_task(kind, FinishId::ROOT, place, entry);
        // It may lie where a thread that has ended had its own, or something that was unmapped since.
        self.forget(stack.start, stack.end.saturating_sub(stack.start));
        SuspendedThread {
            task,
            stack: std::mem::replace(&mut self.stack, stack),
            private: std::mem::replace(&mut self.private, private),
        }
    }

    /// The running thread ends; who joins it will know what it did.
    pub fn end_thread(&mut self, object: ObjectId, suspended: SuspendedThread) {
        self.tell(&[Told::Release {
            object,
            continues: false,
        }]);
        self.end_task(suspended.task);
        (self.stack, self.private) = (suspended.stack, suspended.private);
    }

    pub fn new_object(&mut self) -> ObjectId {
        self.synchronisation.new_object()
    }

    /// A thread that has ended is called so by who may join it.
    pub fn name_thread(&mut self, name: u64, object: ObjectId) {
        self.thread_objects.insert(name, object);
    }

    pub fn join_thread(&mut self, name: u64) {
        if let Some(object) = self.thread_objects.remove(&name) {
            self.tell(&[Told::Acquire(object)]);
        }
    }

    /// Followed threads beside the one that the program is.
    pub fn other_threads(&self) -> u64 {
        self.threads
            .saturating_sub(u64::from(self.options.test_thread))
    }

    pub fn begin_finish(&mut self, kind: FinishKind, place: u64) -> FinishId {
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
        self.structure.end_finish(finish);
        self.event(Event::FinishEnd {
            task: self.structure.running(),
            finish,
            site: NO_SITE,
        });
    }
}
