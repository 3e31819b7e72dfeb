//! Threads: what each has of its own, and how the checker goes from one to another.
//!
//! One thread runs at a time. To the detector a thread is a task of the root finish, and the run is
//! depth-first: a created thread stands where a child on top of its creator would. A thread that
//! must let others run before its end is suspended and taken off. It is resumed on top of whatever
//! thread is there then. Only a thread without an open finish and without a running task can be
//! suspended. Any other thread, and always the first one, stays *in place*: others may run on top
//! of it, but it goes on only when it is the topmost again.
//!
//! So a thread can run if it is suspended, or if all threads on top of it can be suspended.

use super::glimpses::Glimpse;
use super::stays::Stays;
use super::tasks::StackedTask;
use super::waiting::Spin;
use super::{Checker, NO_SITE};
use crate::facts::calls::CallStack;
use crate::facts::structure::{Position, TaskKind, Whereabouts};
use crate::facts::synchronisation::{Share, Told};
use finishline_model::{Event, FinishId, ObjectId, TaskId, TaskKind as Creation};
use finishline_trace::process::Call;
use std::ops::Range;

/// What a thread has of its own, whether it runs or not.
#[derive(Debug)]
pub struct ThreadState {
    pub stack: Range<u64>,
    /// The addresses of the thread-local variables that the running task has: those of the thread
    /// that it is on.
    pub thread_locals: Range<u64>,
    pub(super) stays: Stays,
    /// The tasks on its stack. The innermost one is the last.
    pub(super) tasks: Vec<StackedTask>,
    /// The lowest stack pointer at which its innermost task had an access remembered.
    pub(super) lowest: u64,
    /// Where its innermost function was last known to be.
    pub(super) place: u64,
    pub(super) glimpse: Glimpse,
    pub(super) spin: Spin,
    /// What its latest atomic operation found, if not the latest value.
    pub(super) told: Option<Share>,
}

impl ThreadState {
    /// Of a thread with this number whose first task has its frames below `entry`.
    pub(super) fn new(
        task: TaskId,
        number: u32,
        entry: u64,
        stack: Range<u64>,
        thread_locals: Range<u64>,
    ) -> ThreadState {
        ThreadState {
            stack,
            thread_locals,
            stays: Stays::on(number),
            tasks: vec![StackedTask::outermost(entry, task)],
            lowest: entry,
            place: 0,
            glimpse: Glimpse::default(),
            spin: Spin::default(),
            told: None,
        }
    }

    /// The state of no thread, in the place of one that was put away.
    fn nobody() -> ThreadState {
        ThreadState::new(TaskId::MAIN, 0, 0, 0..0, 0..0)
    }
}

/// A thread that is not running.
#[derive(Debug)]
pub(super) struct WaitingThread {
    task: TaskId,
    whereabouts: Whereabouts,
    /// None while the checker still has them.
    pub(super) calls: Option<CallStack>,
    pub(super) state: ThreadState,
    /// How many accesses there were when it ran last.
    accesses: u64,
}

/// Where threads are that are not running, and which are in place.
#[derive(Debug)]
pub(super) struct Threads {
    pub(super) others: Vec<WaitingThread>,
    /// From the bottom up.
    in_place: Vec<TaskId>,
    /// Unless it has ended and no other one runs yet.
    running: Option<TaskId>,
    /// Whose calls the checker has.
    calls: TaskId,
    pub(super) created: u64,
    /// The places that created them, each with the first creator there.
    starts: Vec<(Position, TaskId, u64)>,
    /// For ended threads, by the name that a join uses: the object that passes on what the thread
    /// did.
    objects: Vec<(u64, ObjectId)>,
}

impl Default for Threads {
    fn default() -> Threads {
        Threads {
            others: Vec::new(),
            in_place: vec![TaskId::MAIN],
            running: Some(TaskId::MAIN),
            calls: TaskId::MAIN,
            created: 0,
            starts: Vec::new(),
            objects: Vec::new(),
        }
    }
}

