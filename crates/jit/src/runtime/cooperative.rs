//! A cooperative run: tasks that may wait have stacks of their own and take turns on one worker.
//!
//! The schedule is that of the interpreter, `Cooperative` in the engine. A new task runs before its
//! creator goes on. A task that waits lets the task on top of the stack of ready tasks go on. A
//! `set` lets the tasks go on that wait for the promise, in their order, and then the task that set
//! it; inside an isolated block it waits for the end of the block. A release of a lock lets the
//! first task go on that waits for it, and then the task that released it. The last task of a
//! finish lets its waiting owner go on. If no task is ready, each one waits for another: a
//! deadlock.
//!
//! **Strands.** A task that can't wait is called by its creator, on the creator's stack. It ends
//! before its creator can go on, in the interpreter too: the creator is right below it on the stack
//! of ready tasks until then. So the stack of ready tasks is one of strands ([`super::strands`]),
//! each with its topmost task.
//!
//! **Queues.** The strands that wait for a promise form a ring. The mark of the promise has the
//! last one, whose next one is the first.
//!
//! **The budget** counts the frames of all tasks. Compiled code carries the bytes of its own
//! strand. What suspended strands take is subtracted from what is left.

use super::context::Context;
use super::helpers::Helper;
use super::locks::{self, Locks};
use super::promises;
use super::schedule::{Created, Manner, OpenFinish, Schedule, Serial, Start};
use super::strands::{Awaits, Finish, FinishPlace, LiveTask, StrandId, Strands};
use super::switch::{self, Passed, switching};
use super::tasks::{FINISH_KINDS, SpawnSite};
use super::{Executable, Runtime};
use crate::End;
use crate::checker::Checker;
use finishline_ir::cost;
use finishline_ir::machine::{Trap, TrapKind, Waiting, WaitsFor};
use finishline_model::{Event, FinishId, FinishKind, SiteId, TaskId};
use std::ops::Range;

pub(crate) struct Cooperative {
    pub(super) strands: Strands,
    /// The strand that runs, and the task on top of it.
    running: StrandId,
    task: LiveTask,
    /// Open finishes; idle places are used again.
    finishes: Vec<Finish>,
    idle_finishes: Vec<FinishPlace>,
    /// The strands that can go on, the next one last.
    ready: Vec<StrandId>,
    /// Strands whose promise was set by the isolated block under way.
    woken: Vec<StrandId>,
    isolated: bool,
    pub(super) locks: Locks,
    /// Whether the checker hears of the tasks: of all or of none.
    heard: bool,
}

const MAIN: StrandId = StrandId(0);
const ROOT: FinishPlace = FinishPlace(0);

impl Cooperative {
    pub(super) fn running_strand(&self) -> StrandId {
        self.running
    }

    fn innermost_finish(&self) -> Option<&Finish> {
        let place = self.task.innermost?;
        Some(&self.finishes[place.index()])
    }

    /// A task that the running one creates.
    fn create(&mut self, id: TaskId) -> (LiveTask, Created) {
        let place = self.task.innermost.unwrap_or(self.task.enclosing);
        let enclosing = &mut self.finishes[place.index()];
        enclosing.live += 1;
        let created = Created {
            creator: self.task.id,
            index: self.task.created,
            enclosing: enclosing.open.id,
        };
        self.task.created += 1;
        let task = LiveTask {
            id,
            enclosing: place,
            innermost: None,
            created: 0,
        };
        (task, created)
    }

    /// The running task has ended. The owner of its finish, if that waits and need not any more.
    fn leave_finish(&mut self) -> Option<StrandId> {
        let finish = &mut self.finishes[self.task.enclosing.index()];
        finish.live -= 1;
        match finish.live {
            0 => finish.waiting.take(),
            _ => None,
        }
    }

    /// Puts the strand on the queue of those that wait for a promise. Returns its new mark.
    pub(super) fn enqueue(&mut self, mark: i64, strand: StrandId) -> i64 {
        self.strands[strand].next = match promises::last_waiter(mark) {
            Some(last) => std::mem::replace(&mut self.strands[last].next, strand),
            None => strand,
        };
        promises::waited_for_by(strand)
    }
}

