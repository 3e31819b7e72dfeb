//! The steps of a run and the edges between them: the nodes and arrows of its computation graph.
//!
//! Nodes are steps. Every event except an allocation, a lock and the end of a task ends the step of
//! its task. Edges go from a step to the next step of its task, from a creation to the first step
//! of the task, from the last step of a task to the step after the end or join of its immediately
//! enclosing finish, and from the `set` of a promise to the step after each of its gets. A join of
//! a finish is also a join of the finishes open inside it. These edges are the *structure*.
//!
//! Other edges were *observed*: each isolated block has an edge to the next one that ran, from its
//! last step to the other's first. Each release of an object has an edge to the acquires that see
//! it.
//!
//! A glimpse is an acquire that expires. During a glimpse each step of the task has a twin without
//! accesses. All edges except that of the glimpse go to the twin as well. After the glimpse the
//! task goes on from the twin. Suspension adds no edges.
//!
//! A task is protected by the locks that it has taken, and by those that protected the owner of its
//! finish when that began.
//!
//! Steps come in an order of the run, so the predecessors of a step are known when it begins. What
//! a graph is made into, its builder decides ([`StepGraph`]): the oracle closes it at once, the
//! crate `graph` keeps it. Nothing here is shared with the orders, which the oracle checks.

use finishline_model::hash::IdMap;
use finishline_model::{Event, FinishId, Location, LockId, LockMode, ObjectId, TaskId};

/// What a step begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begins {
    /// The task.
    Task,
    /// The task goes on after it created another.
    AfterCreation,
    /// A finish.
    Finish,
    /// The end or join of a finish. The first predecessor is the task's own step, the others are
    /// the last steps of the tasks that were waited for.
    Wait,
    Isolated,
    AfterIsolated,
    AfterSet,
    Get,
    /// Releases, acquires and glimpses.
    Other,
}

/// A new step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub task: TaskId,
    pub begins: Begins,
    /// In an isolated block.
    pub isolated: bool,
}

/// Why an edge is there that the structure does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observed {
    /// The order of isolated blocks.
    Isolation,
    /// A release was seen by an acquire.
    Release,
}

/// What is made of steps and edges. Steps are numbered from 0 as they come.
pub trait StepGraph {
    /// A new step, and the steps that precede it by structure. The first of these is the previous
    /// step of its task, or the one that created the task.
    fn step(&mut self, step: Step, predecessors: &[usize]);

    /// An edge to the newest step, or to the one that has the newest as its twin.
    fn observed(&mut self, step: usize, predecessor: usize, why: Observed);

    /// A new step of a task whose glimpse has expired. By structure it follows `previous`. What was
    /// observed it knows from the twin alone.
    fn after_glimpse(&mut self, step: Step, previous: usize, twin: usize);
}

/// A lock that was taken once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    pub lock: LockId,
    pub mode: LockMode,
    /// The number of this taking among all takings of locks.
    taken: usize,
}

impl Hold {
    /// Whether what is done under one hold excludes what is done under the other.
    pub fn excludes(&self, other: &Hold) -> bool {
        self.lock == other.lock
            && self.taken != other.taken
            && (self.mode == LockMode::Exclusive || other.mode == LockMode::Exclusive)
    }
}

/// What is known of a task now.
#[derive(Debug, Default)]
pub struct TaskNow {
    pub step: usize,
    pub isolated: bool,
    /// The locks that protected it from its beginning, then those that it has taken.
    pub holds: Vec<Hold>,
    /// The finish that waits for the task.
    finish: Option<FinishId>,
    /// The finishes that the task has open, innermost last.
    open: Vec<FinishId>,
    has_ended: bool,
    /// The twin of its step during a glimpse.
    firmly: Option<usize>,
}

#[derive(Debug, Default)]
pub struct Steps {
    count: usize,
    tasks: IdMap<TaskId, TaskNow>,
    /// The last steps of a finish's ended tasks that no join has waited for yet.
    ended: IdMap<FinishId, Vec<usize>>,
    /// The last step of the latest isolated block.
    last_isolated: Option<usize>,
    /// The locks that protected the owner of a finish when the finish began.
    protects: IdMap<FinishId, Vec<Hold>>,
    /// The releases of an object that are in effect.
    released: IdMap<ObjectId, Vec<usize>>,
    /// The step that set a promise.
    set_by: IdMap<Location, usize>,
    locks_taken: usize,
}

