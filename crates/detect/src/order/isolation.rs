//! The order in which this run's isolated blocks happened to run, in two numbers a step.
//!
//! The isolated blocks of a run form a chain i₀ → i₁ → …. For a step m let *last(m)* be the
//! greatest index of a block that m is in or that precedes m by task structure. For a step n let
//! *first(n)* be the least index of a block that n is in or precedes by task structure. Then n
//! happens before m in this run iff n precedes m by structure or first(n) < last(m). (⇐) The end of
//! block first(n) is followed by the beginning of block last(m). (⇒) On a path from n to m take the
//! source of its first edge of the chain and the target of its last.
//!
//! The proof needs no more of the structure than that it is a partial order, and of the run that it
//! lists steps in this order. So promises may be part of the structure, and tasks may take turns in
//! any way. A block may have several steps: a promise may be set in it.
//!
//! *last* is known when a step begins: it is the greatest of its predecessors'. It is kept only for
//! live tasks, open finishes and promises. *first* may be set long after the step ended. So a cell
//! that remembers an access remembers its step and asks here. Each step of a block gives the
//! block's index to all of its structural predecessors that have none yet ("open"). It stops at
//! those that have one ("closed"), because their predecessors are closed too. So each step is
//! visited once. *first* is final once it matters, because every block with an index < last(m) has
//! ended before m.
//!
//! Steps are those of [`crate::steps`], with the same numbers. A step costs 16 bytes and amortised
//! constant time.

use crate::Failure;
use crate::order::RELEASES;
use crate::table::{TableError, make_room, make_room_in};
use finishline_model::hash::IdMap;
use finishline_model::{Event, FinishId, Location, TaskId};
use std::num::NonZeroU32;

/// A step of a task, numbered in the order of the run. It holds its number and one more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct StepId(NonZeroU32);

impl StepId {
    /// The number, as in [`crate::steps`].
    #[inline]
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// *first* of an open step.
const OPEN: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct IsolationStep {
    first: u32,
    /// The previous step of the same task, or the one that created the task.
    previous: Option<StepId>,
    /// After a join, the last step of one of the joined tasks. `next_joined` leads to the others.
    /// After a get, the step of the set, which leads to no other.
    joined: Option<StepId>,
    /// For the last step of a task, the last step of another task joined at the same place.
    next_joined: Option<StepId>,
}

/// A step that goes on, and *last* of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurrentStep {
    pub id: StepId,
    /// 0 also if there is no block: no block has a smaller index.
    last: u32,
}

#[derive(Clone, Copy, Debug)]
struct LiveTask {
    now: CurrentStep,
    /// The isolated block that it is in.
    block: Option<u32>,
    /// The finish that waits for the task.
    finish: FinishId,
    /// The innermost finish that it has open.
    innermost: Option<FinishId>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OpenFinish {
    /// Its ended tasks that no join has waited for yet: their last steps, and their greatest
    /// *last*.
    ended: Option<StepId>,
    ended_last: u32,
    /// The finish that its owner had open before.
    outer: Option<FinishId>,
}

#[derive(Debug, Default)]
pub struct IsolationOrder {
    steps: Vec<IsolationStep>,
    tasks: IdMap<TaskId, LiveTask>,
    finishes: IdMap<FinishId, OpenFinish>,
    /// The steps that set promises.
    promises: IdMap<Location, CurrentStep>,
    blocks: u32,
    open_predecessors: Vec<StepId>,
}

impl IsolationOrder {
    pub fn new() -> Self {
        Self::default()
    }

    /// The step of a live task. Good until the next event of the task.
    #[inline]
    pub fn now(&self, task: TaskId) -> Option<CurrentStep> {
        self.tasks.get(&task).map(|live| live.now)
    }

    /// Whether the chain of isolated blocks orders `earlier` before a step that goes on:
    /// first(earlier) < last(now).
    #[inline]
    pub fn before(&self, earlier: StepId, now: CurrentStep) -> bool {
        self.steps[earlier.index()].first < now.last
    }

    /// *first* of the step, if it is known so far.
    #[inline]
    pub fn first_block_after(&self, step: StepId) -> Option<u32> {
        Some(self.steps[step.index()].first).filter(|&first| first != OPEN)
    }

