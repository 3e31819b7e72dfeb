//! Strands: the stacks of tasks that may wait.
//!
//! A strand is a stack with the tasks on it: the task that it was made for, and above it tasks that
//! can't wait and are called like functions. Strands that have ended are used again.

use super::schedule::OpenFinish;
use super::stack::ProgramStack;
use super::stack_room::StackRoom;
use super::stacks::Stacks;
use finishline_model::{SiteId, TaskId, entity};
use std::ops::{Index, IndexMut, Range};

entity! {
    StrandId, "strand";
    /// An open finish, by its place among them.
    FinishPlace, "open finish";
}

/// What is known of a live task besides its stack.
#[derive(Clone, Copy)]
pub(super) struct LiveTask {
    pub(super) id: TaskId,
    /// The immediately enclosing finish.
    pub(super) enclosing: FinishPlace,
    /// The innermost finish that it has open itself.
    pub(super) innermost: Option<FinishPlace>,
    /// How many tasks it has created.
    pub(super) created: u32,
}

/// An open finish.
#[derive(Clone, Copy)]
pub(super) struct Finish {
    pub(super) open: OpenFinish,
    /// Live tasks with this as their immediately enclosing finish.
    pub(super) live: u32,
    /// The next outer one of the same task.
    pub(super) outer: Option<FinishPlace>,
    /// The strand of its owner, if that waits for the tasks.
    pub(super) waiting: Option<StrandId>,
}

/// What a strand waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaits {
    /// To be resumed, or it runs.
    Nothing,
    /// The promise with this address.
    Promise(usize),
    /// The lock with this address.
    Lock(usize),
    Finish(FinishPlace),
}

pub(super) struct Strand {
    pub(super) room: StackRoom,
    /// The stack pointer while it is suspended, and 0 otherwise.
    pub(super) pointer: usize,
    /// What its frames and tasks take while it is suspended, as the budget counts it.
    pub(super) bytes: u64,
    /// The task on top while it is suspended, and the tasks below.
    pub(super) task: LiveTask,
    pub(super) below: Vec<LiveTask>,
    pub(super) awaits: Awaits,
    /// Where it waits.
    pub(super) site: SiteId,
    /// Where the body of its first task ends.
    pub(super) end: SiteId,
    /// Behind it in the queue of a promise. Of the last one in the queue: the first one.
    pub(super) next: StrandId,
}

/// How many idle stacks may keep more than a page or so.
const KEPT_IDLE: usize = 64;

/// All strands of a run. The first one is that of `main`.
pub(super) struct Strands {
    strands: Vec<Strand>,
    idle: Vec<StrandId>,
    /// How many of the idle ones keep memory.
    idle_deep: usize,
    stacks: Stacks,
    /// The most bytes of stack that a frame takes for a byte that the budget counts.
    factor: usize,
    /// Of `main`.
    _first: ProgramStack,
}

impl Strands {
    /// The strand of `main` alone, on a stack that has room for the whole budget.
    pub(super) fn new(main: LiveTask, end: SiteId, stack: ProgramStack, factor: u64) -> Strands {
        let base = stack.base_address();
        let bytes = stack.bytes();
        let factor = usize::try_from(factor).unwrap_or(usize::MAX);
        let strand = Strand {
            // It is the only one that is not given back.
            room: StackRoom::all_of(base - bytes..base, factor),
            pointer: 0,
            bytes: 0,
            task: main,
            below: Vec::new(),
            awaits: Awaits::Nothing,
            site: end,
            end,
            next: StrandId(0),
        };
        Strands {
            strands: vec![strand],
            idle: Vec::new(),
            idle_deep: 0,
            stacks: Stacks::new(bytes),
            factor,
            _first: stack,
        }
    }

