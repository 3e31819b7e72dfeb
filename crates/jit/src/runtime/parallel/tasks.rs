//! Tasks and joins of a parallel run: a task is handed over or called, runs on a strand of its own
//! or on top of a task that waits for it, and lets the owner of its finish go on when it ends.

use super::super::Runtime;
use super::super::context::Context;
use super::super::schedule::Schedule;
use super::super::stack_room::StackRoom;
use super::super::switch::{self, Passed, switching};
use super::super::tasks::{FINISH_KINDS, SpawnSite};
use super::Parallel;
use super::crew::Item;
use super::finish::Finish;
use super::record::Record;
use super::strand::{Awaits, LiveTask, Strand};
use crate::End;
use crate::checker::Checker;
use finishline_ir::cost;
use finishline_ir::machine::{Trap, TrapKind};
use finishline_model::{FinishKind, SiteId};
use std::ptr::NonNull;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Whether a task was handed over, or is called by its creator.
#[repr(u64)]
pub(super) enum Handed {
    Over = 0,
    No = 1,
}

/// Whether the running task can leave its innermost finish.
enum AtFinish {
    Quiet,
    /// It is to run this task first.
    Run(NonNull<Record>),
    /// It is suspended.
    Waits,
}

impl<C: Checker> Runtime<'_, C, Parallel<'_>> {
    /// An idle strand with room for this function. None if there is no memory.
    pub(super) fn take_strand(&mut self, frame: u64) -> Option<NonNull<Strand>> {
        let Parallel {
            crew,
            stack_factor,
            strands,
            ..
        } = &mut self.schedule;
        let make = || {
            let mut stacks = crew.stacks.lock().unwrap_or_else(PoisonError::into_inner);
            let stack = stacks.make()?;
            Some(Strand::idle(StackRoom::new(stack, *stack_factor)))
        };
        let place = strands.take(make)?;
        let mut taken = place;
        // SAFETY: an idle strand is used by nobody.
        let strand = unsafe { taken.as_mut() };
        if !strand.room.begin(frame) {
            strands.give_back(place);
            return None;
        }
        (strand.bytes, strand.in_use) = (0, true);
        strand.context.globals = self.heap.globals().address();
        Some(place)
    }

    /// Begins a task that was handed over, on a strand of its own.
    pub(super) fn begin_on_strand(&mut self, place: NonNull<Record>) -> Result<Passed, Trap> {
        // SAFETY: whoever has taken the task has its record.
        let record = unsafe { place.as_ref() };
        let spawn = self.spawns[record.spawn as usize];
        let frame = spawn.bytes - cost::TASK_RECORD;
        let task = LiveTask::handed_over(place, record);
        let failed = |kind| Trap::new(kind, spawn.site, task.id);
        if frame > self.budget_left && !Parallel::more_budget(self, frame) {
            return Err(failed(self.lack_of_budget(frame, 0)));
        }
        let Some(strand) = self.take_strand(frame) else {
            return Err(failed(TrapKind::SystemMemory { request: frame }));
        };
        let mut prepared = strand;
        // SAFETY: the strand was idle.
        let strand_mut = unsafe { prepared.as_mut() };
        strand_mut.push(task);
        let context = &raw mut strand_mut.context;
        // SAFETY: nobody uses the stack, which has room for the words. The entry takes as many.
        let pointer = unsafe {
            let end = end_strand_address::<C>();
            let base = strand_mut.room.base();
            switch::prepare(base, record.words(), context, record.entry, end)
        };
        strand_mut.context.strand_pointer = pointer as u64;
        let passed = self.resume(strand);
        Parallel::begin_step(self);
        Ok(passed)
    }

    /// Creates a task, hands it over, and says so; or lets it begin, for the creator to call it.
    fn create_task(&mut self, number: u32, captures: *const u64) -> Handed {
        let spawn = self.spawns[number as usize];
        if self.schedule.has_enough() {
            self.begin_task(spawn, self.context.stack, captures);
            return Handed::No;
        }
        let record = self.new_record(number, spawn, captures);
        self.schedule.deque.push(Item::Task(record));
        self.schedule.crew.wake();
        Handed::Over
    }