/// An event makes at most this many steps.
pub const STEPS_OF_AN_EVENT: usize = 3;

impl Steps {
    pub fn new() -> Self {
        Steps::default()
    }

    /// The number of steps so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The step of a task that goes on now, and what protects it.
    pub fn now(&mut self, task: TaskId) -> &TaskNow {
        self.task(task)
    }

    /// The finish that waits for a task which this one creates now, unless it escapes. None if the
    /// task is not live.
    pub fn innermost(&self, task: TaskId) -> Option<FinishId> {
        let task = self.tasks.get(&task).filter(|task| !task.has_ended)?;
        task.open.last().copied().or(task.finish)
    }

    /// Whether a lock was taken.
    pub fn has_locks(&self) -> bool {
        self.locks_taken > 0
    }

    /// Whether an object was released.
    pub fn has_releases(&self) -> bool {
        !self.released.is_empty()
    }

    /// Starts over for another run.
    pub fn clear(&mut self) {
        *self = Steps::default();
    }

    /// Follows one event of the run.
    pub fn event(&mut self, event: &Event, graph: &mut impl StepGraph) {
        match *event {
            Event::TaskBegin {
                task,
                parent,
                finish,
                ..
            } => self.begin_task(task, parent, finish, graph),
            Event::TaskEnd { task } => {
                let ended = self.task(task);
                ended.has_ended = true;
                let (step, finish) = (ended.step, ended.finish);
                if let Some(finish) = finish {
                    self.ended.entry(finish).or_default().push(step);
                }
            }
            Event::FinishBegin { task, finish, .. } => {
                self.next_step(task, Begins::Finish, &[], graph);
                let owner = self.task(task);
                owner.open.push(finish);
                if !owner.holds.is_empty() {
                    let holds = owner.holds.clone();
                    self.protects.insert(finish, holds);
                }
            }
            Event::FinishJoin { task, finish, .. } => self.join(task, finish, graph),
            Event::FinishEnd { task, finish, .. } => {
                self.join(task, finish, graph);
                self.task(task).open.pop();
            }
            Event::IsolatedBegin { task, .. } => {
                let previous = self.last_isolated;
                self.task(task).isolated = true;
                let step = self.next_step(task, Begins::Isolated, &[], graph);
                if let Some(previous) = previous {
                    graph.observed(step, previous, Observed::Isolation);
                }
            }
            Event::IsolatedEnd { task, .. } => {
                self.task(task).isolated = false;
                self.next_step(task, Begins::AfterIsolated, &[], graph);
            }
            Event::Lock { task, lock, mode } => {
                let taken = self.locks_taken;
                self.locks_taken += 1;
                self.task(task).holds.push(Hold { lock, mode, taken });
            }
            Event::Unlock { task, lock } => {
                let holds = &mut self.task(task).holds;
                if let Some(place) = holds.iter().rposition(|hold| hold.lock == lock) {
                    holds.remove(place);
                }
            }
            Event::Release {
                task,
                object,
                continues,
            } => {
                let step = self.task(task).step;
                let released = self.released.entry(object).or_default();
                if !continues {
                    released.clear();
                }
                released.push(step);
                self.next_step(task, Begins::Other, &[], graph);
            }
            Event::Acquire { task, object } => {
                let firmly = self.task(task).firmly.take();
                self.next_step(task, Begins::Other, &[], graph);
                self.see(object, graph);
                if let Some(twin) = firmly {
                    let twin = self.new_step(task, Begins::Other, &[twin], graph);
                    self.task(task).firmly = Some(twin);
                    self.see(object, graph);
                }
            }
            Event::Relay {
                from,
                to,
                continues,
                ..
            } => {
                let mut held = self.released.get(&from).cloned().unwrap_or_default();
                if continues {
                    held.extend(self.released.get(&to).into_iter().flatten());
                }
                self.released.insert(to, held);
            }
            Event::Glimpse { task, object } => {
                let step = self.task(task).step;
                let firmly = self.task(task).firmly.take();
                self.next_step(task, Begins::Other, &[], graph);
                self.see(object, graph);
                self.task(task).firmly = firmly.or(Some(step));
            }
            Event::GlimpseEnd { task, keep } => {
                let (previous, twin) = (self.task(task).step, self.task(task).firmly.take());
                if let Some(twin) = twin.filter(|_| !keep) {
                    let (begins, isolated) = (Begins::Other, self.task(task).isolated);
                    let step = Step {
                        task,
                        begins,
                        isolated,
                    };
                    graph.after_glimpse(step, previous, twin);
                    self.task(task).step = self.count;
                    self.count += 1;
                }
            }
            Event::PromiseSet { task, promise, .. } => {
                let step = self.task(task).step;
                self.set_by.insert(promise, step);
                self.next_step(task, Begins::AfterSet, &[], graph);
            }
            Event::PromiseGet { task, promise, .. } => {
                let set_by = self.set_by.get(&promise).copied();
                self.next_step(task, Begins::Get, set_by.as_slice(), graph);
            }
            Event::Suspend { .. } | Event::Resume { .. } => {}
            Event::Alloc { .. } => {}
        }
    }

