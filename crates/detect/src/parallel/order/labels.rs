//! Ours, for parallel runs: the path of each step in the structure tree, packed into words.
//!
//! **Structure.** Inner nodes of the tree are tasks and finishes, leaves are steps, and children
//! of a node are in the order in which its task made them. Let a be to the left of b, and let v be
//! the child of their lowest common ancestor on a's side. a precedes b iff v is not a task. Two
//! paths that are words of bits are compared by one exclusive or: the first bit in which they
//! differ belongs to v, and to its sibling [Westrick et al. 2022, DePa, for fork and join].
//!
//! **Values.** The child of a node has a value that says its place, and whether it is a task:
//!
//! ```text
//! step         2k        finish   2k, behind the step before it
//! task         2k + 1    between the steps 2k and 2k + 2
//! ```
//!
//! A value is a [code](super::path_words) of one to four *units* of four bits. Codes are in the
//! order of the values, and no code begins with another one.
//!
//! **Words.** A path is cut into words of 16 units. A node with less than four units left begins a
//! new word for its children, so every code but the last kind lies in one word. Full words are
//! shared: each row has a word and the row of the word above. Paths that differ in a word have the
//! same row above it, because a node has its row once between two rises of the floor, and rows on
//! both sides of the floor are never compared. So a comparison goes up both paths, 16 units at a
//! time, to the rows with the same row above.
//!
//! **Inner nodes.** Let two parallel steps part at v. Whatever comes later below v is parallel to
//! one of them: of their branches the left one is a task, so it is parallel to what comes later in
//! the other one, and to what is further right. What comes later further left is in a task, or it
//! would precede the two. Whatever is not below v has the same relation to both, and to v. So v
//! stands for both of them, and for any other step below it: one stamp is enough for all that have
//! read a location.
//!
//! **Stamps** are rows. A step gets one when it is first asked for, so steps without accesses, and
//! tasks without steps, leave nothing behind. Rows are numbered as they are taken.
//!
//! **The floor.** If no other task is live when a finish ends, everything so far precedes whatever
//! follows. Then rows so far have smaller numbers than all that follow, and need no look-up.
//!
//! **Promises** are no part of the structure: [`Learnt`]. **Locks** don't order steps, but a step
//! is made under the same locks from its first access to its last one.

use super::super::phases::Phase;
use super::super::rows::Rows;
use super::super::{Lockset, Locksets, NO_STAMP, SharedOrder, lock_name};
use super::learnt::{Joined, Knowledge, Learnt, NOTHING, Searches};
use super::path_words::{Fork, LONG_FROM, LONG_MARK, LONGEST, Path, Row, UNITS, Word};
use crate::Failure;
use crate::atomics::{AtomicU32, Ordering};
use crate::detectors::Uses;
use crate::order::{NOBODY, PROMISES, Stamp};
use crate::table::TableError;
use finishline_model::{LockId, TaskId};

/// Row 0 is none.
const NO_ROW: Row = 0;

/// Steps that are numbered by a node.
const MOST_STEPS: u32 = 1 << 30;

/// Stamps below this one. The others are left for histories.
const MOST_ROWS: usize = 1 << 31;
/// So many rows a worker takes at first after the floor has risen, and at most at a time: those
/// that are left then are lost.
const FIRST_ROWS: u32 = 4;
const MOST_ROWS_AT_ONCE: u32 = 64;

/// A node that a task is inside of: the task's own one, or that of a finish which it has open.
#[derive(Clone, Copy, Debug)]
struct Node {
    word: Word,
    above: Row,
    depth: u32,
    /// The row above the words of its long values, if there are any.
    long: Row,
    /// The present step.
    step: u32,
}

impl Node {
    const ROOT: Node = Node {
        word: Word::EMPTY,
        above: NO_ROW,
        depth: 0,
        long: NO_ROW,
        step: 0,
    };
}

/// A live task.
#[derive(Debug)]
pub struct LabelledTask {
    node: Node,
    /// The stamp of the present step under the present locks, if it has one, and without locks.
    stamp: Stamp,
    unlocked: Stamp,
    locks: Lockset,
    /// All smaller stamps precede it.
    floor: Stamp,
    knows: Knowledge,
    /// Whether it has learnt anything since it was created.
    learnt: bool,
    phase: Phase,
    is_main: bool,
}

/// What was around a finish.
#[derive(Debug)]
pub struct AroundFinish {
    node: Node,
    was_alone: bool,
    /// What the ended tasks have learnt.
    knows: Joined,
}

