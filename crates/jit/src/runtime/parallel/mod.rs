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
//! The files: [`crew`] what workers share, and how they stop, sleep and end. [`run`] how a run
//! begins and ends. [`tasks`] tasks and joins. [`going_on`] from one strand to another.
//! [`synchronisation`] promises and locks, [`promise`] and [`lock`] their words. [`finish`],
//! [`record`] and [`strand`] what there is of each, [`pool`] where they are kept.

mod crew;
mod finish;
mod going_on;
mod lock;
mod pool;
mod promise;
mod record;
mod run;
mod signals;
mod strand;
mod synchronisation;
mod tasks;

pub(crate) use record::Record;

use super::Runtime;
use super::context::Context;
use super::helpers::Helper;
use super::schedule::{Created, Manner, OpenFinish, Schedule};
use super::switch::{self, on_worker_stack, switching};
use super::tasks::end_isolated;
use crate::End;
use crate::checker::{Carried, Checker, Style};
use crew::{Crew, Item};
use crossbeam_deque::Worker;
use finish::Finish;
use finishline_detect::order::NOBODY;
use finishline_detect::parallel::NO_STAMP;
use finishline_detect::parallel::cell::settled;
use finishline_model::{Event, FinishId, SiteId, TaskId};
use lock::Taken;
use pool::Pool;
use std::hint::spin_loop;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::thread;
use strand::{LiveTask, Strand};

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
    /// How much of the budget it takes at a time.
    budget_at_once: u64,
    /// The number of its present era. See [`Schedule::begin_era`].
    era: u64,
}

