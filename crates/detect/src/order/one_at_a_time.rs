//! A run in which one task at a time goes on, most often depth-first: what native programs do, as
//! they are run here. Which task goes on is known from the events. The order itself is
//! [`Labelled`], which knows nothing of that; here are hints that hold because the run is nearly
//! depth-first.
//!
//! ```text
//! task begins, resumes      it goes on
//! task ends, is suspended   the task that went on before does
//! ```
//!
//! So the tasks that are under way form a stack, together with the finishes that they have open.
//!
//! **One reader stands for another** as long as the run is depth-first: if e₁ ∥ e₂ and e₂ ∥ e₃ in
//! the order of the run, then e₁ ∥ e₃, unless a task escapes. A release since e₁, or a step that
//! was noted, may be known to e₃ and not have e₂ before it. After a suspension, and after a task is
//! resumed on top of others, the run is depth-first from there on. So a stamp stands for others if
//! its step was made after the last of these (`stand_from`).
//!
//! **What precedes without a look-up.** Each entry of the stack knows the least stamp of the tasks
//! that have ended and wait to be joined by it or by entries below it. All steps of a task, and of
//! those below it, are numbered after its first one. So smaller stamps precede the running step:
//! they belong to tasks under way, or to tasks that those have joined. This is not true of
//! suspended tasks, and not for a task that was resumed on top of others. While there are any, the
//! order's own limit holds.

use super::{Effort, Labelled, NOBODY, Order, Running, Stamp};
use crate::Failure;
use crate::table::{make_room, make_room_in};
use finishline_model::hash::IdMap;
use finishline_model::{Event, FinishId, ObjectId, TaskId};

/// A task under way, or a finish that it has open.
#[derive(Clone, Copy, Debug)]
struct Scope {
    what: What,
    /// The least stamp of ended tasks that wait to be joined here or below.
    first_parallel: Stamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Task(TaskId),
    Finish(FinishId),
}

/// A task that has begun and not ended.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// Its first stamp.
    first: Stamp,
    /// The finish that waits for it.
    finish: FinishId,
    /// Whether it leaves a finish further in, or is on top of tasks that it does not follow.
    escapes: bool,
    /// The latter, because it was resumed.
    resumed: bool,
}

/// Greater than every stamp.
const NONE_PARALLEL: Stamp = Stamp::MAX;

#[derive(Debug)]
pub struct OneAtATime {
    order: Labelled,
    strand: <Labelled as Order>::Strand,
    stack: Vec<Scope>,
    begun: IdMap<TaskId, Begun>,
    /// What suspended tasks had on the stack.
    suspended: IdMap<TaskId, Vec<Scope>>,
    /// How many tasks on the stack escape, and how many of these were resumed.
    escaping: u32,
    resumed: u32,
    /// Smaller stamps stand for nobody.
    stand_from: Stamp,
    /// Whether anything but structure may have ordered steps.
    knows_more: bool,
}

impl OneAtATime {
    /// The object by which the running step learnt that an earlier stamp is over: that of the first
    /// release after it which the step knows.
    pub fn passed_on_by(&mut self, earlier: Stamp) -> Option<ObjectId> {
        self.order.passed_on_by(self.strand, earlier)
    }

    /// A later step may [learn](OneAtATime::learn_of_step) of the running one. To be called when
    /// the running step has learnt something, and before it ends.
    pub fn note_step(&mut self) -> Result<(), Failure> {
        if let Some(task) = self.running() {
            self.order.note_step(task)?;
        }
        self.stand_from = self.order.next();
        self.knows_more = true;
        Ok(())
    }

    /// The running task learns of a step that was noted.
    pub fn learn_of_step(&mut self, earlier: Stamp) -> Result<(), Failure> {
        if let Some(task) = self.running() {
            self.order.learn_of_step(task, earlier)?;
            self.strand = self.order.strand(task);
        }
        Ok(())
    }

    fn running(&self) -> Option<TaskId> {
        self.stack.iter().rev().find_map(|scope| match scope.what {
            What::Task(task) => Some(task),
            What::Finish(_) => None,
        })
    }

    fn first_parallel(&self) -> Stamp {
        let top = self.stack.last();
        top.map_or(NONE_PARALLEL, |scope| scope.first_parallel)
    }

    fn push(&mut self, what: What) -> Result<(), Failure> {
        make_room(&mut self.stack, 1, "live tasks and finishes")?;
        let first_parallel = self.first_parallel();
        self.stack.push(Scope {
            what,
            first_parallel,
        });
        Ok(())
    }

    fn begin_task(&mut self, task: TaskId, finish: FinishId) -> Result<(), Failure> {
        let around = self.stack.last().and_then(|top| match top.what {
            What::Finish(innermost) => Some(innermost),
            What::Task(creator) => self.begun.get(&creator).map(|creator| creator.finish),
        });
        let escapes = around.is_some_and(|around| around != finish);
        self.escaping += u32::from(escapes);
        make_room_in(&mut self.begun, "live tasks")?;
        self.begun.insert(
            task,
            Begun {
                first: self.order.stamp(self.order.strand(task)),
                finish,
                escapes,
                resumed: false,
            },
        );
        self.push(What::Task(task))
    }