/// So many steps under locks a worker remembers.
const LOCKED_STEPS: usize = 64;
/// And all workers together remember so many inner nodes.
const INNER_NODES: usize = 256;

/// What a worker keeps for itself.
pub struct OwnRows {
    /// The rows that it has taken and not used.
    next: Row,
    end: Row,
    at_once: u32,
    /// The stamp of a step without locks, locks, and its stamp under these.
    locked: [(Stamp, Lockset, Stamp); LOCKED_STEPS],
    searches: Searches,
}

impl Default for OwnRows {
    fn default() -> Self {
        OwnRows {
            next: NO_ROW,
            end: NO_ROW,
            at_once: 0,
            locked: [(NO_STAMP, Lockset::NONE, NO_STAMP); LOCKED_STEPS],
            searches: Searches::default(),
        }
    }
}

impl OwnRows {
    fn place_under_locks(task: &LabelledTask) -> usize {
        (task.unlocked ^ task.locks.0.rotate_left(3)) as usize % LOCKED_STEPS
    }

    /// The stamp of the present step under the present locks, if it is known. A step that takes
    /// the same lock again is the same under it.
    fn stamp_under_locks(&self, task: &LabelledTask) -> Stamp {
        if task.locks == Lockset::NONE {
            return task.unlocked;
        }
        let (unlocked, locks, stamp) = self.locked[OwnRows::place_under_locks(task)];
        match (unlocked, locks) == (task.unlocked, task.locks) {
            true => stamp,
            false => NO_STAMP,
        }
    }
}

pub struct Labels {
    rows: Rows<5>,
    /// By stamp, if the program has locks or promises: the locks, and the next set when the step
    /// began.
    more: Option<Rows<2>>,
    locksets: Option<Locksets>,
    learnt: Option<Learnt>,
    /// Rows of inner nodes. Whoever wants the row of a node most often finds that of another
    /// worker, so that cells which the same tasks have read are alike.
    inner_nodes: [AtomicU32; INNER_NODES],
}

impl Labels {
    /// A new row, not below the floor.
    fn row(&self, memo: &mut OwnRows, floor: Stamp, path: Path) -> Result<Row, TableError> {
        if memo.next == memo.end || memo.next < floor {
            memo.at_once = match memo.next < floor {
                true => FIRST_ROWS,
                false => (2 * memo.at_once).clamp(FIRST_ROWS, MOST_ROWS_AT_ONCE),
            };
            memo.next = self.rows.take(memo.at_once as usize)?;
            memo.end = memo.next + memo.at_once;
        }
        let row = memo.next;
        memo.next += 1;
        self.rows.put(row, path.to_words());
        Ok(row)
    }

    /// Gives back the rows below the floor, if they are neither part of the task's own path nor
    /// that of a step that has set a promise.
    fn forget_below(&self, task: &LabelledTask) {
        if task.node.above == NO_ROW && self.learnt.is_none() {
            self.rows.forget_before(task.floor);
            if let Some(more) = &self.more {
                more.forget_before(task.floor);
            }
        }
    }

    /// The child of a node with this value: its word, the row above and the depth.
    fn child(
        &self,
        memo: &mut OwnRows,
        floor: Stamp,
        node: &mut Node,
        value: u32,
    ) -> Result<Path, TableError> {
        let Node {
            word, above, depth, ..
        } = *node;
        if value < LONG_FROM {
            let word = word.with(value);
            return Ok(Path::new(word, above, depth));
        }
        if node.long == NO_ROW {
            let word = word.with_code(LONG_MARK, 1);
            node.long = self.row(memo, floor, Path::new(word, above, depth))?;
        }
        Ok(Path::new(Word::of_long(value), node.long, depth + 1))
    }

    /// A child that has children.
    fn inner(
        &self,
        memo: &mut OwnRows,
        floor: Stamp,
        node: &mut Node,
        value: u32,
    ) -> Result<Node, TableError> {
        let path = self.child(memo, floor, node, value)?;
        let mut child = Node {
            word: path.word,
            above: path.above,
            depth: path.depth,
            ..Node::ROOT
        };
        if path.word.used() + LONGEST > UNITS {
            child.above = self.row(memo, floor, path)?;
            child.word = Word::EMPTY;
            child.depth += 1;
        }
        Ok(child)
    }