    fn begin_task(
        &mut self,
        task: TaskId,
        parent: Option<TaskId>,
        finish: FinishId,
        graph: &mut impl StepGraph,
    ) {
        let creation = parent.map(|parent| self.task(parent).step);
        let holds = self.protects.get(&finish).cloned().unwrap_or_default();
        let begun = TaskNow {
            finish: Some(finish),
            holds,
            ..TaskNow::default()
        };
        self.tasks.insert(task, begun);
        let step = self.new_step(task, Begins::Task, creation.as_slice(), graph);
        self.task(task).step = step;
        if let Some(parent) = parent {
            self.next_step(parent, Begins::AfterCreation, &[], graph);
        }
    }

    fn new_step(
        &mut self,
        task: TaskId,
        begins: Begins,
        predecessors: &[usize],
        graph: &mut impl StepGraph,
    ) -> usize {
        let isolated = self.task(task).isolated;
        let step = Step {
            task,
            begins,
            isolated,
        };
        graph.step(step, predecessors);
        self.count += 1;
        self.count - 1
    }

    /// Gives the task a new step. Its previous step and `also` precede it.
    fn next_step(
        &mut self,
        task: TaskId,
        begins: Begins,
        also: &[usize],
        graph: &mut impl StepGraph,
    ) -> usize {
        let mut predecessors = vec![self.task(task).step];
        predecessors.extend(also);
        let step = self.new_step(task, begins, &predecessors, graph);
        self.task(task).step = step;
        if let Some(twin) = self.task(task).firmly {
            predecessors[0] = twin;
            let twin = self.new_step(task, begins, &predecessors, graph);
            self.task(task).firmly = Some(twin);
        }
        // The chain of isolated blocks goes on from where the block ends.
        if self.task(task).isolated {
            self.last_isolated = Some(step);
        }
        step
    }

    /// The releases of an object that are in effect happen before the newest step.
    fn see(&self, object: ObjectId, graph: &mut impl StepGraph) {
        for &release in self.released.get(&object).into_iter().flatten() {
            graph.observed(self.count - 1, release, Observed::Release);
        }
    }

    fn task(&mut self, task: TaskId) -> &mut TaskNow {
        self.tasks.entry(task).or_default()
    }

    /// Lets the task wait for everything in the finish and in those open inside it.
    fn join(&mut self, task: TaskId, finish: FinishId, graph: &mut impl StepGraph) {
        let open = &self.tasks.entry(task).or_default().open;
        let outermost = open
            .iter()
            .position(|&other| other == finish)
            .unwrap_or(open.len());
        let mut ended = Vec::new();
        for inside in &open[outermost..] {
            ended.extend(self.ended.remove(inside).unwrap_or_default());
        }
        self.next_step(task, Begins::Wait, &ended, graph);
    }
}