    /// A strand for a task with its captured words, whose first frame takes `bytes` as the budget
    /// counts it. None if the system has no memory.
    pub(super) fn take(&mut self, task: LiveTask, end: SiteId, bytes: u64) -> Option<StrandId> {
        let id = match self.idle.pop() {
            Some(id) => {
                self.idle_deep -= usize::from(self[id].room.is_deep());
                id
            }
            None => {
                self.strands.try_reserve(1).ok()?;
                let most = self.strands.len() + 1;
                self.idle.try_reserve(most).ok()?;
                let stack = self.stacks.make()?;
                self.strands.push(Strand {
                    room: StackRoom::new(stack, self.factor),
                    pointer: 0,
                    bytes: 0,
                    task,
                    below: Vec::new(),
                    awaits: Awaits::Nothing,
                    site: end,
                    end,
                    next: StrandId(0),
                });
                StrandId::from_index(self.strands.len() - 1)
            }
        };
        let strand = &mut self[id];
        (strand.task, strand.end, strand.awaits) = (task, end, Awaits::Nothing);
        if !strand.room.begin(bytes) {
            self.idle.push(id);
            return None;
        }
        Some(id)
    }

    /// Gives a strand back whose task has ended. Nothing may run on it any more.
    pub(super) fn give_back(&mut self, id: StrandId) {
        let may_keep = self.idle_deep < KEPT_IDLE;
        let strand = &mut self[id];
        strand.pointer = 0;
        let keeps = strand.room.end(may_keep);
        self.idle_deep += usize::from(keeps);
        self.idle.push(id);
    }

    /// Those that are suspended.
    pub(super) fn suspended(&self) -> impl Iterator<Item = &Strand> {
        self.strands.iter().filter(|strand| strand.pointer != 0)
    }

    pub(super) fn len(&self) -> usize {
        self.strands.len()
    }
}

impl Strand {
    /// The part of its stack that a suspended strand uses.
    pub(super) fn in_use(&self) -> Range<usize> {
        self.room.above(self.pointer)
    }
}

impl Index<StrandId> for Strands {
    type Output = Strand;

    #[inline]
    fn index(&self, id: StrandId) -> &Strand {
        &self.strands[id.index()]
    }
}