    /// A row for the present step under these locks.
    fn row_of_step(
        &self,
        memo: &mut OwnRows,
        task: &mut LabelledTask,
        locks: Lockset,
    ) -> Result<Row, TableError> {
        let value = task.node.step << 1;
        let path = self.child(memo, task.floor, &mut task.node, value)?;
        let row = self.row(memo, task.floor, path)?;
        if let Some(more) = &self.more {
            let next_set = self.learnt.as_ref().map_or(0, Learnt::next_set);
            more.put(row, [locks.0, next_set]);
        }
        Ok(row)
    }

    fn next_step(&self, task: &mut LabelledTask) -> Result<(), Failure> {
        if task.node.step >= MOST_STEPS {
            return Err(Failure::from(TableError::Exhausted {
                table: "steps of a task",
                capacity: MOST_STEPS as usize,
            }));
        }
        task.node.step += 1;
        (task.stamp, task.unlocked) = (NO_STAMP, NO_STAMP);
        Ok(())
    }

    #[inline]
    fn path(&self, row: Row) -> Path {
        Path::from_words(self.rows.get(row))
    }

    /// Where the paths of two rows part. None if one goes through the other.
    #[inline]
    fn fork(&self, mut a: Path, mut b: Path) -> Option<Fork> {
        while a.depth > b.depth {
            a = self.path(a.above);
        }
        while b.depth > a.depth {
            b = self.path(b.above);
        }
        while a.above != b.above {
            (a, b) = (self.path(a.above), self.path(b.above));
        }
        a.parts_from(b)
    }

    /// Whether the first step precedes the second one by structure, or is at the same place, if the
    /// second one does not precede the first. An inner node around a step does not precede it.
    #[inline]
    fn precedes(&self, earlier: Stamp, later: Stamp) -> bool {
        let earlier = self.path(earlier);
        match self.fork(earlier, self.path(later)) {
            Some(fork) => !fork.left_is_task,
            None => !earlier.is_inner,
        }
    }

    /// A row of an inner node, not below the floor, for accesses under these locks.
    fn row_of_inner(
        &self,
        memo: &mut OwnRows,
        floor: Stamp,
        node: Path,
        locks: Lockset,
    ) -> Result<Row, TableError> {
        let place = node.mix().wrapping_add(locks.0) as usize % INNER_NODES;
        let row = self.inner_nodes[place].load(Ordering::Acquire);
        // A node is left before the floor rises.
        if row >= floor && self.path(row) == node && self.locks_of(row) == locks {
            return Ok(row);
        }
        let row = self.row(memo, floor, node)?;
        if let Some(more) = &self.more {
            more.put(row, [locks.0, 0]);
        }
        self.inner_nodes[place].store(row, Ordering::Release);
        Ok(row)
    }
}

impl SharedOrder for Labels {
    type Strand = LabelledTask;
    type Finish = AroundFinish;
    type Memo = OwnRows;

    const REMEMBERS_OUTCOMES: bool = true;

    fn new(uses: Uses) -> Result<Self, Failure> {
        let rows = Rows::reserve("steps", MOST_ROWS)?;
        // Row 0 is none.
        rows.take(1)?;
        let has_locks = uses.locks || uses.isolated;
        Ok(Labels {
            rows,
            more: match uses.promises || has_locks {
                true => Some(Rows::reserve("steps with locks or promises", MOST_ROWS)?),
                false => None,
            },
            locksets: match has_locks {
                true => Some(Locksets::new()?),
                false => None,
            },
            learnt: match uses.promises {
                true => Some(Learnt::new()?),
                false => None,
            },
            inner_nodes: [const { AtomicU32::new(NO_ROW) }; INNER_NODES],
        })
    }

    fn main(&self) -> Result<LabelledTask, Failure> {
        Ok(LabelledTask {
            node: Node::ROOT,
            stamp: NO_STAMP,
            unlocked: NO_STAMP,
            locks: Lockset::NONE,
            floor: NOBODY + 1,
            knows: NOTHING,
            learnt: false,
            phase: Phase::FIRST,
            is_main: true,
        })
    }

    #[inline]
    fn create(
        &self,
        memo: &mut OwnRows,
        creator: &mut LabelledTask,
    ) -> Result<LabelledTask, Failure> {
        let value = creator.node.step << 1 | 1;
        let node = self.inner(memo, creator.floor, &mut creator.node, value)?;
        self.next_step(creator)?;
        creator.phase = creator.phase.beside_others();
        Ok(LabelledTask {
            node,
            stamp: NO_STAMP,
            unlocked: NO_STAMP,
            locks: Lockset::NONE,
            floor: creator.floor,
            knows: creator.knows,
            learnt: false,
            phase: creator.phase,
            is_main: false,
        })
    }

