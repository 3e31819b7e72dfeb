//! The order in which this run's isolated blocks happened to run, in two numbers a step.
//!
//! The isolated blocks of a run form a chain i₀ → i₁ → …. For a step m let *last(m)* be the
//! greatest index of a block that precedes m by task structure. For a step n let *first(n)* be the
//! least index of a block that n precedes by task structure. Both are reflexive: block k has first
//! = last = k. Then n happens before m in this run iff n precedes m by structure or first(n) ≤
//! last(m). (⇐) n ≼ i_a →* i_b ≼ m. (⇒) On a path from n to m take the source of its first edge of
//! the chain and the target of its last.
//!
//! *last* is known when a step begins: it is the greatest of its predecessors'. It is kept only for
//! live tasks and finishes. *first* may be set long after the step ended. So a cell that remembers
//! an access remembers its step and asks here. Each block gives its index to all of its structural
//! predecessors that have none yet ("open"). It stops at those that have one ("closed"), because
//! their predecessors are closed too. So each step is visited once. *first* is final once it
//! matters, because every block with an index ≤ last(m) has run before m.
//!
//! Every event except an allocation ends a step, including entering and leaving an isolated block.
//! A step costs 16 bytes and amortised constant time. This order is kept only in the second pass,
//! and only if the program uses isolated blocks. The run must be depth-first.

use crate::Failure;
use crate::order::{PROMISES, RELEASES, SUSPENDED};
use crate::table::{TableError, make_room};
use finishline_model::Event;

/// A step of a task, numbered in the order of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct StepId(u32);

impl StepId {
    pub const NONE: StepId = StepId(u32::MAX);
}

/// *first* of an open step.
const OPEN: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct IsolationStep {
    first: u32,
    /// The previous step of the same task, or the one that created the task.
    previous: StepId,
    /// After a join, the last step of one of the joined tasks. `next_joined` leads to the others.
    joined: StepId,
    /// For the last step of a task, the last step of another task joined at the same place.
    next_joined: StepId,
}

/// A live task, or a finish open in one.
#[derive(Clone, Copy, Debug)]
struct LiveScope {
    /// The `TaskId` or `FinishId`.
    id: u32,
    /// The current step of the task. Out of date while the task's own finishes are on top.
    step: StepId,
    /// last + 1: the number of blocks up to the greatest that precedes the step. 0 if there is
    /// none.
    blocks_before: u32,
    /// The position in the stack of the finish that waits for tasks created here.
    finish: usize,
    /// The finish's ended tasks that no join has waited for yet: their last steps, and their
    /// greatest `blocks_before`.
    ended: StepId,
    ended_blocks: u32,
}

#[derive(Debug, Default)]
pub struct IsolationOrder {
    steps: Vec<IsolationStep>,
    /// The stack, with the running task or its innermost finish on top.
    live: Vec<LiveScope>,
    blocks: u32,
    open_predecessors: Vec<StepId>,
}

impl IsolationOrder {
    pub fn new() -> Self {
        Self::default()
    }

    /// The step running now.
    pub fn now(&self) -> StepId {
        self.live.last().map_or(StepId::NONE, |frame| frame.step)
    }

    /// Whether the chain of isolated blocks orders `earlier` before the running step:
    /// first(earlier) ≤ last(now).
    pub fn before_now(&self, earlier: StepId) -> bool {
        let blocks_before = self.live.last().map_or(0, |frame| frame.blocks_before);
        self.first(earlier) < blocks_before
    }

    /// *first* of the step, if it is known so far.
    pub fn first_block_after(&self, step: StepId) -> Option<u32> {
        Some(self.first(step)).filter(|&first| first != OPEN)
    }

    fn first(&self, step: StepId) -> u32 {
        self.steps
            .get(step.0 as usize)
            .map_or(OPEN, |step| step.first)
    }

    pub fn clear(&mut self) {
        self.steps.clear();
        self.live.clear();
        self.blocks = 0;
    }

