//! The dynamic program structure tree, grown by all workers.
//!
//! [FastRacer §2.2; Raman et al. 2012] Leaves are steps, inner nodes are tasks and finishes. The
//! children of a node are in the order in which its task made them. Only that task adds children,
//! so the tree needs no lock. Let a be to the left of b, and let v be the child of their lowest
//! common ancestor on a's side. **a precedes b iff v is not a task.** An access made later in time
//! never precedes an earlier one, so one comparison decides.
//!
//! A stamp is the node of a step. Nodes are never given back: that is the price of this tree. A
//! worker remembers the answers that it got last, because walks to the ancestor are long.
//!
//! **Two of three.** Let a, b and c be parallel to each other, and let a and c meet further down
//! than both meet b, in v. Then a and b stand for c: whatever is in v's subtree has the same
//! relation to b as c has, so it is parallel. Whatever is outside has the same relation to a and to
//! c. If all three meet in one node, any two stand for the third: of two branches the left one is a
//! task, so whatever comes later in one of them is parallel to the other. What comes later in a
//! branch further right is parallel to the left one of the two. What comes later in a branch
//! further left is in a task, or it would precede the two.

use super::super::rows::Rows;
use super::super::{Lockset, Locksets, SharedOrder, lock_name};
use super::two_that_part_first;
use crate::Failure;
use crate::detectors::Uses;
use crate::order::{NOBODY, Stamp};
use crate::table::TableError;
use finishline_model::{LockId, TaskId};

/// The number of a row. Row 0 is the root, a finish, and is never a step.
type Node = u32;

const ROOT: Node = 0;

/// A node: its parent, its depth, and its place among its siblings times two, plus one if it is a
/// task. A step has its locks in a fourth word.
#[derive(Clone, Copy)]
struct TreeNode {
    parent: Node,
    depth: u32,
    place: u32,
    is_task: bool,
}

pub struct Tree {
    nodes: Rows<4>,
    locksets: Option<Locksets>,
}

/// A live task.
#[derive(Debug)]
pub struct TaskInTree {
    /// The task's node, or that of the innermost finish that it has open.
    inside: Node,
    depth: u32,
    /// How many children that node has.
    children: u32,
    step: Node,
    locks: Lockset,
}

/// The node around a finish, its depth, and how many children it has.
#[derive(Debug)]
pub struct Around {
    inside: Node,
    depth: u32,
    children: u32,
}

const MEMO: usize = 64;

/// Whether two steps are parallel, as a worker found last.
pub struct LastAnswers([(Node, Node, bool); MEMO]);

impl Default for LastAnswers {
    fn default() -> Self {
        LastAnswers([(ROOT, ROOT, false); MEMO])
    }
}

/// Stamps below this one. The others are left for histories.
const MOST_NODES: usize = 1 << 31;
/// A place is half of a word.
const MOST_CHILDREN: u32 = 1 << 31;

impl Tree {
    fn node(&self, node: Node) -> TreeNode {
        let [parent, depth, place, _] = self.nodes.get(node);
        TreeNode {
            parent,
            depth,
            place: place >> 1,
            is_task: place & 1 == 1,
        }
    }

    /// Adds a child to the node that a task is inside of.
    fn add(&self, task: &mut TaskInTree, is_task: bool) -> Result<Node, Failure> {
        if task.children >= MOST_CHILDREN {
            return Err(Failure::from(TableError::Exhausted {
                table: "children of a node of the structure tree",
                capacity: MOST_CHILDREN as usize,
            }));
        }
        let place = task.children << 1 | u32::from(is_task);
        task.children += 1;
        let row = [task.inside, task.depth + 1, place, task.locks.0];
        Ok(self.nodes.add(row)?)
    }

    pub(super) fn next_step(&self, task: &mut TaskInTree) -> Result<(), Failure> {
        task.step = self.add(task, false)?;
        Ok(())
    }

    /// The two children of the lowest common ancestor that two steps are in, or are.
    fn branches(&self, a: Node, b: Node) -> [TreeNode; 2] {
        let (mut left, mut right) = (self.node(a), self.node(b));
        while left.depth > right.depth {
            left = self.node(left.parent);
        }
        while right.depth > left.depth {
            right = self.node(right.parent);
        }
        while left.parent != right.parent {
            (left, right) = (self.node(left.parent), self.node(right.parent));
        }
        [left, right]
    }

