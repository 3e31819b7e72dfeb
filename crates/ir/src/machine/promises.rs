//! Promises: values that are set once, and that tasks wait for.
//!
//! A promise is an object of two locations: its value, and a mark. The mark is 0 as long as the
//! promise is empty, and then the number of the site that set it, counted from 1. No access of the
//! program reads the mark. A task that waits changes nothing: it tries again when it is stepped.

use super::*;

pub(super) const VALUE: u64 = 0;
pub(super) const MARK: u64 = 1;

/// What a promise holds before it is set.
pub(super) fn empty(carried: Type) -> [Const; 2] {
    [Const::zero(carried), Const::Int(0)]
}

impl Machine<'_> {
    /// The site that set a promise, if it was set.
    pub(super) fn set_at(&self, promise: Handle) -> Option<SiteId> {
        let mark = self.heap.object(promise).get(MARK).int();
        (mark != 0).then(|| SiteId(mark as u32 - 1))
    }

    pub(super) fn set_promise<L: Listener>(
        &mut self,
        slot: usize,
        promise: Value,
        value: Value,
        site: SiteId,
        listener: &mut L,
    ) -> Result<Progress, TrapKind> {
        let task = &self.tasks[slot];
        let (id, value) = (task.id, task.get(value));
        let promise = task.get(promise).reference().ok_or(TrapKind::NullUse)?;
        if let Some(first) = self.set_at(promise) {
            return Err(TrapKind::SetTwice { first });
        }
        self.heap.store(promise, VALUE, value);
        let mark = Datum::Int(i64::from(site.0) + 1);
        self.heap.store(promise, MARK, mark);
        let promise = self.heap.object(promise).first();
        listener.event(&Event::PromiseSet {
            task: id,
            promise,
            site,
        });
        self.tasks[slot].advance();
        Ok(Progress::Set(promise))
    }

    pub(super) fn get_promise<L: Listener>(
        &mut self,
        slot: usize,
        promise: Value,
        instruction: &Instruction,
        listener: &mut L,
    ) -> Result<Progress, TrapKind> {
        self.may_wait(slot)?;
        let promise = self.tasks[slot].get(promise).reference();
        let promise = promise.ok_or(TrapKind::NullUse)?;
        if self.set_at(promise).is_none() {
            return Ok(Progress::Blocked);
        }
        let object = self.heap.object(promise);
        let task = &mut self.tasks[slot];
        listener.event(&Event::PromiseGet {
            task: task.id,
            promise: object.first(),
            site: instruction.site,
        });
        task.set(instruction.result, object.get(VALUE));
        task.advance();
        Ok(Progress::Continue)
    }

    /// The failure of a program in which no task can make a step. None if it has ended.
    ///
    /// It is that of the first task that waits for a promise or a lock: there is one, because a
    /// finish alone waits for tasks that can go on.
    pub fn deadlock(&self) -> Option<Trap> {
        let mut waiting: Vec<Waiting> = Vec::new();
        for task in self.tasks.iter().filter(|task| !task.frames.is_empty()) {
            let waits_for = match self.status(task.id) {
                Status::WaitingForPromise(promise) => WaitsFor::Promise(promise),
                Status::WaitingForFinish(finish) => WaitsFor::Finish(finish),
                Status::WaitingForLock { lock, holder } => WaitsFor::Lock { lock, holder },
                Status::Runnable | Status::WaitingForIsolation | Status::Done => return None,
            };
            waiting.push(Waiting {
                task: task.id,
                site: self.site(task),
                waits_for,
            });
        }
        waiting.sort_unstable_by_key(|waiting| waiting.task);
        let reason = |waiting: &&Waiting| !matches!(waiting.waits_for, WaitsFor::Finish(_));
        let Waiting { site, task, .. } = *waiting.iter().find(reason)?;
        Some(Trap::new(TrapKind::Deadlock { waiting }, site, task))
    }

    /// The status of a task that is about to get a promise.
    pub(super) fn waits_for_promise(&self, slot: usize, promise: Value) -> Status {
        match self.tasks[slot].get(promise).reference() {
            Some(promise) if self.set_at(promise).is_none() => {
                Status::WaitingForPromise(self.heap.object(promise).first())
            }
            // It has its value, or the step fails.
            _ => Status::Runnable,
        }
    }
}