impl<C: Checker> Runtime<'_, C, Cooperative> {
    /// The running strand stops.
    fn suspend(&mut self) -> StrandId {
        let Cooperative {
            strands,
            running,
            task,
            ..
        } = &mut self.schedule;
        let strand = &mut strands[*running];
        strand.pointer = self.context.strand_pointer as usize;
        strand.bytes = self.context.stack;
        strand.task = *task;
        self.budget_left -= strand.bytes;
        strand.room.suspend(strand.pointer, strand.bytes);
        *running
    }

    /// Another strand goes on.
    fn resume(&mut self, next: StrandId) {
        let strand = &mut self.schedule.strands[next];
        self.context.strand_pointer = strand.pointer as u64;
        strand.pointer = 0;
        strand.awaits = Awaits::Nothing;
        self.budget_left += strand.bytes;
        self.stack_room = strand.room.bytes;
        self.schedule.task = strand.task;
        self.schedule.running = next;
        self.limit_stack();
        if self.schedule.heard {
            self.checker.resumed(self.schedule.task.id);
        }
    }

    /// The next ready strand goes on.
    fn resume_next(&mut self) {
        match self.schedule.ready.pop() {
            Some(next) => self.resume(next),
            None => self.deadlock(),
        }
    }

    /// The running task waits until it is resumed.
    pub(super) fn wait(&mut self, awaits: Awaits, site: SiteId) {
        let strand = self.suspend();
        let waiting = &mut self.schedule.strands[strand];
        (waiting.awaits, waiting.site) = (awaits, site);
        self.resume_next();
    }

    /// Lets all strands in the queue of a promise go on, and then the running one.
    pub(super) fn wake(&mut self, last: StrandId) {
        let schedule = &mut self.schedule;
        let queue = match schedule.isolated {
            true => &mut schedule.woken,
            false => &mut schedule.ready,
        };
        let from = queue.len();
        if !schedule.isolated {
            queue.push(schedule.running);
        }
        let first = schedule.strands[last].next;
        let mut strand = first;
        loop {
            queue.push(strand);
            strand = schedule.strands[strand].next;
            if strand == first {
                break;
            }
        }
        if !schedule.isolated {
            queue[from + 1..].reverse();
            self.suspend();
            self.resume_next();
        }
    }

    /// Lets a strand go on that waits for a lock, and then the running one.
    pub(super) fn give_way_to(&mut self, strand: StrandId) {
        let running = self.suspend();
        self.schedule.ready.push(running);
        self.resume(strand);
    }

    /// Lets the strands go on that an isolated block has woken, and then the running one.
    fn resume_woken(&mut self) {
        let schedule = &mut self.schedule;
        if schedule.woken.is_empty() {
            return;
        }
        schedule.ready.push(schedule.running);
        schedule.ready.extend(schedule.woken.drain(..).rev());
        self.suspend();
        self.resume_next();
    }

    /// Creates a task on a strand of its own, which runs first.
    fn begin_strand(&mut self, spawn: SpawnSite, captures: *const u64) {
        self.admit_task(spawn);
        let stack = self.context.stack;
        if stack + spawn.bytes > self.budget_left {
            self.over_budget(spawn.bytes, stack, spawn.site);
        }
        let frame = spawn.bytes - cost::TASK_RECORD;
        let strands = &mut self.schedule.strands;
        let taken = strands.take(self.schedule.task, spawn.end, frame);
        let Some(strand) = taken.filter(|_| self.schedule.reserve_task()) else {
            let request = spawn.bytes;
            self.fail(TrapKind::SystemMemory { request }, spawn.site)
        };
        let Some(entry) = self.strand_entries[spawn.function.index()] else {
            unreachable!("a function of a task that may wait has an entry")
        };
        let base = self.schedule.strands[strand].room.base();
        let context = self.context.as_ptr();
        // SAFETY: the strand was idle, and its stack has room for the captures. Compiled code
        // passes their address and as many as the function has parameters.
        let pointer = unsafe {
            let words = std::slice::from_raw_parts(captures, spawn.words as usize);
            switch::prepare(base, words, context, entry, end_strand_address::<C>())
        };
        self.start_task(spawn, captures, |runtime, id| {
            let (task, created) = runtime.schedule.create(id);
            let creator = runtime.suspend();
            let schedule = &mut runtime.schedule;
            schedule.ready.push(creator);
            (schedule.running, schedule.task) = (strand, task);
            runtime.context.strand_pointer = pointer as u64;
            runtime.stack_room = schedule.strands[strand].room.bytes;
            runtime.limit_stack();
            created
        });
    }

    /// The function of the strand's own task has returned.
    fn end_strand(&mut self) {
        let strand = self.schedule.running;
        let end = self.schedule.strands[strand].end;
        if strand == MAIN {
            self.may_end();
            self.context.stack =
                cost::LIVE_TASK + cost::frame(self.module.function(self.module.main));
            if self.waits_for_finish(FinishKind::Root, end) {
                return;
            }
            self.end_main();
            self.leave(End::Finished);
        }
        self.tell_end(end);
        let owner = self.schedule.leave_finish();
        self.schedule.strands.give_back(strand);
        match owner {
            Some(owner) => self.resume(owner),
            None => self.resume_next(),
        }
    }

    /// Waits if the innermost finish is of this kind and has tasks. True if the task has waited and
    /// must look again.
    fn waits_for_finish(&mut self, kind: FinishKind, site: SiteId) -> bool {
        let Some(place) = self.schedule.task.innermost else {
            return false;
        };
        let finish = &mut self.schedule.finishes[place.index()];
        if finish.open.kind != kind || finish.live == 0 {
            return false;
        }
        finish.waiting = Some(self.schedule.running);
        self.wait(Awaits::Finish(place), site);
        true
    }

    fn deadlock(&mut self) -> ! {
        let waiting = |strand: &super::strands::Strand| Waiting {
            task: strand.task.id,
            site: strand.site,
            waits_for: match strand.awaits {
                Awaits::Promise(promise) => {
                    // SAFETY: the promise is live: a suspended strand refers to it.
                    WaitsFor::Promise(unsafe { promises::location(promise) })
                }
                Awaits::Finish(place) => {
                    WaitsFor::Finish(self.schedule.finishes[place.index()].open.id)
                }
                Awaits::Lock(address) => {
                    // SAFETY: the lock is live: a suspended strand refers to it.
                    let (number, lock) = unsafe {
                        let number = locks::number(std::ptr::with_exposed_provenance(address));
                        (number, promises::location(address))
                    };
                    match self.schedule.locks.holder(number) {
                        Some(holder) => WaitsFor::Lock { lock, holder },
                        None => unreachable!("a strand waits for a lock that is held"),
                    }
                }
                Awaits::Nothing => unreachable!("a strand that is not ready waits"),
            },
        };
        let mut waiting: Vec<Waiting> = self.schedule.strands.suspended().map(waiting).collect();
        waiting.sort_unstable_by_key(|waiting| waiting.task);
        let reason = |waiting: &&Waiting| !matches!(waiting.waits_for, WaitsFor::Finish(_));
        let Some(&Waiting { site, task, .. }) = waiting.iter().find(reason) else {
            unreachable!("a finish alone waits for tasks that can go on")
        };
        let trap = Trap::new(TrapKind::Deadlock { waiting }, site, task);
        self.leave(End::Trapped(trap))
    }
}