impl IndexMut<StrandId> for Strands {
    #[inline]
    fn index_mut(&mut self, id: StrandId) -> &mut Strand {
        &mut self.strands[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::stack_room::RESERVE;
    use super::super::stacks::PAGE;
    use super::*;
    use std::collections::BTreeMap;

    const FACTOR: u64 = 2;
    const SITE: SiteId = SiteId(0);

    fn task() -> LiveTask {
        LiveTask {
            id: TaskId::MAIN,
            enclosing: FinishPlace(0),
            innermost: None,
            created: 0,
        }
    }

    fn strands(bytes: usize) -> Strands {
        let main = ProgramStack::new(bytes).expect("a stack");
        Strands::new(task(), SITE, main, FACTOR)
    }

    fn stack_of(strands: &Strands, id: StrandId) -> Range<usize> {
        strands[id].room.stack()
    }

    fn taken(strands: &mut Strands) -> StrandId {
        strands.take(task(), SITE, 100).expect("a small stack")
    }

    /// Writes a word for each page of a range.
    fn touch(range: Range<usize>) {
        for address in range.step_by(PAGE) {
            let word = std::ptr::with_exposed_provenance_mut::<u64>(address & !7);
            // SAFETY: the range is part of a stack that nobody else uses.
            unsafe { word.write_volatile(7) };
        }
    }

    /// How many pages of a range still have what was written.
    fn kept(range: Range<usize>) -> usize {
        let is_kept = |address: &usize| {
            let word = std::ptr::with_exposed_provenance::<u64>(address & !7);
            // SAFETY: as above.
            unsafe { word.read_volatile() == 7 }
        };
        range.step_by(PAGE).filter(is_kept).count()
    }

    #[test]
    fn stacks_do_not_overlap_and_can_be_used() {
        let mut strands = strands(64 << 20);
        let mut by_start = BTreeMap::new();
        for _ in 0..5000 {
            let id = taken(&mut strands);
            let stack = stack_of(&strands, id);
            assert_eq!(stack.len() % PAGE, 0);
            touch(stack.end - PAGE..stack.end);
            by_start.insert(stack.start, stack.end);
        }
        let ends = by_start.values();
        assert!(
            ends.zip(by_start.keys().skip(1))
                .all(|(end, next)| end <= next)
        );
    }

    #[test]
    fn a_stack_that_ends_is_used_again() {
        let mut strands = strands(1 << 20);
        let (a, b) = (taken(&mut strands), taken(&mut strands));
        assert_ne!(a, b);
        strands.give_back(a);
        assert_eq!(taken(&mut strands), a);
        assert_eq!(strands.len(), 3);
    }

    #[test]
    fn a_new_strand_has_room_for_its_first_frame() {
        let mut strands = strands(1 << 20);
        let id = strands.take(task(), SITE, 50_000).expect("a stack");
        assert!(strands[id].room.bytes >= 50_000);
        assert!(strands.take(task(), SITE, 1 << 20).is_none());
        assert_eq!(strands.take(task(), SITE, 100).map(|id| id.0), Some(2));
    }

    #[test]
    fn the_room_grows_until_the_stack_is_full() {
        let mut strands = strands(64 << 20);
        let id = taken(&mut strands);
        let (stack, first) = (stack_of(&strands, id), strands[id].room.bytes);
        assert!(first * FACTOR <= 8 << 10);
        // The frames so far take all that they may.
        let pointer = stack.end - (first * FACTOR) as usize;
        assert!(strands[id].room.make(pointer, first, 1000));
        assert!(strands[id].room.bytes >= first + 1000);
        let all = (pointer - stack.start - RESERVE) as u64 / FACTOR;
        assert!(strands[id].room.make(pointer, first, all));
        assert!(!strands[id].room.make(pointer, first, all + 1));
        assert!(!strands[id].room.make(pointer, first, u64::MAX));
    }

    #[test]
    fn what_lies_far_below_a_waiting_task_is_given_back() {
        let mut strands = strands(64 << 20);
        let id = taken(&mut strands);
        let end = strands[id].room.base();
        let deep = 1 << 20;
        assert!(strands[id].room.make(end, 0, deep as u64 / FACTOR));
        touch(end - deep..end);
        let pointer = end - 100;
        strands[id].room.suspend(pointer, 0);
        assert_eq!(kept(end - deep..end), 1);
        assert!(strands[id].room.bytes * FACTOR <= 8 << 10);
        // Again it may go deep, and again that is known.
        assert!(strands[id].room.make(pointer, 0, deep as u64 / FACTOR));
        touch(end - deep..end);
        strands[id].room.suspend(pointer, 0);
        assert_eq!(kept(end - deep..end), 1);
    }

    #[test]
    fn idle_stacks_keep_little() {
        let mut strands = strands(64 << 20);
        let ids: Vec<StrandId> = (0..200).map(|_| taken(&mut strands)).collect();
        let deep = 256 << 10;
        for &id in &ids {
            let end = strands[id].room.base();
            assert!(strands[id].room.make(end, 0, deep as u64 / FACTOR));
            touch(end - deep..end);
        }
        let pages = |strands: &Strands| -> usize {
            let kept = |id: &StrandId| {
                let end = strands[*id].room.base();
                kept(end - deep..end)
            };
            ids.iter().map(kept).sum()
        };
        assert_eq!(pages(&strands), 200 * deep / PAGE);
        for &id in &ids {
            strands.give_back(id);
        }
        assert!(pages(&strands) <= KEPT_IDLE * deep / PAGE + 200 * 3);
        // One after the other may be kept as it is: nothing is given back for nothing.
        for _ in 0..1000 {
            let id = taken(&mut strands);
            strands.give_back(id);
        }
        assert!(strands.idle_deep <= KEPT_IDLE);
    }
}