    /// Whether the left one of the branches that two steps are in is a task.
    pub(super) fn left_is_task(&self, a: Node, b: Node) -> bool {
        let [one, other] = self.branches(a, b);
        match one.place < other.place {
            true => one.is_task,
            false => other.is_task,
        }
    }

    /// The depth at which two steps meet.
    pub(super) fn meet(&self, a: Node, b: Node) -> u32 {
        let [branch, _] = self.branches(a, b);
        branch.depth
    }
}

impl SharedOrder for Tree {
    type Strand = TaskInTree;
    type Finish = Around;
    type Memo = LastAnswers;

    fn new(uses: Uses) -> Result<Self, Failure> {
        let nodes = Rows::reserve("the structure tree", MOST_NODES)?;
        nodes.add([ROOT, 0, 0, 0])?;
        let locksets = match uses.locks || uses.isolated {
            true => Some(Locksets::new()?),
            false => None,
        };
        Ok(Tree { nodes, locksets })
    }

    fn main(&self) -> Result<TaskInTree, Failure> {
        let mut main = TaskInTree {
            inside: ROOT,
            depth: 0,
            children: 0,
            step: ROOT,
            locks: Lockset::NONE,
        };
        self.next_step(&mut main)?;
        Ok(main)
    }

    fn create(&self, _: &mut LastAnswers, creator: &mut TaskInTree) -> Result<TaskInTree, Failure> {
        let inside = self.add(creator, true)?;
        self.next_step(creator)?;
        let mut task = TaskInTree {
            inside,
            depth: creator.depth + 1,
            children: 0,
            step: ROOT,
            locks: Lockset::NONE,
        };
        self.next_step(&mut task)?;
        Ok(task)
    }

    fn open(&self, _: &mut LastAnswers, task: &mut TaskInTree) -> Result<Around, Failure> {
        let finish = self.add(task, false)?;
        let around = Around {
            inside: task.inside,
            depth: task.depth,
            children: task.children,
        };
        (task.inside, task.depth, task.children) = (finish, around.depth + 1, 0);
        self.next_step(task)?;
        Ok(around)
    }

    fn close(
        &self,
        _: &mut LastAnswers,
        task: &mut TaskInTree,
        around: Around,
    ) -> Result<(), Failure> {
        (task.inside, task.depth, task.children) = (around.inside, around.depth, around.children);
        self.next_step(task)
    }

    fn acquire(
        &self,
        _: &mut Self::Memo,
        task: &mut TaskInTree,
        id: TaskId,
        lock: LockId,
    ) -> Result<(), Failure> {
        match &self.locksets {
            Some(locksets) => {
                task.locks = locksets.with(task.locks, id, lock)?;
                self.next_step(task)
            }
            None => Err(Failure::Unsupported(lock_name(lock))),
        }
    }

    fn release(
        &self,
        _: &mut Self::Memo,
        task: &mut TaskInTree,
        lock: LockId,
    ) -> Result<(), Failure> {
        match &self.locksets {
            Some(locksets) => {
                task.locks = locksets.without(task.locks, lock)?;
                self.next_step(task)
            }
            None => Err(Failure::Unsupported(lock_name(lock))),
        }
    }

    #[inline]
    fn stamp(&self, _: &mut LastAnswers, strand: &mut TaskInTree) -> Result<Stamp, Failure> {
        Ok(strand.step)
    }

    #[inline]
    fn stamp_so_far(&self, strand: &TaskInTree) -> Stamp {
        strand.step
    }

    fn parallel(&self, memo: &mut LastAnswers, strand: &TaskInTree, earlier: Stamp) -> bool {
        let now = strand.step;
        if earlier == NOBODY || earlier == now {
            return false;
        }
        let last = &mut memo.0[(earlier ^ now.rotate_left(4)) as usize % MEMO];
        if let &mut (a, b, parallel) = last
            && (a, b) == (earlier, now)
        {
            return parallel;
        }
        let parallel = self.left_is_task(earlier, now);
        *last = (earlier, now, parallel);
        parallel
    }

    fn locks_of(&self, stamp: Stamp) -> Lockset {
        let [.., locks] = self.nodes.get(stamp);
        Lockset(locks)
    }

    fn locksets(&self) -> Option<&Locksets> {
        self.locksets.as_ref()
    }

    fn two_of_three(&self, stamps: [Stamp; 3]) -> Option<[Stamp; 2]> {
        Some(two_that_part_first(stamps, |a, b| self.meet(a, b)))
    }

    fn used_bytes(&self) -> usize {
        self.nodes.used_bytes()
    }
}