    fn end(&self, task: LabelledTask, finish: &AroundFinish) -> Result<(), Failure> {
        let Some(learnt) = self.learnt.as_ref().filter(|_| task.learnt) else {
            return Ok(());
        };
        Ok(finish.knows.add(learnt, task.knows)?)
    }

    #[inline]
    fn open(&self, memo: &mut OwnRows, task: &mut LabelledTask) -> Result<AroundFinish, Failure> {
        self.next_step(task)?;
        let value = task.node.step << 1;
        let finish = self.inner(memo, task.floor, &mut task.node, value)?;
        Ok(AroundFinish {
            node: std::mem::replace(&mut task.node, finish),
            was_alone: task.phase.is_alone(),
            knows: Joined::nothing(),
        })
    }

    #[inline]
    fn close(
        &self,
        memo: &mut OwnRows,
        task: &mut LabelledTask,
        finish: AroundFinish,
    ) -> Result<(), Failure> {
        task.node = finish.node;
        self.next_step(task)?;
        if finish.was_alone {
            task.phase = task.phase.alone_again();
            task.floor = self.rows.len() as Stamp;
            memo.end = memo.next;
            // What it has learnt is about what lies below.
            task.knows = NOTHING;
            // The next row above long values is not below the floor.
            task.node.long = NO_ROW;
            self.forget_below(task);
        } else if let Some(learnt) = &self.learnt {
            let joined = finish.knows.all();
            task.learnt |= joined != NOTHING;
            task.knows = learnt.join(task.knows, joined)?;
        }
        Ok(())
    }

    fn set(&self, memo: &mut OwnRows, task: &mut LabelledTask) -> Result<u32, Failure> {
        let stamp = self.stamp(memo, task)?;
        self.next_step(task)?;
        match &self.learnt {
            Some(learnt) => Ok(learnt.set(stamp, task.knows)?),
            None => Err(Failure::Unsupported(PROMISES)),
        }
    }

    fn get(&self, task: &mut LabelledTask, set: u32) -> Result<(), Failure> {
        let Some(learnt) = &self.learnt else {
            return Err(Failure::Unsupported(PROMISES));
        };
        task.knows = learnt.get(task.knows, set)?;
        task.learnt = true;
        Ok(())
    }

    fn acquire(
        &self,
        memo: &mut OwnRows,
        task: &mut LabelledTask,
        id: TaskId,
        lock: LockId,
    ) -> Result<(), Failure> {
        let Some(locksets) = &self.locksets else {
            return Err(Failure::Unsupported(lock_name(lock)));
        };
        task.locks = locksets.with(task.locks, id, lock)?;
        task.stamp = memo.stamp_under_locks(task);
        Ok(())
    }

    fn release(
        &self,
        memo: &mut OwnRows,
        task: &mut LabelledTask,
        lock: LockId,
    ) -> Result<(), Failure> {
        let Some(locksets) = &self.locksets else {
            return Err(Failure::Unsupported(lock_name(lock)));
        };
        task.locks = locksets.without(task.locks, lock)?;
        task.stamp = memo.stamp_under_locks(task);
        Ok(())
    }

    #[inline]
    fn stamp(&self, memo: &mut OwnRows, task: &mut LabelledTask) -> Result<Stamp, Failure> {
        if task.stamp != NO_STAMP {
            return Ok(task.stamp);
        }
        if task.unlocked == NO_STAMP {
            task.unlocked = self.row_of_step(memo, task, Lockset::NONE)?;
        }
        task.stamp = task.unlocked;
        if task.locks != Lockset::NONE {
            task.stamp = self.row_of_step(memo, task, task.locks)?;
            let place = OwnRows::place_under_locks(task);
            memo.locked[place] = (task.unlocked, task.locks, task.stamp);
        }
        Ok(task.stamp)
    }

    #[inline]
    fn stamp_so_far(&self, task: &LabelledTask) -> Stamp {
        task.stamp
    }

    #[inline]
    fn parallel(&self, memo: &mut OwnRows, task: &LabelledTask, earlier: Stamp) -> bool {
        if earlier < task.floor || earlier == task.stamp || self.precedes(earlier, task.stamp) {
            return false;
        }
        let (Some(learnt), Some(more)) = (&self.learnt, &self.more) else {
            return true;
        };
        // Sets that precede the earlier step have smaller numbers.
        let [_, since] = more.get(earlier);
        let reaches = |step| self.precedes(earlier, step);
        !learnt.leads_to(&mut memo.searches, task.knows, (earlier, since), reaches)
    }