impl Threads {
    fn note_start(&mut self, at: Position, creator: TaskId) {
        match self.starts.iter_mut().find(|(known, ..)| *known == at) {
            Some((_, _, threads)) => *threads += 1,
            None => self.starts.push((at, creator, 1)),
        }
    }
}

impl Checker {
    /// Where the other threads were created: the place, a creator, how many.
    pub fn thread_starts(&self) -> &[(Position, TaskId, u64)] {
        &self.threads.starts
    }

    /// Threads that are followed, besides the program's own.
    pub fn other_threads(&self) -> u64 {
        let of_test = u64::from(self.options.test_thread);
        self.threads.created.saturating_sub(of_test)
    }

    /// Begins a thread with a stack and thread-local variables of its own. Its creator was running,
    /// and called from `place`.
    pub fn begin_thread(
        &mut self,
        place: u64,
        entry: u64,
        stack: Range<u64>,
        thread_locals: Range<u64>,
    ) -> TaskId {
        self.note(|| Call::ThreadBegin {
            place,
            entry,
            stack: stack.clone(),
            thread_locals: thread_locals.clone(),
        });
        self.look_around(place);
        let calls = CallStack::new(stack.end - stack.start);
        let calls = calls.map_err(|failure| self.fail(failure)).ok();
        let created = self.position(place);
        let (parent, creator) = (self.structure.running(), self.structure.whereabouts());
        let finish = FinishId::ROOT;
        let task = self.structure.begin_task(TaskKind::Thread, finish, created);
        let whereabouts = Whereabouts {
            running: task,
            innermost: finish,
        };
        self.structure.go_to(creator);
        self.put_away();
        let number = self.variables.add(thread_locals.clone());
        self.threads.others.push(WaitingThread {
            task,
            whereabouts,
            calls,
            state: ThreadState::new(task, number, entry, stack, thread_locals),
            accesses: self.glance.accesses(),
        });
        self.take_up(task);
        // The stack may lie where an ended thread had its own, or where something else was
        // unmapped.
        let Range { start, end } = self.thread.stack;
        self.forget(start, end.saturating_sub(start));
        self.threads.created += 1;
        if self.other_threads() > 0 {
            self.threads.note_start(created, parent);
        }
        self.threads.in_place.push(task);
        self.event(Event::TaskBegin {
            task,
            parent: Some(parent),
            kind: Creation::Async,
            finish,
            site: NO_SITE,
        });
        task
    }

    /// Ends the running thread. A thread that joins it by this name is ordered behind it.
    pub fn end_thread(&mut self, name: u64) {
        let Some(task) = self.threads.running else {
            return;
        };
        self.note(|| Call::ThreadEnd(name));
        self.look_around(0);
        let object = self.synchronisation.new_object();
        self.threads.objects.retain(|(other, _)| *other != name);
        self.threads.objects.push((name, object));
        self.tell(&[Told::Release {
            object,
            continues: false,
        }]);
        let mut told = Vec::new();
        self.synchronisation.end_thread(|event| told.push(event));
        self.tell(&told);
        let lowest = self.thread.lowest;
        self.forget(lowest, self.entry().saturating_sub(lowest));
        self.threads.in_place.pop();
        self.threads.running = None;
        self.belongs_to_topmost();
        self.event(Event::TaskEnd { task });
    }

    pub fn join_thread(&mut self, name: u64) {
        self.note(|| Call::ThreadJoin(name));
        self.look_around(0);
        let mut objects = self.threads.objects.iter();
        if let Some(at) = objects.position(|(other, _)| *other == name) {
            let (_, object) = self.threads.objects.swap_remove(at);
            self.tell(&[Told::Acquire(object)]);
        }
    }

    /// Whether a thread of this name has ended and was not joined.
    pub fn has_ended(&self, name: u64) -> bool {
        self.threads.objects.iter().any(|(other, _)| *other == name)
    }

    /// Whether some thread is running.
    pub fn is_running(&self) -> bool {
        self.threads.running.is_some()
    }

    pub fn is_waiting(&self, thread: TaskId) -> bool {
        self.other(thread).is_some()
    }

