//! A parallel run: several workers, each with a deque of tasks, steal from each other.
//!
//! **Tasks.** A new task is put on the worker's deque, where others may steal it, and its creator
//! goes on. If enough tasks are there already, the creator calls the new one instead, as in a
//! depth-first run, or runs it first on a strand of its own, if it may wait. So the number of tasks
//! that have not begun is bounded, and most small tasks cost a call.
//!
//! **Strands.** ([`strand`]) Tasks run on strands. A task at the end of a finish takes the finish's
//! tasks from the worker's deque, and runs them on top of itself. When the deque has none of them,
//! others run them: the strand is suspended, and the worker takes something else. The last task of
//! the finish lets the strand go on. In the same way strands wait for promises and locks. A
//! suspended strand goes on on any worker.
//!
//! **Contexts.** Each strand has its own context, because compiled code keeps its address. The
//! runtime belongs to the worker. A worker that takes a strand puts its own address into the
//! context.
//!
//! **Promises** are lists of waiting strands: the mark of a promise has the latest one, whose
//! `next` has the mark before. **Locks** have a word that says whether they are free, held, or
//! waited for. A lock that is waited for is handed on by the task that releases it.
//!
//! [`crew`] has what workers share, and how they stop, sleep and end.

mod crew;
mod finish;
mod pool;
mod record;
mod strand;
mod synchronisation;

pub(crate) use record::Record;

use super::context::{Context, Current};
use super::helpers::Helper;
use super::memory::preserved_registers;
use super::numbering::{Numbers, Unused};
use super::promises;
use super::schedule::{Created, Manner, OpenFinish, Schedule};
use super::seen::Seen;
use super::stack_room::StackRoom;
use super::switch::{self, Passed, on_worker_stack, switching};
use super::tasks::{self, FINISH_KINDS, SpawnSite};
use super::{Executable, Output, Run, Runtime, ended, locks, tell_main, word};
use crate::End;
use crate::checker::Checker;
use crate::heap::Heap;
use crew::{Crew, Item, OVER, STOP, Woken};
use crossbeam_deque::Worker;
use finish::Finish;
use finishline_ir::machine::{Limits, Trap, TrapKind, Waiting, WaitsFor};
use finishline_ir::{Module, cost};
use finishline_model::{FinishId, FinishKind, SiteId, TaskId};
use pool::Pool;
use std::hint::{black_box, spin_loop};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use strand::{Awaits, LiveTask, Strand};

/// A worker.
pub(crate) struct Parallel<'a> {
    crew: &'a Crew<'a>,
    number: usize,
    deque: Worker<Item>,
    /// The strand that runs.
    strand: Option<NonNull<Strand>>,
    /// The context of code while none runs.
    home: Box<Context>,
    /// Where the runtime's functions begin on the worker's stack.
    pointer: u64,
    strands: Pool<'a, Strand>,
    records: Pool<'a, Record>,
    finishes: Pool<'a, Finish>,
    /// How many tasks for others are enough, and whether it calls new ones until it has few left.
    enough_tasks: usize,
    has_enough: bool,
    /// Whom it tried to rob last.
    victim: usize,
    stack_factor: usize,
    /// Where `main` ends.
    end: SiteId,
}

/// A worker with so many tasks for each worker calls new ones, until it has half of them left: in
/// between it makes few changes to its deque.
const ENOUGH_TASKS_EACH: usize = 2;
/// The budget that a worker takes at a time, and up to how many times of it it keeps.
const BUDGET_AT_ONCE: u64 = 1 << 20;
const BUDGETS_KEPT: u64 = 4;
/// How often a worker looks for work before it lets other threads run, and before it sleeps.
const LOOKS: u32 = 64;
const YIELDS: u32 = 16;

