//! Tasks, finishes and isolated blocks, as compiled code calls for them.
//!
//! The rules, the order of events and the failures are those of the reference interpreter. The
//! [schedule](super::schedule) knows the live tasks and the open finishes.

use super::context::Context;
use super::schedule::{Created, Manner, OpenFinish, Schedule};
use super::{Runtime, datum};
use crate::checker::Checker;
use finishline_ir::listener::Creation;
use finishline_ir::machine::{Ended, TrapKind};
use finishline_ir::{Construct, Function, FunctionId, cost};
use finishline_model::{Event, FinishId, FinishKind, SiteId, TaskId, TaskKind};
use std::sync::atomic::Ordering;

/// Workers share what tells the progress. So each of several tells it for one of so many tasks.
const TASKS_OF_PROGRESS: u32 = 64;

/// What the tasks that are created at one place of the program have in common.
#[derive(Clone, Copy)]
pub(crate) struct SpawnSite {
    pub(crate) kind: TaskKind,
    pub(crate) construct: Construct,
    pub(crate) function: FunctionId,
    pub(crate) site: SiteId,
    /// Where the body ends.
    pub(crate) end: SiteId,
    /// What a task costs that runs it, as the budget counts it.
    pub(crate) bytes: u64,
    /// Whether the checker hears of it.
    pub(crate) heard: bool,
    /// Of a task with a stack of its own: how many words it captures.
    pub(crate) words: u32,
}