    /// The place in the stack of a task, with its finishes behind it.
    fn place(&self, task: TaskId) -> usize {
        let is_it = |scope: &Scope| scope.what == What::Task(task);
        let place = self.stack.iter().rposition(is_it);
        place.unwrap_or(self.stack.len())
    }

    /// Notes that a task has ended, beside all that its finish does not wait for.
    fn end_task(&mut self, task: TaskId) {
        self.stack.truncate(self.place(task));
        let Some(ended) = self.begun.remove(&task) else {
            return;
        };
        self.escaping -= u32::from(ended.escapes);
        self.resumed -= u32::from(ended.resumed);
        let is_it = |scope: &Scope| scope.what == What::Finish(ended.finish);
        let from = self.stack.iter().rposition(is_it).unwrap_or(0);
        for scope in &mut self.stack[from..] {
            scope.first_parallel = scope.first_parallel.min(ended.first);
        }
    }

    /// The tasks of a finish are joined, and those of the finishes inside.
    fn join(&mut self, finish: FinishId) {
        let is_it = |scope: &Scope| scope.what == What::Finish(finish);
        if let Some(from) = self.stack.iter().rposition(is_it) {
            let below = self.stack[..from].last();
            let first = below.map_or(NONE_PARALLEL, |scope| scope.first_parallel);
            for scope in &mut self.stack[from..] {
                scope.first_parallel = first;
            }
        }
    }

    fn suspend(&mut self, task: TaskId) -> Result<(), Failure> {
        make_room_in(&mut self.suspended, "suspended tasks")?;
        let scopes = self.stack.split_off(self.place(task));
        if let Some(begun) = self.begun.get_mut(&task) {
            self.escaping -= u32::from(begun.escapes);
            self.resumed -= u32::from(begun.resumed);
            (begun.escapes, begun.resumed) = (false, false);
        }
        self.suspended.insert(task, scopes);
        Ok(())
    }

    fn resume(&mut self, task: TaskId) -> Result<(), Failure> {
        if let Some(begun) = self.begun.get_mut(&task) {
            (begun.escapes, begun.resumed) = (true, true);
            self.escaping += 1;
            self.resumed += 1;
        }
        for scope in self.suspended.remove(&task).unwrap_or_default() {
            self.push(scope.what)?;
        }
        Ok(())
    }
}

impl Order for OneAtATime {
    type Strand = Running;

    fn new() -> Result<Self, Failure> {
        Ok(OneAtATime {
            order: Labelled::new()?,
            strand: Default::default(),
            stack: Vec::new(),
            begun: IdMap::default(),
            suspended: IdMap::default(),
            escaping: 0,
            resumed: 0,
            stand_from: NOBODY,
            knows_more: false,
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        self.order.event(event)?;
        match *event {
            Event::TaskBegin { task, finish, .. } => self.begin_task(task, finish)?,
            Event::TaskEnd { task } => self.end_task(task),
            Event::FinishBegin { finish, .. } => self.push(What::Finish(finish))?,
            Event::FinishJoin { finish, .. } => self.join(finish),
            Event::FinishEnd { .. } => {
                self.stack.pop();
            }
            Event::Suspend { task } => self.suspend(task)?,
            Event::Resume { task } => self.resume(task)?,
            _ => {}
        }
        let running = self.running();
        self.strand = running.map_or(Default::default(), |task| self.order.strand(task));
        match event {
            Event::Release { .. } => self.stand_from = self.order.stamp(self.strand),
            Event::Suspend { .. } | Event::Resume { .. } => self.stand_from = self.order.next(),
            _ => return Ok(()),
        }
        self.knows_more = true;
        Ok(())
    }

    #[inline]
    fn strand(&self, _: TaskId) -> Running {
        Running
    }

    #[inline]
    fn stamp(&self, _: Running) -> Stamp {
        self.order.stamp(self.strand)
    }

    #[inline]
    fn parallel(&mut self, _: Running, earlier: Stamp) -> bool {
        self.order.parallel(self.strand, earlier)
    }

    #[inline]
    fn structurally_parallel(&mut self, _: Running, earlier: Stamp) -> bool {
        self.order.structurally_parallel(self.strand, earlier)
    }

    #[inline]
    fn stands_for_now(&self, _: Running, parallel: Stamp) -> bool {
        self.escaping == 0 && parallel >= self.stand_from
    }

    fn precedes_all(&mut self, _: Running, earlier: Stamp) -> bool {
        self.order.precedes_all(self.strand, earlier)
    }

    #[inline]
    fn knows_more(&self, _: Running) -> bool {
        self.knows_more
    }

    #[inline]
    fn serial_below(&self, _: Running) -> Stamp {
        let floor = self.order.serial_below(self.strand);
        match self.suspended.is_empty() && self.resumed == 0 {
            true => self.first_parallel().min(self.order.next()).max(floor),
            false => floor,
        }
    }

    fn effort(&self) -> Effort {
        self.order.effort()
    }

    fn clear(&mut self) {
        self.order.clear();
        self.strand = Default::default();
        self.stack.clear();
        self.begun.clear();
        self.suspended.clear();
        (self.escaping, self.resumed) = (0, 0);
        (self.stand_from, self.knows_more) = (NOBODY, false);
    }

    fn used_bytes(&self) -> usize {
        self.order.used_bytes()
            + self.stack.capacity() * size_of::<Scope>()
            + self.begun.capacity() * size_of::<(TaskId, Begun)>()
    }
}