    pub fn clear(&mut self) {
        self.steps.clear();
        self.tasks.clear();
        self.finishes.clear();
        self.promises.clear();
        self.blocks = 0;
    }

    pub fn used_bytes(&self) -> usize {
        self.steps.capacity() * size_of::<IsolationStep>()
            + self.tasks.capacity() * size_of::<(TaskId, LiveTask)>()
            + self.finishes.capacity() * size_of::<(FinishId, OpenFinish)>()
            + self.promises.capacity() * size_of::<(Location, CurrentStep)>()
    }

    /// Follows one event of the run. Events of tasks that are not live change nothing.
    pub fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match *event {
            Event::TaskBegin {
                task,
                parent,
                finish,
                ..
            } => self.begin_task(task, parent, finish),
            Event::FinishBegin { task, finish, .. } => {
                self.next_step(task, None, 0)?;
                make_room_in(&mut self.finishes, "open finishes")?;
                if let Some(owner) = self.tasks.get_mut(&task) {
                    let outer = owner.innermost.replace(finish);
                    self.finishes.entry(finish).or_default().outer = outer;
                }
                Ok(())
            }
            Event::TaskEnd { task } => {
                let Some(ended) = self.tasks.remove(&task) else {
                    return Ok(());
                };
                make_room_in(&mut self.finishes, "open finishes")?;
                let finish = self.finishes.entry(ended.finish).or_default();
                let last = ended.now.id;
                self.steps[last.index()].next_joined = finish.ended.replace(last);
                finish.ended_last = finish.ended_last.max(ended.now.last);
                Ok(())
            }
            Event::FinishJoin { task, finish, .. } => self.join(task, finish),
            Event::FinishEnd { task, finish, .. } => {
                self.join(task, finish)?;
                let outer = self.finishes.remove(&finish).and_then(|it| it.outer);
                if let Some(owner) = self.tasks.get_mut(&task) {
                    owner.innermost = outer;
                }
                Ok(())
            }
            Event::IsolatedBegin { task, .. } => {
                let index = self.blocks;
                self.blocks += 1;
                if let Some(live) = self.tasks.get_mut(&task) {
                    live.block = Some(index);
                }
                self.next_step(task, None, index)
            }
            Event::IsolatedEnd { task, .. } => {
                if let Some(live) = self.tasks.get_mut(&task) {
                    live.block = None;
                }
                self.next_step(task, None, 0)
            }
            Event::PromiseSet { task, promise, .. } => {
                make_room_in(&mut self.promises, "promises")?;
                if let Some(live) = self.tasks.get(&task) {
                    self.promises.insert(promise, live.now);
                }
                self.next_step(task, None, 0)
            }
            Event::PromiseGet { task, promise, .. } => {
                let set = self.promises.get(&promise).copied();
                self.next_step(task, set.map(|set| set.id), set.map_or(0, |set| set.last))
            }
            Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. } => Err(Failure::Unsupported(RELEASES)),
            Event::Suspend { .. }
            | Event::Resume { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::Alloc { .. } => Ok(()),
        }
    }

    fn new_step(
        &mut self,
        previous: Option<StepId>,
        joined: Option<StepId>,
    ) -> Result<StepId, Failure> {
        const TABLE: &str = "steps";
        make_room(&mut self.steps, 1, TABLE)?;
        self.steps.push(IsolationStep {
            first: OPEN,
            previous,
            joined,
            next_joined: None,
        });
        let capacity = self.steps.len();
        let number = u32::try_from(capacity).ok().and_then(NonZeroU32::new);
        let full = TableError::Exhausted {
            table: TABLE,
            capacity,
        };
        Ok(StepId(number.ok_or(full)?))
    }