impl Parallel<'_> {
    /// The strand that runs.
    fn strand(&self) -> &Strand {
        let Some(strand) = self.strand else {
            unreachable!("compiled code runs on a strand")
        };
        // SAFETY: the running strand belongs to its worker, and is not freed before the run ends.
        unsafe { strand.as_ref() }
    }

    fn strand_mut(&mut self) -> &mut Strand {
        let Some(mut strand) = self.strand else {
            unreachable!("compiled code runs on a strand")
        };
        // SAFETY: as above.
        unsafe { strand.as_mut() }
    }

    fn innermost_finish(&self) -> Option<&Finish> {
        let place = self.strand().task().innermost?;
        // SAFETY: an open finish is alive, and its plain fields don't change.
        Some(unsafe { place.as_ref() })
    }

    /// A task that the running one creates.
    fn create(&mut self, id: TaskId) -> (LiveTask, Created) {
        let creator = self.strand_mut().task_mut();
        let enclosing = creator.innermost.unwrap_or(creator.enclosing);
        let created = Created {
            creator: creator.id,
            index: creator.created,
            // SAFETY: the finish is open as long as the creator runs.
            enclosing: unsafe { enclosing.as_ref() }.open.id,
        };
        creator.created += 1;
        let task = LiveTask {
            id,
            enclosing,
            innermost: None,
            created: 0,
            record: None,
        };
        (task, created)
    }

    /// Lets a strand go on, on this worker or another one.
    fn ready(&self, strand: NonNull<Strand>) {
        self.deque.push(Item::Strand(strand));
        self.crew.wake();
    }

    /// Whether it has so many tasks for others that it runs new ones itself.
    #[inline]
    fn has_enough(&mut self) -> bool {
        let (tasks, enough) = (self.deque.len(), self.enough_tasks);
        self.has_enough = tasks >= enough || self.has_enough && tasks >= enough / 2;
        self.has_enough
    }

    /// Something to go on with from the worker's own deque or that of another one.
    fn find(&mut self) -> Option<Item> {
        if let Some(item) = self.deque.pop() {
            return Some(item);
        }
        self.victim = (self.victim + 1) % self.crew.workers();
        self.crew.steal(self.number, self.victim)
    }

    /// The task on top of the deque, if it belongs to this finish.
    fn take_of(&mut self, finish: NonNull<Finish>) -> Option<NonNull<Record>> {
        match self.deque.pop()? {
            // SAFETY: who has popped the task has its record.
            Item::Task(record) if unsafe { record.as_ref() }.finish == finish => Some(record),
            other => {
                self.deque.push(other);
                None
            }
        }
    }
}

/// Whether a task was handed over, or is called by its creator.
#[repr(u64)]
enum Handed {
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
    /// Looks at the signals.
    #[inline]
    fn poll(&mut self) {
        if self.schedule.crew.signals() != 0 {
            self.heed_signals();
        }
    }

    #[cold]
    fn heed_signals(&mut self) {
        if self.schedule.crew.signals() & OVER != 0 {
            self.leave_program();
        }
        self.rest();
    }

    /// Rests until the signal to stop is lowered.
    #[cold]
    #[inline(never)]
    fn rest(&mut self) {
        let (preserved, pointer) = preserved_registers();
        let worker = &self.schedule;
        let references = pointer..worker.pointer as usize;
        worker.crew.rest_while_stopped(worker.number, references);
        // The registers are kept on the stack until here.
        black_box(&preserved);
    }

    /// Goes back to where the worker began. Never returns.
    fn leave_program(&mut self) -> ! {
        // SAFETY: functions of the runtime call this, on the worker's stack, and they own nothing
        // where they leave.
        unsafe { switch::leave(self.schedule.pointer) }
    }

    /// The running strand stops. It still belongs to the worker, which has no strand now.
    fn suspend(&mut self, awaits: Awaits, site: SiteId) -> NonNull<Strand> {
        let bytes = self.context.stack;
        let Some(place) = self.schedule.strand.take() else {
            unreachable!("compiled code runs on a strand")
        };
        let mut suspended = place;
        // SAFETY: the strand is the worker's own until it is given to somebody.
        let strand = unsafe { suspended.as_mut() };
        (strand.awaits, strand.site, strand.bytes) = (awaits, site, bytes);
        strand
            .room
            .suspend(strand.context.strand_pointer as usize, bytes);
        self.budget_left -= bytes;
        self.go_home();
        place
    }