    /// Creates a task that may wait, and hands it over; or lets it run before its creator.
    fn create_waiting_task(&mut self, number: u32, captures: *const u64) -> Passed {
        let spawn = self.spawns[number as usize];
        let record = self.new_record(number, spawn, captures);
        if !self.schedule.has_enough() {
            self.schedule.deque.push(Item::Task(record));
            self.schedule.crew.wake();
            return Passed::not_yet(self.context.as_ptr());
        }
        let creator = self.suspend(Awaits::Nothing, spawn.site);
        match self.begin_on_strand(record) {
            Ok(passed) => {
                self.schedule.ready(creator);
                passed
            }
            Err(trap) => self.leave(End::Trapped(trap)),
        }
    }

    fn new_record(
        &mut self,
        number: u32,
        spawn: SpawnSite,
        captures: *const u64,
    ) -> NonNull<Record> {
        self.admit_task(spawn);
        let needed = self.context.stack + spawn.bytes;
        if needed > self.budget_left && !Parallel::more_budget(self, needed) {
            self.over_budget(spawn.bytes, self.context.stack, spawn.site);
        }
        // SAFETY: compiled code passes the address of as many words as the function has parameters.
        let words = unsafe { std::slice::from_raw_parts(captures, spawn.words as usize) };
        let taken = self.schedule.records.take(|| Some(Record::idle()));
        let captured = taken.filter(|record| {
            let mut record = *record;
            // SAFETY: an idle record is used by nobody.
            unsafe { record.as_mut() }.capture(words)
        });
        let Some(place) = captured else {
            let request = spawn.bytes;
            self.fail(TrapKind::SystemMemory { request }, spawn.site)
        };
        let Some(entry) = self.strand_entries[spawn.function.index()] else {
            unreachable!("every function of a task has an entry")
        };
        self.start_task(spawn, captures, |runtime, id| {
            let (task, created) = runtime.schedule.create(id);
            let mut taken = place;
            // SAFETY: as above.
            let record = unsafe { taken.as_mut() };
            (record.entry, record.spawn) = (entry, number);
            (record.task, record.finish) = (id, task.enclosing);
            let creator = runtime.schedule.strand_mut().task_mut();
            record.carried = runtime.checker.create(&mut creator.carried, spawn.site);
            Parallel::begin_step(runtime);
            // SAFETY: the finish is open as long as its creator runs.
            unsafe { task.enclosing.as_ref() }.enter();
            created
        });
        place
    }

    /// The function of a task has returned that was handed over, and ran on top of another one.
    fn end_taken(&mut self) {
        let end = self.leave_record();
        if let Some(owner) = end {
            self.schedule.ready(owner);
        }
        self.schedule.strand_mut().pop();
        Parallel::begin_step(self);
    }

    /// The running task, which was handed over, ends. The owner of its finish, if that waited and
    /// need not any more.
    fn leave_record(&mut self) -> Option<NonNull<Strand>> {
        let LiveTask {
            enclosing, record, ..
        } = *self.schedule.strand().task();
        let Some(mut record) = record else {
            unreachable!("the task was handed over")
        };
        // SAFETY: the record belongs to the task until it ends.
        let spawn = unsafe { record.as_ref() }.spawn;
        self.tell_end(self.spawns[spawn as usize].end);
        // SAFETY: as above.
        unsafe { record.as_mut() }.end();
        self.schedule.records.give_back(record);
        // SAFETY: the finish is open until its last task has left it.
        unsafe { enclosing.as_ref() }.leave()
    }

    /// The function of the strand's first task has returned.
    fn end_strand(&mut self) -> Passed {
        let strand = self.schedule.strand();
        if strand.task().record.is_none() {
            return self.end_main_strand();
        }
        let owner = self.leave_record();
        self.give_back_strand();
        match owner {
            Some(owner) => self.resume(owner),
            None => self.go_on(),
        }
    }

    /// The running strand has no task any more.
    fn give_back_strand(&mut self) {
        let Some(mut place) = self.schedule.strand.take() else {
            unreachable!("compiled code runs on a strand")
        };
        // SAFETY: the strand is the worker's own.
        let strand = unsafe { place.as_mut() };
        strand.in_use = false;
        strand.pop();
        strand.room.end(true);
        self.schedule.strands.give_back(place);
        self.go_home();
    }

    fn end_main_strand(&mut self) -> Passed {
        self.may_end();
        let main = self.module.function(self.module.main);
        self.context.stack = cost::LIVE_TASK + cost::frame(main);
        let end = main.end;
        if let Some(finish) = self.schedule.strand().task().innermost
            // SAFETY: an open finish is alive.
            && unsafe { finish.as_ref() }.open.kind == FinishKind::Root
            && !self.wait_for(finish, end)
        {
            return self.go_on();
        }
        self.end_main();
        self.schedule.crew.end(None);
        self.leave_program()
    }