    pub fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match *event {
            Event::TaskBegin { task, .. } => {
                let finish = self.live.last().map_or(0, |creator| creator.finish);
                self.enter(task.0, finish)?;
            }
            Event::FinishBegin { finish, .. } => self.enter(finish.0, self.live.len())?,
            Event::TaskEnd { .. } => self.end_task()?,
            Event::FinishJoin { finish, .. } => self.join(finish.0)?,
            Event::FinishEnd { finish, .. } => {
                self.join(finish.0)?;
                let Some(ended) = self.live.pop() else {
                    return Ok(());
                };
                if let Some(outer) = self.live.last_mut() {
                    outer.step = ended.step;
                    outer.blocks_before = ended.blocks_before;
                }
            }
            Event::IsolatedBegin { .. } => self.begin_block()?,
            Event::IsolatedEnd { .. } => self.next_step(StepId::NONE)?,
            Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. } => {
                return Err(Failure::Unsupported(RELEASES));
            }
            Event::PromiseSet { .. } | Event::PromiseGet { .. } => {
                return Err(Failure::Unsupported(PROMISES));
            }
            Event::Suspend { .. } | Event::Resume { .. } => {
                return Err(Failure::Unsupported(SUSPENDED));
            }
            Event::Lock { .. } | Event::Unlock { .. } | Event::Alloc { .. } => {}
        }
        Ok(())
    }

    fn new_step(&mut self, previous: StepId, joined: StepId) -> Result<StepId, Failure> {
        let step = StepId(self.steps.len() as u32);
        if step == StepId::NONE {
            let capacity = self.steps.len();
            return Err(TableError::Exhausted {
                table: "steps",
                capacity,
            }
            .into());
        }
        make_room(&mut self.steps, 1, "steps")?;
        self.steps.push(IsolationStep {
            first: OPEN,
            previous,
            joined,
            next_joined: StepId::NONE,
        });
        Ok(step)
    }

    /// Gives the running task a new step.
    fn next_step(&mut self, joined: StepId) -> Result<(), Failure> {
        let step = self.new_step(self.now(), joined)?;
        if let Some(frame) = self.live.last_mut() {
            frame.step = step;
        }
        Ok(())
    }

    fn enter(&mut self, id: u32, finish: usize) -> Result<(), Failure> {
        let blocks_before = self.live.last().map_or(0, |frame| frame.blocks_before);
        let step = self.new_step(self.now(), StepId::NONE)?;
        make_room(&mut self.live, 1, "live tasks and finishes")?;
        self.live.push(LiveScope {
            id,
            step,
            blocks_before,
            finish,
            ended: StepId::NONE,
            ended_blocks: 0,
        });
        Ok(())
    }

    /// Ends a task. Its last step waits to be joined by its finish, and its creator goes on.
    fn end_task(&mut self) -> Result<(), Failure> {
        let Some(ended) = self.live.pop() else {
            return Ok(());
        };
        if let Some(finish) = self.live.get_mut(ended.finish) {
            self.steps[ended.step.0 as usize].next_joined = finish.ended;
            finish.ended = ended.step;
            finish.ended_blocks = finish.ended_blocks.max(ended.blocks_before);
        }
        self.next_step(StepId::NONE)
    }

    /// Lets the running task wait for all that ended in the finish and in those open inside it.
    fn join(&mut self, finish: u32) -> Result<(), Failure> {
        for index in (0..self.live.len()).rev() {
            let frame = &mut self.live[index];
            let (id, joined, blocks) = (frame.id, frame.ended, frame.ended_blocks);
            (frame.ended, frame.ended_blocks) = (StepId::NONE, 0);
            self.next_step(joined)?;
            if let Some(running) = self.live.last_mut() {
                running.blocks_before = running.blocks_before.max(blocks);
            }
            if id == finish {
                break;
            }
        }
        Ok(())
    }

    fn begin_block(&mut self) -> Result<(), Failure> {
        let index = self.blocks;
        self.blocks += 1;
        self.next_step(StepId::NONE)?;
        if let Some(running) = self.live.last_mut() {
            running.blocks_before = self.blocks;
        }
        self.remember_open(self.now())?;
        while let Some(step) = self.open_predecessors.pop() {
            let Some(&IsolationStep {
                first,
                previous,
                mut joined,
                ..
            }) = self.steps.get(step.0 as usize)
            else {
                continue;
            };
            if first != OPEN {
                continue;
            }
            self.steps[step.0 as usize].first = index;
            self.remember_open(previous)?;
            while joined != StepId::NONE {
                self.remember_open(joined)?;
                joined = self.steps[joined.0 as usize].next_joined;
            }
        }
        Ok(())
    }

    fn remember_open(&mut self, step: StepId) -> Result<(), Failure> {
        make_room(&mut self.open_predecessors, 1, "steps before a block")?;
        self.open_predecessors.push(step);
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
            steps.push(order.now());
            assert_eq!(
                order.before_now(order.now()),
                event == enter,
                "a block is its own first and last"
            );
        }
        let firsts: Vec<_> = steps
            .iter()
            .map(|&step| order.first_block_after(step))
            .collect();
        assert_eq!(firsts, [Some(0), Some(0), Some(1), Some(1), None]);
        let before: Vec<_> = steps.iter().map(|&step| order.before_now(step)).collect();
        assert_eq!(before, [true, true, true, true, false]);
    }
}
