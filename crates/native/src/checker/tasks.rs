//! Tasks and finishes as they begin and end.

use super::glimpses::Glimpse;
use super::{Checker, NO_SITE};
use crate::structure::{FinishKind, TaskKind};
use crate::synchronisation;
use finishline_model::{Event, FinishId, FinishKind as Scope, TaskKind as Creation};

/// What a task's creator takes up again when it has ended.
#[derive(Debug)]
pub struct Suspended {
    depth: usize,
    lowest: u64,
    glimpse: Glimpse,
    synchronisation: synchronisation::Suspended,
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
        let suspended = Suspended {
            depth: self.calls.depth(),
            lowest: self.lowest,
            glimpse: std::mem::take(&mut self.glimpse),
            synchronisation: self.synchronisation.begin_task(),
        };
        self.lowest = entry;
        self.frames.push((entry, task));
        suspended
    }

    pub fn end_task(&mut self, suspended: Suspended) {
        self.look_around(0);
        let mut told = Vec::new();
        self.synchronisation
            .end_task(suspended.synchronisation, |event| told.push(event));
        self.tell(&told);
        self.calls.back_to(suspended.depth);
        let used = self.entry() - self.lowest;
        self.forget(self.lowest, used);
        (self.lowest, self.glimpse) = (suspended.lowest, suspended.glimpse);
        self.frames.pop();
        let task = self.structure.end_task();
        self.event(Event::TaskEnd { task });
    }

    pub fn begin_finish(&mut self, kind: FinishKind, place: u64) -> FinishId {
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
        self.look_around(0);
        self.structure.end_finish(finish);
        self.event(Event::FinishEnd {
            task: self.structure.running(),
            finish,
            site: NO_SITE,
        });
    }
}