    fn begin_task(
        &mut self,
        task: TaskId,
        parent: Option<TaskId>,
        finish: FinishId,
    ) -> Result<(), Failure> {
        let creator = parent.and_then(|parent| self.now(parent));
        let id = self.new_step(creator.map(|creator| creator.id), None)?;
        let last = creator.map_or(0, |creator| creator.last);
        make_room_in(&mut self.tasks, "live tasks")?;
        let begun = LiveTask {
            now: CurrentStep { id, last },
            block: None,
            finish,
            innermost: None,
        };
        self.tasks.insert(task, begun);
        match parent {
            Some(parent) => self.next_step(parent, None, 0),
            None => Ok(()),
        }
    }

    /// Gives a task a new step. Others may precede it, with their greatest *last*.
    fn next_step(
        &mut self,
        task: TaskId,
        joined: Option<StepId>,
        last: u32,
    ) -> Result<(), Failure> {
        let Some(live) = self.tasks.get(&task) else {
            return Ok(());
        };
        let (previous, block) = (live.now, live.block);
        let last = last.max(previous.last);
        let id = self.new_step(Some(previous.id), joined)?;
        if let Some(live) = self.tasks.get_mut(&task) {
            live.now = CurrentStep { id, last };
        }
        match block {
            Some(index) => self.close(id, index),
            None => Ok(()),
        }
    }

    /// Lets a task wait for all that ended in the finish and in those open inside it.
    fn join(&mut self, task: TaskId, finish: FinishId) -> Result<(), Failure> {
        let mut next = self.tasks.get(&task).and_then(|owner| owner.innermost);
        let (mut joined, mut last) = (None, 0);
        while let Some(id) = next
            && let Some(inside) = self.finishes.get_mut(&id)
        {
            last = last.max(std::mem::take(&mut inside.ended_last));
            next = inside.outer.filter(|_| id != finish);
            if let Some(ended) = inside.ended.take() {
                let mut tail = &mut self.steps[ended.index()].next_joined;
                if joined.is_some() {
                    while let Some(more) = *tail {
                        tail = &mut self.steps[more.index()].next_joined;
                    }
                    *tail = joined;
                }
                joined = Some(ended);
            }
        }
        self.next_step(task, joined, last)
    }

    /// Gives the index of a block to one of its steps, and to all open steps before it.
    fn close(&mut self, step: StepId, index: u32) -> Result<(), Failure> {
        self.remember_open(Some(step))?;
        while let Some(step) = self.open_predecessors.pop() {
            let step = &mut self.steps[step.index()];
            if step.first != OPEN {
                continue;
            }
            step.first = index;
            let (previous, mut joined) = (step.previous, step.joined);
            self.remember_open(previous)?;
            while let Some(also) = joined {
                self.remember_open(joined)?;
                joined = self.steps[also.index()].next_joined;
            }
        }
        Ok(())
    }

    fn remember_open(&mut self, step: Option<StepId>) -> Result<(), Failure> {
        make_room(&mut self.open_predecessors, 1, "steps before a block")?;
        self.open_predecessors.extend(step);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use finishline_model::{FinishId, SiteId, TaskId, TaskKind};

    /// `first; isolated {} isolated {} last`, by the definition.
    #[test]
    fn labels_are_the_least_and_the_greatest_block() {
        let (task, site) = (TaskId::MAIN, SiteId(0));
        let kind = TaskKind::Main;
        let mut order = IsolationOrder::new();
        let mut steps = Vec::new();
        let begin = Event::TaskBegin {
            task,
            parent: None,
            kind,
            finish: FinishId::ROOT,
            site,
        };
        let (enter, leave) = (
            Event::IsolatedBegin { task, site },
            Event::IsolatedEnd { task, site },
        );
        for event in [begin, enter, leave, enter, leave] {
            order.event(&event).unwrap();
            steps.push(order.now(task).unwrap());
        }
        let firsts: Vec<_> = steps
            .iter()
            .map(|step| order.first_block_after(step.id))
            .collect();
        assert_eq!(firsts, [Some(0), Some(0), Some(1), Some(1), None]);
        let lasts: Vec<u32> = steps.iter().map(|step| step.last).collect();
        assert_eq!(lasts, [0, 0, 0, 1, 1]);
        let before = |&step: &CurrentStep| order.before(step.id, steps[4]);
        let before: Vec<_> = steps.iter().map(before).collect();
        assert_eq!(before, [true, true, false, false, false]);
    }
}