impl Serial for Cooperative {
    fn new(start: Start<'_>) -> Self {
        let [begin, end] = start.sites;
        let main = LiveTask {
            id: TaskId::MAIN,
            enclosing: ROOT,
            innermost: Some(ROOT),
            created: 0,
        };
        let factor = start.executable.stack_factor;
        Cooperative {
            strands: Strands::new(main, end, start.stack, factor),
            running: MAIN,
            task: main,
            finishes: vec![Finish {
                open: OpenFinish::root(begin),
                live: 0,
                outer: None,
                waiting: None,
            }],
            idle_finishes: Vec::new(),
            ready: Vec::new(),
            woken: Vec::new(),
            isolated: false,
            locks: Locks::default(),
            heard: start.heard,
        }
    }

    fn execute<C: Checker>(
        runtime: &mut Runtime<'_, C, Self>,
        executable: &Executable,
        arguments: &[u64],
    ) {
        let context = runtime.context.as_ptr();
        let base = runtime.schedule.strands[MAIN].room.base();
        // SAFETY: the stack of `main` is not used yet, and there are as many arguments as `main`
        // has parameters.
        let pointer = unsafe {
            let end = end_strand_address::<C>();
            switch::prepare(base, arguments, context, executable.entry, end)
        };
        runtime.context.strand_pointer = pointer as u64;
        runtime.stack_room = runtime
            .stack_room
            .min(runtime.schedule.strands[MAIN].room.bytes);
        runtime.limit_stack();
        // SAFETY: the code was compiled for this checker and module; the context is the runtime's;
        // the strand is prepared.
        unsafe { switch::enter(context, &raw mut (*context).worker_pointer) };
    }
}