    #[inline]
    fn locks_of(&self, stamp: Stamp) -> Lockset {
        match &self.more {
            Some(more) => Lockset(more.get(stamp)[0]),
            None => Lockset::NONE,
        }
    }

    fn locksets(&self) -> Option<&Locksets> {
        self.locksets.as_ref()
    }

    #[inline]
    fn phase(&self, task: &LabelledTask) -> Phase {
        task.phase
    }

    #[inline]
    fn lets_steps_own(&self) -> bool {
        self.locksets.is_none()
    }

    #[inline]
    fn is_main(&self, task: &LabelledTask) -> bool {
        task.is_main
    }

    #[inline]
    fn past(&self, task: &LabelledTask) -> Stamp {
        task.floor
    }

    fn stands_for(&self, one: Stamp, other: Stamp) -> bool {
        let [one, other] = [one, other].map(|stamp| self.path(stamp));
        one.goes_no_deeper_than(other) && self.fork(one, other).is_none()
    }

    fn both(
        &self,
        memo: &mut OwnRows,
        task: &LabelledTask,
        earlier: Stamp,
    ) -> Result<Option<Stamp>, Failure> {
        if self.learnt.is_some() {
            return Ok(None);
        }
        let Some(fork) = self.fork(self.path(earlier), self.path(task.stamp)) else {
            return Ok(Some(earlier));
        };
        let row = self.row_of_inner(memo, task.floor, fork.node, task.locks)?;
        Ok(Some(row))
    }

    fn used_bytes(&self) -> usize {
        let more = self.more.as_ref().map_or(0, Rows::used_bytes);
        let learnt = self.learnt.as_ref().map_or(0, Learnt::used_bytes);
        let locksets = self.locksets.as_ref().map_or(0, Locksets::used_bytes);
        self.rows.used_bytes() + more + learnt + locksets
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    /// Paths of trees that are deep and wide part where the nodes do.
    #[test]
    fn paths_part_where_the_nodes_of_the_tree_do() {
        for seed in 1..60 {
            let mut state: u64 = seed;
            let mut random = |limit: u32| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                ((state >> 33) as u32) % limit
            };
            let labels = Labels::new(Uses::default()).unwrap();
            let tree = Tree::new(Uses::default()).unwrap();
            let (mut own, mut last) = (OwnRows::default(), Default::default());
            let mut live = vec![(labels.main().unwrap(), tree.main().unwrap())];
            let mut steps = Vec::new();
            let deep = random(4) == 0;
            for _ in 0..120 {
                let at = match deep {
                    true => live.len() - 1,
                    false => random(live.len() as u32) as usize,
                };
                let (labelled, in_tree) = &mut live[at];
                match random(4) {
                    0 => {
                        let child = labels.create(&mut own, labelled).unwrap();
                        let beside = tree.create(&mut last, in_tree).unwrap();
                        live.push((child, beside));
                    }
                    1 => {
                        // It stays open.
                        labels.open(&mut own, labelled).unwrap();
                        tree.open(&mut last, in_tree).unwrap();
                    }
                    2 => {
                        // As if there had been many tasks.
                        labelled.node.step += 1 << random(14);
                        labels.next_step(labelled).unwrap();
                        tree.next_step(in_tree).unwrap();
                    }
                    _ => {
                        let stamp = labels.stamp(&mut own, labelled).unwrap();
                        steps.push((stamp, tree.stamp_so_far(in_tree)));
                    }
                }
            }
            for &(a, a_in_tree) in &steps {
                for &(b, b_in_tree) in &steps {
                    let [path_of_a, path_of_b] = [a, b].map(|stamp| labels.path(stamp));
                    let Some(fork) = labels.fork(path_of_a, path_of_b) else {
                        assert_eq!(a_in_tree, b_in_tree);
                        continue;
                    };
                    let left_is_task = tree.left_is_task(a_in_tree, b_in_tree);
                    assert_eq!(fork.left_is_task, left_is_task, "seed {seed}");
                    for &(c, c_in_tree) in &steps {
                        let [near, far] = [b_in_tree, c_in_tree].map(|it| tree.meet(a_in_tree, it));
                        let is_around = labels.fork(fork.node, labels.path(c)).is_none();
                        if far != near {
                            assert_eq!(is_around, far > near, "seed {seed}");
                        }
                    }
                }
            }
        }
    }
}