/// A worker with so many tasks for each worker calls new ones, until it has half of them left: in
/// between it makes few changes to its deque.
const ENOUGH_TASKS_EACH: usize = 2;
/// The most of the budget that a worker takes at a time, in how many times all workers together
/// take all of it at least, and up to how many times of it a worker keeps.
const MOST_BUDGET_AT_ONCE: u64 = 1 << 20;
const TIMES_TO_TAKE_BUDGET: u64 = 64;
const BUDGETS_KEPT: u64 = 4;
/// How often a worker looks for work before it lets other threads run, and before it sleeps. All of
/// it takes some 150 microseconds: to wake a sleeper takes 50, as long as many parallel loops do.
const LOOKS: u32 = 64;
const YIELDS: u32 = 400;

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
            carried: Carried::nothing(),
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

    #[inline]
    fn reserve_finish(&mut self) -> bool {
        self.finishes
            .reserve(|| Finish::new(OpenFinish::root(SiteId(0)), None))
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
        let Some(mut place) = self.finishes.take(|| None) else {
            unreachable!("a finish was reserved")
        };
        // SAFETY: an idle finish is used by nobody.
        unsafe { place.as_mut() }.open_again(open, outer);
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
        let Parallel { crew, number, .. } = runtime.schedule;
        let isolated = &crew.isolated;
        if !inside {
            isolated.end(number);
            return;
        }
        let mut looks = 0;
        let taken = loop {
            if let Some(taken) = isolated.begin(number) {
                break taken;
            }
            while isolated.is_under_way() {
                runtime.poll();
                looks += 1;
                match looks < LOOKS {
                    true => spin_loop(),
                    false => thread::yield_now(),
                }
            }
        };
        if taken == Taken::FromOther {
            runtime.checker.meets_others();
        }
    }

    fn more_budget<C: Checker>(runtime: &mut Runtime<'_, C, Self>, needed: u64) -> bool {
        let missing = needed.saturating_sub(runtime.budget_left);
        let wanted = missing.max(runtime.schedule.budget_at_once);
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

    #[inline]
    fn carried(&mut self) -> &mut Carried {
        &mut self.strand_mut().task_mut().carried
    }

    #[inline]
    fn was_called<C: Checker>(runtime: &mut Runtime<'_, C, Self>, site: SiteId) {
        if C::STYLE.is_shared() {
            let [creator, task] = runtime.schedule.strand_mut().two_on_top();
            task.carried = runtime.checker.create(&mut creator.carried, site);
            Self::begin_step(runtime);
        }
    }

    #[inline]
    fn was_opened<C: Checker>(runtime: &mut Runtime<'_, C, Self>) {
        if C::STYLE.is_shared() {
            let task = runtime.schedule.strand_mut().task_mut();
            let carried = runtime.checker.open(&mut task.carried);
            if let Some(mut finish) = task.innermost {
                // SAFETY: an open finish is alive, and has no tasks yet, or none any more.
                *unsafe { finish.as_mut() }.carried.get_mut() = carried;
            }
            Self::begin_step(runtime);
        }
    }

    #[inline]
    fn will_close<C: Checker>(runtime: &mut Runtime<'_, C, Self>) {
        if C::STYLE.is_shared() {
            let task = runtime.schedule.strand_mut().task_mut();
            if let Some(finish) = task.innermost {
                // SAFETY: an open finish is alive, and its tasks have ended.
                let carried = unsafe { *finish.as_ref().carried.get() };
                runtime.checker.close(&mut task.carried, carried);
            }
            Self::begin_step(runtime);
        }
    }

    #[inline]
    fn was_told<C: Checker>(runtime: &mut Runtime<'_, C, Self>, event: &Event) {
        if !C::STYLE.is_shared() {
            return;
        }
        match event {
            Event::TaskEnd { task: id } if *id != TaskId::MAIN => {
                let task = runtime.schedule.strand().task();
                // SAFETY: the finish of a live task is open.
                let finish = unsafe { task.enclosing.as_ref() }.carried.get();
                // SAFETY: its owner has opened it.
                unsafe { runtime.checker.end(task.carried, finish) };
            }
            Event::IsolatedBegin { .. }
            | Event::IsolatedEnd { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. } => {
                let task = runtime.schedule.carried();
                runtime.checker.synchronise(task, event);
                let before = runtime.context.fast.limits.me;
                Self::name_step(runtime);
                if C::STYLE == Style::SharedWord {
                    let now = runtime.context.fast.limits.me;
                    runtime.context.set_known_aside(before, now);
                }
            }
            Event::PromiseSet { .. } | Event::PromiseGet { .. } => {
                let task = runtime.schedule.carried();
                runtime.checker.synchronise(task, event);
                Self::begin_step(runtime);
            }
            _ => {}
        }
    }

    #[inline]
    fn begin_step<C: Checker>(runtime: &mut Runtime<'_, C, Self>) {
        if C::STYLE.is_shared() {
            Self::name_step(runtime);
            if C::STYLE == Style::SharedWord {
                let words = runtime.checker.phase_words(runtime.schedule.carried());
                runtime.context.phase = words;
                runtime.context.forget_known();
            }
        }
    }

    #[inline]
    fn name_step<C: Checker>(runtime: &mut Runtime<'_, C, Self>) {
        let task = runtime.schedule.carried();
        let stamp = runtime.checker.stamp(task);
        runtime.context.past = match stamp {
            NO_STAMP => NOBODY,
            _ => runtime.checker.past(task),
        };
        let limits = &mut runtime.context.fast.limits;
        (limits.me, limits.settled) = (stamp, settled(stamp));
        Self::begin_era(runtime);
    }

    /// The eras of a worker: whatever it does, it has seen other ranges before.
    #[inline]
    fn begin_era<C: Checker>(runtime: &mut Runtime<'_, C, Self>) {
        runtime.schedule.era += 1;
        runtime.context.fast.limits.era = runtime.schedule.era;
    }

    fn poll<C: Checker>(runtime: &mut Runtime<'_, C, Self>) {
        runtime.poll();
    }

    fn address<C: Checker>(helper: Helper) -> usize {
        switching!(begin_strand_of calls tasks::begin_strand);
        switching!(pass_finish_of calls tasks::pass_finish);
        switching!(pass_sync_of calls tasks::pass_sync);
        switching!(acquire_of calls synchronisation::acquire);
        switching!(await_promise_of calls synchronisation::await_promise);
        on_worker_stack!(create_task_of<C> calls tasks::create_task);
        on_worker_stack!(end_taken_of<C> calls tasks::end_taken);
        on_worker_stack!(release_of<C> calls synchronisation::release);
        on_worker_stack!(set_promise_of<C> calls synchronisation::set_promise);
        on_worker_stack!(leave_isolated_of calls end_isolated);
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