    /// Suspends the running strand until its finish has no tasks. True if it has none already, and
    /// the strand goes on.
    fn wait_for(&mut self, finish: NonNull<Finish>, site: SiteId) -> bool {
        let context = self.context.as_ptr();
        let strand = self.suspend(Awaits::Finish(finish), site);
        // SAFETY: the finish is open.
        if unsafe { finish.as_ref() }.wait(strand) {
            return false;
        }
        self.resume(strand);
        debug_assert_eq!(context, self.context.as_ptr());
        true
    }

    /// Looks whether the innermost finish has tasks, if it is of this kind.
    fn at_finish(&mut self, kind: FinishKind, site: SiteId) -> AtFinish {
        let Some(place) = self.schedule.strand().task().innermost else {
            return AtFinish::Quiet;
        };
        // SAFETY: an open finish is alive.
        let finish = unsafe { place.as_ref() };
        if finish.open.kind != kind || finish.is_quiet() {
            return AtFinish::Quiet;
        }
        if let Some(record) = self.schedule.take_of(place) {
            self.take_on_top(record);
            return AtFinish::Run(record);
        }
        match self.wait_for(place, site) {
            true => AtFinish::Quiet,
            false => AtFinish::Waits,
        }
    }

    /// A task begins on top of the running one, which waits for it.
    fn take_on_top(&mut self, place: NonNull<Record>) {
        // SAFETY: whoever has taken the task has its record.
        let record = unsafe { place.as_ref() };
        let spawn = self.spawns[record.spawn as usize];
        let (stack, bytes) = (self.context.stack, spawn.bytes - cost::TASK_RECORD);
        if stack + bytes > self.context.stack_limit.load(Ordering::Relaxed) {
            Parallel::make_room(self, bytes, stack, spawn.site);
        }
        if !self.schedule.reserve_task() {
            let request = bytes;
            self.fail(TrapKind::SystemMemory { request }, spawn.site);
        }
        let task = LiveTask::handed_over(place, record);
        self.schedule.strand_mut().push(task);
        Parallel::begin_step(self);
    }
}

pub(super) unsafe extern "C" fn create_task<C: Checker>(
    context: *mut Context,
    spawn: u32,
    captures: *const u64,
) -> Handed {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, Parallel>::of(context) }.create_task(spawn, captures)
}

pub(super) unsafe extern "C" fn begin_strand<C: Checker>(
    context: *mut Context,
    spawn: u32,
    captures: *const u64,
) -> Passed {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, Parallel>::of(context) }.create_waiting_task(spawn, captures)
}

pub(super) unsafe extern "C" fn end_taken<C: Checker>(context: *mut Context) {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, Parallel>::of(context) }.end_taken();
}

/// The end of a finish.
pub(super) unsafe extern "C" fn pass_finish<C: Checker>(
    context: *mut Context,
    kind: u32,
    site: u32,
) -> Passed {
    let (kind, site) = (FINISH_KINDS[kind as usize], SiteId(site));
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Parallel>::of(context) };
    runtime.may_wait(site);
    match runtime.at_finish(kind, site) {
        AtFinish::Run(record) => Passed::after(record.as_ptr(), context),
        AtFinish::Waits => runtime.go_on(),
        AtFinish::Quiet => {
            runtime.end_finish(kind, site);
            Passed::yes(context)
        }
    }
}

/// A `sync`.
pub(super) unsafe extern "C" fn pass_sync<C: Checker>(context: *mut Context, site: u32) -> Passed {
    let site = SiteId(site);
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Parallel>::of(context) };
    runtime.may_wait(site);
    let at = match runtime.schedule.innermost() {
        Some(open) if open.kind != FinishKind::Dynamic => runtime.at_finish(open.kind, site),
        _ => AtFinish::Quiet,
    };
    match at {
        AtFinish::Run(record) => Passed::after(record.as_ptr(), context),
        AtFinish::Waits => runtime.go_on(),
        AtFinish::Quiet => {
            runtime.sync(site);
            Passed::yes(context)
        }
    }
}

unsafe extern "C" fn end_strand<C: Checker>(context: *mut Context) -> Passed {
    // SAFETY: the strand passes its context.
    unsafe { Runtime::<C, Parallel>::of(context) }.end_strand()
}

pub(super) fn end_strand_address<C: Checker>() -> usize {
    switching!(end_strand_of calls end_strand);
    end_strand_of::<C> as *const () as usize
}