    /// Whether the running thread has a task on its stack besides its first.
    pub fn has_inner_task(&self) -> bool {
        self.thread.tasks.len() > 1
    }

    /// Whether the running task is inside another one, or tasks have not begun.
    pub fn has_unfinished_tasks(&self) -> bool {
        self.has_inner_task() || !self.created.is_empty()
    }

    /// Whether the running thread is on top of all others, not the first one, and has nothing open.
    pub fn can_end_thread(&self) -> bool {
        let topmost = self.threads.in_place.last().copied();
        topmost == self.threads.running && topmost.is_some_and(|thread| self.gives_way(thread))
    }

    /// Whether a thread that is not running could.
    pub fn can_run(&self, thread: TaskId) -> bool {
        let mut in_place = self.threads.in_place.iter().rev();
        let above = in_place.by_ref().take_while(|other| **other != thread);
        let all_give_way = above.copied().all(|other| self.gives_way(other));
        all_give_way || !self.threads.in_place.contains(&thread)
    }

    /// Whether a thread that is in place could be suspended.
    fn gives_way(&self, thread: TaskId) -> bool {
        let own = Whereabouts {
            running: thread,
            innermost: FinishId::ROOT,
        };
        let whereabouts = match self.threads.running == Some(thread) {
            true => Some(self.structure.whereabouts()),
            false => self.other(thread).map(|other| other.whereabouts),
        };
        thread != TaskId::MAIN && whereabouts == Some(own)
    }

    /// Lets this thread run. It must be able to ([`Checker::can_run`]).
    pub fn run_thread(&mut self, thread: TaskId) {
        if self.threads.running == Some(thread) {
            return;
        }
        self.note(|| Call::ThreadRun(thread));
        self.put_away();
        while let Some(&top) = self.threads.in_place.last() {
            if top == thread || !self.gives_way(top) {
                break;
            }
            self.threads.in_place.pop();
            self.belongs_to_topmost();
            self.event(Event::Suspend { task: top });
        }
        self.take_up(thread);
        if self.threads.in_place.last() != Some(&thread) {
            self.threads.in_place.push(thread);
            self.event(Event::Resume { task: thread });
        }
    }

    fn other(&self, thread: TaskId) -> Option<&WaitingThread> {
        self.threads
            .others
            .iter()
            .find(|other| other.task == thread)
    }

    /// Stamps that the next event gives out belong to the topmost thread.
    fn belongs_to_topmost(&mut self) {
        let topmost = self.threads.in_place.last();
        let topmost = topmost.and_then(|topmost| self.other(*topmost));
        if let Some(whereabouts) = topmost.map(|topmost| topmost.whereabouts) {
            self.structure.go_to(whereabouts);
        }
    }

    /// Puts the running thread, if there is one, to the waiting ones.
    fn put_away(&mut self) {
        let Some(task) = self.threads.running.take() else {
            return;
        };
        self.synchronisation.put_away(task);
        self.threads.others.push(WaitingThread {
            task,
            whereabouts: self.structure.whereabouts(),
            calls: None,
            state: std::mem::replace(&mut self.thread, ThreadState::nobody()),
            accesses: self.glance.accesses(),
        });
    }

    fn take_up(&mut self, thread: TaskId) {
        let mut others = self.threads.others.iter();
        let Some(at) = others.position(|other| other.task == thread) else {
            return;
        };
        let own = self.threads.others.swap_remove(at);
        self.threads.running = Some(thread);
        self.synchronisation.take_up(thread);
        self.structure.go_to(own.whereabouts);
        if let Some(calls) = own.calls {
            let before = self.calls.exchange(calls);
            let owner = std::mem::replace(&mut self.threads.calls, thread);
            let mut others = self.threads.others.iter_mut();
            if let Some(owner) = others.find(|other| other.task == owner) {
                owner.calls = Some(before);
            }
        }
        self.thread = own.state;
        self.glance
            .set_thread_locals(self.thread.thread_locals.clone());
        let others_made = self.glance.accesses() - own.accesses;
        self.thread.spin.others_made(others_made);
    }
}