    /// No code runs.
    fn go_home(&mut self) {
        let home = NonNull::from(&mut *self.schedule.home);
        // SAFETY: it lives as long as the schedule, and no code runs with it.
        self.context = unsafe { Current::new(home) };
    }

    /// A strand of the worker goes on when the runtime's function returns.
    fn resume(&mut self, strand: NonNull<Strand>) -> Passed {
        let mut resumed = strand;
        // SAFETY: the strand is the worker's own.
        let Strand {
            context,
            bytes,
            room,
            awaits,
            ..
        } = unsafe { resumed.as_mut() };
        *awaits = Awaits::Nothing;
        context.runtime = (&raw mut *self).cast();
        context.seen = &raw mut *self.seen;
        context.worker_pointer = self.schedule.pointer;
        let pointer = &raw mut *context;
        self.schedule.crew.runs(self.schedule.number, pointer);
        self.budget_left += *bytes;
        self.stack_room = room.bytes;
        // SAFETY: the context is the strand's, which belongs to the worker as long as it runs.
        self.context = unsafe { Current::new(NonNull::from(context)) };
        self.schedule.strand = Some(strand);
        self.return_budget();
        self.limit_stack();
        Passed::not_yet(pointer)
    }

    /// Leaves a large budget to others.
    fn return_budget(&mut self) {
        let kept = BUDGET_AT_ONCE * BUDGETS_KEPT + self.schedule.strand().bytes;
        if self.budget_left > kept {
            let crew = self.schedule.crew;
            // An amount alone: nothing is ordered by it.
            crew.budget
                .fetch_add(self.budget_left - kept, Ordering::Relaxed);
            self.budget_left = kept;
        }
    }

    /// Goes on with something else. The worker has no strand.
    fn go_on(&mut self) -> Passed {
        match self.find_work() {
            Some(passed) => passed,
            None => self.leave_program(),
        }
    }

    /// Finds something to go on with, and resumes it. None if the run is over. The worker has no
    /// strand, and may not have begun.
    fn find_work(&mut self) -> Option<Passed> {
        let mut looks = 0;
        loop {
            let signals = self.schedule.crew.signals();
            if signals & OVER != 0 {
                return None;
            }
            if signals & STOP != 0 {
                self.rest();
            }
            let failed = match self.schedule.find() {
                Some(Item::Strand(strand)) => return Some(self.resume(strand)),
                Some(Item::Task(record)) => match self.begin_on_strand(record) {
                    Ok(passed) => return Some(passed),
                    Err(trap) => Some(trap),
                },
                None => None,
            };
            looks += 1;
            let failed = if failed.is_some() {
                failed
            } else if looks < LOOKS {
                spin_loop();
                None
            } else if looks < LOOKS + YIELDS {
                thread::yield_now();
                None
            } else {
                match self.schedule.crew.sleep() {
                    Woken::Look => None,
                    Woken::Deadlock => Some(self.deadlock()),
                }
            };
            if let Some(trap) = failed {
                self.schedule.crew.end(Some(End::Trapped(trap)));
            }
        }
    }