impl<C: Checker, S: Schedule> Runtime<'_, C, S> {
    /// Tells of an event of the running task, or only counts it, if the checker does not hear of
    /// that task.
    #[inline]
    pub(super) fn tell(&mut self, event: &Event) {
        if self.schedule.is_heard() {
            self.checker.event(event);
        } else {
            self.checker.unheard(event);
        }
        S::was_told(self, event);
    }

    /// Counts bytes that are not on the stack, for good or while something is open, against the
    /// budget that live frames share.
    fn charge(&mut self, bytes: u64) {
        self.budget_left -= bytes;
        self.limit_stack();
    }

    fn give_back(&mut self, bytes: u64) {
        self.budget_left += bytes;
        self.limit_stack();
    }

    /// Frames may take what the budget leaves them, and what the stack has room for.
    pub(super) fn limit_stack(&mut self) {
        let limit = self.budget_left.min(self.stack_room);
        self.context.stack_limit.store(limit, Ordering::Relaxed);
    }

    /// There is no room for `request` bytes in the budget, or in the stack that the system gave us.
    pub(super) fn over_budget(&mut self, request: u64, stack: u64, site: SiteId) -> ! {
        let kind = self.lack_of_budget(request, stack);
        self.fail(kind, site)
    }

    pub(super) fn lack_of_budget(&self, request: u64, stack: u64) -> TrapKind {
        let left = self.budget_left + self.schedule.shared_budget();
        if stack + request <= left {
            return TrapKind::SystemMemory { request };
        }
        let budget = self.limits.memory;
        TrapKind::Memory {
            request: Some(request),
            used: budget - left + stack,
            budget,
        }
    }

    /// A task begins that its creator calls.
    pub(super) fn begin_task(&mut self, spawn: SpawnSite, stack: u64, captures: *const u64) {
        self.admit_task(spawn);
        if stack + spawn.bytes > self.context.stack_limit.load(Ordering::Relaxed) {
            self.context.stack = stack;
            S::make_room(self, spawn.bytes, stack, spawn.site);
        }
        if !self.schedule.reserve_task() {
            let request = spawn.bytes;
            self.fail(TrapKind::SystemMemory { request }, spawn.site);
        }
        self.start_task(spawn, captures, |runtime, task| {
            runtime.schedule.begin_task(task, spawn.heard)
        });
        S::was_called(self, spawn.site);
    }

    /// Fails if there have been too many tasks.
    pub(super) fn admit_task(&mut self, spawn: SpawnSite) {
        if let Err(limit) = self.task_numbers.check() {
            self.fail(TrapKind::TooManyTasks { limit }, spawn.site);
        }
    }

    /// Numbers a new task, lets it begin, and tells of it.
    #[inline]
    pub(super) fn start_task(
        &mut self,
        spawn: SpawnSite,
        captures: *const u64,
        begin: impl FnOnce(&mut Self, TaskId) -> Created,
    ) {
        // The record stays when the task is gone.
        self.charge(cost::TASK_RECORD);
        let id = TaskId(self.task_numbers.take());
        let Created {
            creator,
            index,
            enclosing,
        } = begin(self, id);
        let event = Event::TaskBegin {
            task: id,
            parent: Some(creator),
            kind: spawn.kind,
            finish: enclosing,
            site: spawn.site,
        };
        // A statistic: nothing is ordered by it.
        if S::MANNER != Manner::Parallel || id.0.is_multiple_of(TASKS_OF_PROGRESS) {
            self.progress.store(u64::from(id.0), Ordering::Relaxed);
        }
        self.tell(&event);
        if C::STYLE.tells_captures() && self.schedule.is_heard() {
            let function = self.module.function(spawn.function);
            let parameters = &function.block(Function::ENTRY).parameters;
            let captured = || {
                let parameters = parameters.iter().enumerate();
                // SAFETY: code whose listener wants captures passes the address of as many words as
                // the body has parameters.
                let word = |index| unsafe { captures.add(index).read() };
                let captured = parameters.map(|(index, p)| datum(function.ty(*p), word(index)));
                captured.collect()
            };
            let creation = Creation {
                parent: creator,
                index,
                site: spawn.site,
                construct: spawn.construct,
                function: spawn.function,
                captures: &captured,
            };
            self.checker.created(id, &creation);
        }
    }

    /// The running task has returned: tells of its end.
    pub(super) fn tell_end(&mut self, end: SiteId) {
        self.may_end();
        if let Some(open) = self.schedule.innermost() {
            let kind = TrapKind::BeginFinishNeverEnded {
                begin: open.begin,
                ended: Ended::Task,
            };
            self.fail(kind, end);
        }
        let task = self.running();
        self.tell(&Event::TaskEnd { task });
    }

    fn end_task(&mut self, end: SiteId) {
        self.tell_end(end);
        if let Some(creator) = self.schedule.end_task() {
            self.checker.resumed(creator);
            S::begin_step(self);
        }
    }

    /// `main` has returned: closes the root finish, and ends.
    pub(super) fn end_main(&mut self) {
        let end = self.module.function(self.module.main).end;
        if self
            .schedule
            .innermost()
            .is_some_and(|open| open.kind == FinishKind::Root)
        {
            self.close_finish(end);
        }
        self.end_task(end);
    }

    fn close_finish(&mut self, site: SiteId) {
        S::will_close(self);
        let task = self.running();
        if let Some(finish) = self.schedule.close_finish() {
            self.tell(&Event::FinishEnd { task, finish, site });
        }
    }

    fn begin_finish(&mut self, kind: FinishKind, site: SiteId, stack: u64) {
        self.may_wait(site);
        if let Err(limit) = self.finish_numbers.check() {
            self.fail(TrapKind::TooManyFinishes { limit }, site);
        }
        if stack + cost::FINISH > self.budget_left && !S::more_budget(self, stack + cost::FINISH) {
            self.over_budget(cost::FINISH, stack, site);
        }
        self.charge(cost::FINISH);
        if !self.schedule.reserve_finish() {
            let request = cost::FINISH;
            self.fail(TrapKind::SystemMemory { request }, site);
        }
        let id = FinishId(self.finish_numbers.take());
        self.schedule.open_finish(OpenFinish {
            id,
            kind,
            begin: site,
        });
        S::was_opened(self);
        let task = self.running();
        self.tell(&Event::FinishBegin {
            task,
            finish: id,
            kind,
            site,
        });
    }

    pub(super) fn end_finish(&mut self, kind: FinishKind, site: SiteId) {
        match self.schedule.innermost() {
            Some(open) if open.kind == kind => {
                self.close_finish(site);
                self.give_back(cost::FINISH);
            }
            Some(open) if kind != FinishKind::Dynamic => {
                let kind = TrapKind::BeginFinishNeverEnded {
                    begin: open.begin,
                    ended: Ended::Finish(kind),
                };
                self.fail(kind, site)
            }
            _ => self.fail(TrapKind::EndFinishWithoutBegin, site),
        }
    }

    pub(super) fn sync(&mut self, site: SiteId) {
        match self.schedule.innermost() {
            Some(open) if open.kind == FinishKind::Dynamic => {
                let kind = TrapKind::SyncInsideBeginFinish { begin: open.begin };
                self.fail(kind, site)
            }
            Some(open) => {
                let (task, finish) = (self.running(), open.id);
                self.tell(&Event::FinishJoin { task, finish, site });
                S::will_close(self);
                S::was_opened(self);
            }
            None => unreachable!("the verifier demands a scope around sync"),
        }
    }
}