impl Schedule for Cooperative {
    const MANNER: Manner = Manner::Cooperative;

    #[inline]
    fn running(&self) -> TaskId {
        self.task.id
    }

    fn innermost(&self) -> Option<OpenFinish> {
        self.innermost_finish().map(|finish| finish.open)
    }

    fn first_held(&self) -> Option<SiteId> {
        self.locks.first_held(self.task.id)
    }

    #[inline]
    fn is_heard(&self) -> bool {
        self.heard
    }

    fn reserve_task(&mut self) -> bool {
        // A strand is ready or woken at most once.
        let most = self.strands.len();
        let (ready, woken) = (self.ready.len(), self.woken.len());
        self.ready.try_reserve(most - ready.min(most)).is_ok()
            && self.woken.try_reserve(most - woken.min(most)).is_ok()
            && self.strands[self.running].below.try_reserve(1).is_ok()
    }

    fn reserve_finish(&mut self) -> bool {
        !self.idle_finishes.is_empty()
            || self.finishes.try_reserve(1).is_ok()
                && self
                    .idle_finishes
                    .try_reserve(self.finishes.len() + 1)
                    .is_ok()
    }

    fn begin_task(&mut self, id: TaskId, _: bool) -> Created {
        let (task, created) = self.create(id);
        let creator = std::mem::replace(&mut self.task, task);
        self.strands[self.running].below.push(creator);
        created
    }

    fn end_task(&mut self) -> Option<TaskId> {
        let creator = self.strands[self.running].below.pop()?;
        let owner = self.leave_finish();
        debug_assert!(owner.is_none(), "the creator itself keeps the finish open");
        self.task = creator;
        self.heard.then_some(creator.id)
    }

    fn open_finish(&mut self, open: OpenFinish) {
        let finish = Finish {
            open,
            live: 0,
            outer: self.task.innermost,
            waiting: None,
        };
        let place = match self.idle_finishes.pop() {
            Some(place) => {
                self.finishes[place.index()] = finish;
                place
            }
            None => {
                self.finishes.push(finish);
                FinishPlace::from_index(self.finishes.len() - 1)
            }
        };
        self.task.innermost = Some(place);
    }

    fn close_finish(&mut self) -> Option<FinishId> {
        let place = self.task.innermost?;
        let finish = self.finishes[place.index()];
        self.task.innermost = finish.outer;
        self.idle_finishes.push(place);
        Some(finish.open.id)
    }

    fn isolate<C: Checker>(runtime: &mut Runtime<'_, C, Self>, inside: bool) {
        runtime.schedule.isolated = inside;
    }

    #[cold]
    fn make_room<C: Checker>(
        runtime: &mut Runtime<'_, C, Self>,
        request: u64,
        stack: u64,
        site: SiteId,
    ) {
        let schedule = &mut runtime.schedule;
        let pointer = runtime.context.strand_pointer as usize;
        let strand = schedule.running;
        // Less than `stack`, if that counts functions that are inlined here.
        let real = runtime.context.stack;
        let needed = stack + request - real;
        if stack + request > runtime.budget_left
            || !schedule.strands[strand].room.make(pointer, real, needed)
        {
            runtime.over_budget(request, stack, site);
        }
        runtime.stack_room = schedule.strands[strand].room.bytes;
        runtime.limit_stack();
    }