    /// An idle strand with room for this function. None if there is no memory.
    fn take_strand(&mut self, frame: u64) -> Option<NonNull<Strand>> {
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
    fn begin_on_strand(&mut self, place: NonNull<Record>) -> Result<Passed, Trap> {
        // SAFETY: whoever has taken the task has its record.
        let record = unsafe { place.as_ref() };
        let spawn = self.spawns[record.spawn as usize];
        let frame = spawn.bytes - cost::TASK_RECORD;
        let task = LiveTask {
            id: record.task,
            enclosing: record.finish,
            innermost: None,
            created: 0,
            record: Some(place),
        };
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
        // SAFETY: nobody uses the stack, which has room for the words. The entry is one for as many.
        let pointer = unsafe {
            let end = end_strand_address::<C>();
            let base = strand_mut.room.base();
            switch::prepare(base, record.words(), context, record.entry, end)
        };
        strand_mut.context.strand_pointer = pointer as u64;
        Ok(self.resume(strand))
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
        let end = self.schedule.end;
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
        let task = LiveTask {
            id: record.task,
            enclosing: record.finish,
            innermost: None,
            created: 0,
            record: Some(place),
        };
        self.schedule.strand_mut().push(task);
    }

    /// All workers sleep.
    fn deadlock(&self) -> Trap {
        let mut waiting = Vec::new();
        let mut holders = Vec::new();
        let crew = self.schedule.crew;
        crew.strands.each(|strand| {
            holders.extend(strand.held.iter().map(|held| (held.lock, held.holder)));
        });
        crew.strands.each(|strand| {
            let waits_for = match strand.awaits {
                Awaits::Nothing => return,
                Awaits::Promise(promise) => {
                    // SAFETY: the promise is live: a suspended strand refers to it.
                    WaitsFor::Promise(unsafe { promises::location(promise) })
                }
                // SAFETY: the finish is open, as its owner waits for it.
                Awaits::Finish(finish) => WaitsFor::Finish(unsafe { finish.as_ref() }.open.id),
                Awaits::Lock(address) => {
                    // SAFETY: the lock is live: a suspended strand refers to it.
                    let (number, lock) = unsafe {
                        let number = locks::number(std::ptr::with_exposed_provenance(address));
                        (number, promises::location(address))
                    };
                    let held = holders.iter().find(|(lock, _)| *lock == number);
                    let Some((_, holder)) = held.copied() else {
                        unreachable!("a strand waits for a lock that is held")
                    };
                    WaitsFor::Lock { lock, holder }
                }
            };
            waiting.push(Waiting {
                task: strand.task().id,
                site: strand.site,
                waits_for,
            });
        });
        waiting.sort_unstable_by_key(|waiting| waiting.task);
        let reason = |waiting: &&Waiting| !matches!(waiting.waits_for, WaitsFor::Finish(_));
        let Some(&Waiting { site, task, .. }) = waiting.iter().find(reason) else {
            unreachable!("a finish alone waits for tasks that can go on")
        };
        Trap::new(TrapKind::Deadlock { waiting }, site, task)
    }
}

impl Schedule for Parallel<'_> {
    const MANNER: Manner = Manner::Parallel;

    #[inline]
    fn running(&self) -> TaskId {
        match self.strand {
            Some(_) => self.strand().task().id,
            None => TaskId::MAIN,
        }
    }

    #[inline]
    fn innermost(&self) -> Option<OpenFinish> {
        self.innermost_finish().map(|finish| finish.open)
    }

    fn first_held(&self) -> Option<SiteId> {
        let strand = self.strand();
        let mut held = strand.held.iter();
        held.find_map(|held| (held.holder == strand.task().id).then_some(held.acquired))
    }

    #[inline]
    fn is_heard(&self) -> bool {
        true
    }

    #[inline]
    fn reserve_task(&mut self) -> bool {
        self.strand_mut().reserve_task()
    }

    fn reserve_finish(&mut self) -> bool {
        true
    }

    #[inline]
    fn begin_task(&mut self, id: TaskId, _: bool) -> Created {
        let (task, created) = self.create(id);
        self.strand_mut().push(task);
        created
    }

    #[inline]
    fn end_task(&mut self) -> Option<TaskId> {
        self.strand_mut().pop().map(|below| below.id)
    }

    #[inline]
    fn open_finish(&mut self, open: OpenFinish) {
        let outer = self.strand().task().innermost;
        let new = || Some(Finish::new(open, outer));
        let Some(mut place) = self.finishes.take(new) else {
            unreachable!("there is memory for the list of finishes")
        };
        // SAFETY: an idle finish is used by nobody.
        unsafe { *place.as_mut() = Finish::new(open, outer) };
        self.strand_mut().task_mut().innermost = Some(place);
    }