/// The kinds of finish by their numbers for compiled code.
pub(super) const FINISH_KINDS: [FinishKind; 4] = [
    FinishKind::Root,
    FinishKind::Lexical,
    FinishKind::Dynamic,
    FinishKind::SyncScope,
];

pub(crate) const fn finish_number(kind: FinishKind) -> u32 {
    match kind {
        FinishKind::Root => 0,
        FinishKind::Lexical => 1,
        FinishKind::Dynamic => 2,
        FinishKind::SyncScope => 3,
    }
}

pub(super) unsafe extern "C" fn begin_task<C: Checker, S: Schedule>(
    context: *mut Context,
    spawn: u32,
    stack: u64,
    captures: *const u64,
) {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    let spawn = runtime.spawns[spawn as usize];
    runtime.begin_task(spawn, stack, captures);
}

pub(super) unsafe extern "C" fn end_task<C: Checker, S: Schedule>(context: *mut Context, end: u32) {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, S>::of(context) }.end_task(SiteId(end));
}

pub(super) unsafe extern "C" fn begin_finish<C: Checker, S: Schedule>(
    context: *mut Context,
    kind: u32,
    site: u32,
    stack: u64,
) {
    let kind = FINISH_KINDS[kind as usize];
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, S>::of(context) }.begin_finish(kind, SiteId(site), stack);
}

pub(super) unsafe extern "C" fn end_finish<C: Checker, S: Schedule>(
    context: *mut Context,
    kind: u32,
    site: u32,
) {
    let kind = FINISH_KINDS[kind as usize];
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, S>::of(context) }.end_finish(kind, SiteId(site));
}

pub(super) unsafe extern "C" fn sync<C: Checker, S: Schedule>(context: *mut Context, site: u32) {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, S>::of(context) }.sync(SiteId(site));
}

pub(super) unsafe extern "C" fn begin_isolated<C: Checker, S: Schedule>(
    context: *mut Context,
    site: u32,
) {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    let (task, site) = (runtime.running(), SiteId(site));
    S::isolate(runtime, true);
    runtime.tell(&Event::IsolatedBegin { task, site });
}

pub(super) unsafe extern "C" fn end_isolated<C: Checker, S: Schedule>(
    context: *mut Context,
    site: u32,
) {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    let (task, site) = (runtime.running(), SiteId(site));
    runtime.tell(&Event::IsolatedEnd { task, site });
    S::isolate(runtime, false);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_finish_are_numbered_in_one_order() {
        let numbers = FINISH_KINDS.map(finish_number);
        assert_eq!(numbers, [0, 1, 2, 3]);
    }
}