    fn visit_stacks(&self, context: &Context, pointer: usize, visit: &mut dyn FnMut(Range<usize>)) {
        visit(pointer..context.worker_pointer as usize);
        let running = &self.strands[self.running].room;
        visit(running.above(context.strand_pointer as usize));
        for strand in self.strands.suspended() {
            visit(strand.in_use());
        }
    }

    fn address<C: Checker>(helper: Helper) -> usize {
        switching!(begin_strand_of calls begin_strand);
        switching!(pass_finish_of calls pass_finish);
        switching!(pass_sync_of calls pass_sync);
        switching!(leave_isolated_of calls leave_isolated);
        switching!(acquire_of calls locks::acquire);
        switching!(release_of calls locks::release);
        switching!(await_promise_of calls promises::await_promise);
        switching!(set_promise_of calls promises::set_promise);
        match helper {
            Helper::BeginStrand => begin_strand_of::<C> as *const () as usize,
            Helper::PassFinish => pass_finish_of::<C> as *const () as usize,
            Helper::PassSync => pass_sync_of::<C> as *const () as usize,
            Helper::LeaveIsolated => leave_isolated_of::<C> as *const () as usize,
            Helper::Acquire => acquire_of::<C> as *const () as usize,
            Helper::Release => release_of::<C> as *const () as usize,
            Helper::AwaitPromise => await_promise_of::<C> as *const () as usize,
            Helper::SetPromise => set_promise_of::<C> as *const () as usize,
            other => unreachable!("{other:?} is called by all programs"),
        }
    }

    fn leave<C: Checker>(runtime: &mut Runtime<'_, C, Self>, end: End) -> ! {
        runtime.failed = Some(end);
        // SAFETY: functions of the runtime run on the worker's stack, above `enter`.
        unsafe { switch::leave(runtime.context.worker_pointer) }
    }
}

unsafe extern "C" fn begin_strand<C: Checker>(
    context: *mut Context,
    spawn: u32,
    captures: *const u64,
) -> Passed {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Cooperative>::of(context) };
    let spawn = runtime.spawns[spawn as usize];
    runtime.begin_strand(spawn, captures);
    Passed::not_yet(context)
}

/// The end of a finish.
unsafe extern "C" fn pass_finish<C: Checker>(
    context: *mut Context,
    kind: u32,
    site: u32,
) -> Passed {
    let (kind, site) = (FINISH_KINDS[kind as usize], SiteId(site));
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Cooperative>::of(context) };
    runtime.may_wait(site);
    if runtime.waits_for_finish(kind, site) {
        return Passed::not_yet(context);
    }
    runtime.end_finish(kind, site);
    Passed::yes(context)
}

/// A `sync`.
unsafe extern "C" fn pass_sync<C: Checker>(context: *mut Context, site: u32) -> Passed {
    let site = SiteId(site);
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Cooperative>::of(context) };
    runtime.may_wait(site);
    if let Some(open) = runtime.schedule.innermost()
        && open.kind != FinishKind::Dynamic
        && runtime.waits_for_finish(open.kind, site)
    {
        return Passed::not_yet(context);
    }
    runtime.sync(site);
    Passed::yes(context)
}

unsafe extern "C" fn leave_isolated<C: Checker>(context: *mut Context, site: u32) -> Passed {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Cooperative>::of(context) };
    let (task, site) = (runtime.running(), SiteId(site));
    runtime.schedule.isolated = false;
    runtime.tell(&Event::IsolatedEnd { task, site });
    runtime.resume_woken();
    Passed::not_yet(context)
}

unsafe extern "C" fn end_strand<C: Checker>(context: *mut Context) -> Passed {
    // SAFETY: the strand passes the context that it was prepared with.
    unsafe { Runtime::<C, Cooperative>::of(context) }.end_strand();
    Passed::not_yet(context)
}

fn end_strand_address<C: Checker>() -> usize {
    switching!(end_strand_of calls end_strand);
    end_strand_of::<C> as *const () as usize
}