    #[inline]
    fn close_finish(&mut self) -> Option<FinishId> {
        let place = self.strand().task().innermost?;
        // SAFETY: an open finish is alive.
        let Finish { open, outer, .. } = unsafe { place.as_ref() };
        let (id, outer) = (open.id, *outer);
        self.strand_mut().task_mut().innermost = outer;
        self.finishes.give_back(place);
        Some(id)
    }

    fn isolate<C: Checker>(runtime: &mut Runtime<'_, C, Self>, inside: bool) {
        let isolated = &runtime.schedule.crew.isolated;
        if !inside {
            isolated.store(false, Ordering::Release);
            return;
        }
        let mut looks = 0;
        while isolated.swap(true, Ordering::Acquire) {
            while isolated.load(Ordering::Relaxed) {
                runtime.poll();
                looks += 1;
                match looks < LOOKS {
                    true => spin_loop(),
                    false => thread::yield_now(),
                }
            }
        }
    }

    fn more_budget<C: Checker>(runtime: &mut Runtime<'_, C, Self>, needed: u64) -> bool {
        let missing = needed.saturating_sub(runtime.budget_left);
        let wanted = missing.max(BUDGET_AT_ONCE);
        let crew = runtime.schedule.crew;
        // An amount alone: nothing is ordered by it.
        let taken = crew
            .budget
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                (left >= missing).then(|| left - wanted.min(left))
            });
        if let Ok(left) = taken {
            runtime.budget_left += wanted.min(left);
            runtime.limit_stack();
        }
        taken.is_ok()
    }

    #[cold]
    fn make_room<C: Checker>(
        runtime: &mut Runtime<'_, C, Self>,
        request: u64,
        stack: u64,
        site: SiteId,
    ) {
        runtime.poll();
        let total = stack + request;
        let affordable = total <= runtime.budget_left || Self::more_budget(runtime, total);
        let pointer = runtime.context.strand_pointer as usize;
        // Less than `stack`, if that counts functions that are inlined here.
        let real = runtime.context.stack;
        let room = &mut runtime.schedule.strand_mut().room;
        let fits = total <= room.bytes || affordable && room.make(pointer, real, total - real);
        if !affordable || !fits {
            runtime.over_budget(request, stack, site);
        }
        runtime.stack_room = runtime.schedule.strand().room.bytes;
        runtime.limit_stack();
    }

    fn visit_stacks(&self, _: &Context, pointer: usize, visit: &mut dyn FnMut(Range<usize>)) {
        visit(pointer..self.pointer as usize);
        self.crew.notes().for_each(&mut *visit);
        self.crew
            .strands
            .each(|strand| strand.roots().into_iter().for_each(&mut *visit));
        self.crew
            .records
            .each(|record| record.roots().into_iter().for_each(&mut *visit));
    }

    fn stop_others(&self, _: &Context, pointer: usize, work: &mut dyn FnMut()) {
        let references = pointer..self.pointer as usize;
        self.crew.stop_others(self.number, references, work);
    }

    fn shared_budget(&self) -> u64 {
        self.crew.budget.load(Ordering::Relaxed)
    }

    fn poll<C: Checker>(runtime: &mut Runtime<'_, C, Self>) {
        runtime.poll();
    }

    fn address<C: Checker>(helper: Helper) -> usize {
        switching!(begin_strand_of calls begin_strand);
        switching!(pass_finish_of calls pass_finish);
        switching!(pass_sync_of calls pass_sync);
        switching!(acquire_of calls synchronisation::acquire);
        switching!(await_promise_of calls synchronisation::await_promise);
        on_worker_stack!(create_task_of<C> calls create_task);
        on_worker_stack!(end_taken_of<C> calls end_taken);
        on_worker_stack!(release_of<C> calls synchronisation::release);
        on_worker_stack!(set_promise_of<C> calls synchronisation::set_promise);
        on_worker_stack!(leave_isolated_of calls tasks::end_isolated);
        match helper {
            Helper::BeginStrand => begin_strand_of::<C> as *const () as usize,
            Helper::PassFinish => pass_finish_of::<C> as *const () as usize,
            Helper::PassSync => pass_sync_of::<C> as *const () as usize,
            Helper::Acquire => acquire_of::<C> as *const () as usize,
            Helper::AwaitPromise => await_promise_of::<C> as *const () as usize,
            Helper::CreateTask => create_task_of::<C> as *const () as usize,
            Helper::EndTaken => end_taken_of::<C> as *const () as usize,
            Helper::Release => release_of::<C> as *const () as usize,
            Helper::SetPromise => set_promise_of::<C> as *const () as usize,
            Helper::LeaveIsolated => leave_isolated_of::<C, Self> as *const () as usize,
            other => unreachable!("{other:?} is called by all programs"),
        }
    }

    fn leave<C: Checker>(runtime: &mut Runtime<'_, C, Self>, end: End) -> ! {
        runtime.schedule.crew.end(Some(end));
        runtime.leave_program()
    }
}

unsafe extern "C" fn create_task<C: Checker>(
    context: *mut Context,
    spawn: u32,
    captures: *const u64,
) -> Handed {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, Parallel>::of(context) }.create_task(spawn, captures)
}

unsafe extern "C" fn begin_strand<C: Checker>(
    context: *mut Context,
    spawn: u32,
    captures: *const u64,
) -> Passed {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, Parallel>::of(context) }.create_waiting_task(spawn, captures)
}

unsafe extern "C" fn end_taken<C: Checker>(context: *mut Context) {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, Parallel>::of(context) }.end_taken();
}

/// The end of a finish.
unsafe extern "C" fn pass_finish<C: Checker>(
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
unsafe extern "C" fn pass_sync<C: Checker>(context: *mut Context, site: u32) -> Passed {
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

fn end_strand_address<C: Checker>() -> usize {
    switching!(end_strand_of calls end_strand);
    end_strand_of::<C> as *const () as usize
}

/// What the workers of a run have in common besides the crew.
#[derive(Clone, Copy)]
struct Shared<'a> {
    module: &'a Module,
    executable: &'a Executable,
    limits: Limits,
    crew: &'a Crew<'a>,
    tasks: &'a Unused,
    finishes: &'a Unused,
    locks_made: &'a AtomicU64,
    output: &'a Output<'a>,
    progress: &'a AtomicU64,
}

impl<'a> Shared<'a> {
    fn runtime<C: Checker>(
        self,
        number: usize,
        deque: Worker<Item>,
        heap: Heap,
        checker: &'a mut C,
    ) -> Runtime<'a, C, Parallel<'a>> {
        let mut home = Box::new(Context::new());
        let crew = self.crew;
        Runtime {
            // SAFETY: it lives as long as the schedule, and no code runs with it.
            context: unsafe { Current::new(NonNull::from(&mut *home)) },
            seen: Box::new(Seen::new()),
            module: self.module,
            spawns: &self.executable.spawns,
            strand_entries: &self.executable.strand_entries,
            limits: self.limits,
            checker,
            heap,
            schedule: Parallel {
                crew,
                number,
                deque,
                strand: None,
                home,
                pointer: 0,
                strands: Pool::new(&crew.strands),
                records: Pool::new(&crew.records),
                finishes: Pool::new(&crew.finishes),
                enough_tasks: ENOUGH_TASKS_EACH * (crew.workers() + 1),
                has_enough: false,
                victim: number,
                stack_factor: usize::try_from(self.executable.stack_factor).unwrap_or(usize::MAX),
                end: self.module.function(self.module.main).end,
            },
            task_numbers: Numbers::new(self.tasks),
            finish_numbers: Numbers::new(self.finishes),
            locks_made: self.locks_made,
            line: Vec::new(),
            output: self.output,
            progress: self.progress,
            budget_left: 0,
            stack_room: 0,
            failed: None,
        }
    }
}

impl<C: Checker + Send> Run<'_, C> {
    /// Runs the code on several workers: this thread and one for each of the other checkers.
    pub(crate) fn run_parallel(self, executable: &Executable, others: &mut [C]) -> End {
        if let Err(kind) = self.afford_main() {
            return self.trapped(kind);
        }
        let mut heap = match self.new_heap(executable) {
            Ok(heap) => heap,
            Err(kind) => {
                tell_main(self.checker, self.module.function(self.module.main).site);
                self.checker.ended(0);
                return self.trapped(kind);
            }
        };
        let workers = 1 + others.len();
        let largest_stack = self.limits.memory.saturating_mul(executable.stack_factor);
        let largest_stack = usize::try_from(largest_stack).unwrap_or(usize::MAX / 2);
        let (crew, mut deques) = Crew::new(
            workers,
            &executable.signals,
            self.limits.memory - cost::TASK_RECORD,
            largest_stack.min(usize::MAX / 2),
        );
        let arguments: Vec<u64> = self.arguments.iter().copied().map(word).collect();
        let output: Output = Mutex::new(self.output);
        let shared = Shared {
            module: self.module,
            executable,
            limits: self.limits,
            crew: &crew,
            tasks: &Unused::new(1, self.limits.tasks, workers),
            finishes: &Unused::new(1, self.limits.finishes, workers),
            locks_made: &AtomicU64::new(0),
            output: &output,
            progress: self.progress,
        };
        let heaps = heap.for_more_workers(others.len());
        thread::scope(|scope| {
            let rest = deques.split_off(1).into_iter().zip(heaps).zip(others);
            for (number, ((deque, heap), checker)) in (1..).zip(rest) {
                scope.spawn(move || shared.runtime(number, deque, heap, checker).work());
            }
            if let Some(deque) = deques.pop() {
                let mut runtime = shared.runtime(0, deque, heap, self.checker);
                runtime.begin_main(executable, &arguments);
            }
        });
        ended(&output, crew.failed())
    }
}

impl<C: Checker> Runtime<'_, C, Parallel<'_>> {
    /// A worker that begins with nothing to do.
    fn work(&mut self) {
        if let Some(passed) = self.find_work() {
            self.enter(passed);
        }
        self.schedule.crew.retire();
    }

    fn begin_main(&mut self, executable: &Executable, arguments: &[u64]) {
        let main = self.module.function(self.module.main);
        tell_main(self.checker, main.site);
        self.initialise_globals();
        let frame = cost::LIVE_TASK + cost::frame(main);
        let room = Parallel::more_budget(self, frame);
        let Some(place) = self.take_strand(frame).filter(|_| room) else {
            let kind = TrapKind::SystemMemory { request: frame };
            let trap = Trap::new(kind, main.site, TaskId::MAIN);
            self.schedule.crew.end(Some(End::Trapped(trap)));
            self.schedule.crew.retire();
            return;
        };
        let root = OpenFinish::root(main.site);
        let Some(root) = self.schedule.finishes.take(|| Some(Finish::new(root, None))) else {
            unreachable!("there is memory for the list of finishes")
        };
        let mut strand = place;
        // SAFETY: the strand was idle.
        let strand = unsafe { strand.as_mut() };
        strand.push(LiveTask {
            id: TaskId::MAIN,
            enclosing: root,
            innermost: Some(root),
            created: 0,
            record: None,
        });
        let (base, context) = (strand.room.base(), &raw mut strand.context);
        // SAFETY: nobody uses the stack, and there are as many arguments as `main` has parameters.
        let pointer = unsafe {
            let end = end_strand_address::<C>();
            switch::prepare(base, arguments, context, executable.entry, end)
        };
        strand.context.strand_pointer = pointer as u64;
        let passed = self.resume(place);
        self.enter(passed);
        self.schedule.crew.retire();
    }

    /// Lets a strand run. Returns when the worker leaves the program.
    fn enter(&mut self, passed: Passed) {
        let pointer = &raw mut self.schedule.pointer;
        // SAFETY: the code was compiled for this checker and module; the context is that of a
        // strand that can go on.
        unsafe { switch::enter(passed.context(), pointer) };
    }
}
