//! The ways that control may take through one iteration of a loop, and where they pass a check.
//!
//! A check may stand in several blocks, as in both branches of an `if`. It has been made once a way
//! has passed one of them. At an *exit*, every way from the header may have passed one: then the
//! check has been made in this iteration. Or no way from one of them leads to the exit, except
//! around the loop: then it has not. At other exits that is not known.
//!
//! Each question is a walk over the loop.

use crate::evolution::Context;
use finishline_ir::BlockId;
use rustc_hash::FxHashSet;

/// More exits than these are not worth a check each.
const MOST_EXITS: usize = 4;

/// A block by which control leaves, and whether the check has been made in the last iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Exit {
    pub(super) from: BlockId,
    pub(super) passed: bool,
}

pub(super) struct Ways<'a> {
    context: Context<'a>,
    leaving: Vec<BlockId>,
}

impl<'a> Ways<'a> {
    pub(super) fn of(context: Context<'a>) -> Ways<'a> {
        let Context {
            function,
            loops,
            id,
            ..
        } = context;
        // A block that returns leads to no back edge, so it is in no loop.
        let leaves = |block: &&BlockId| {
            let mut targets = function.block(**block).terminator.targets();
            targets.any(|target| !loops.contains(id, target.block))
        };
        let leaving = loops.get(id).blocks.iter().filter(leaves);
        Ways {
            leaving: leaving.copied().collect(),
            context,
        }
    }

    /// The blocks by which control leaves.
    pub(super) fn leaving(&self) -> &[BlockId] {
        &self.leaving
    }

    /// Adds the blocks that control reaches in the same iteration from those that are waiting. It
    /// goes on behind a block if `goes_on`.
    fn walk(
        &self,
        mut waiting: Vec<BlockId>,
        goes_on: impl Fn(BlockId) -> bool,
        reached: &mut FxHashSet<BlockId>,
    ) {
        let Context {
            function,
            loops,
            id,
            ..
        } = self.context;
        let header = loops.get(id).header;
        while let Some(at) = waiting.pop() {
            for next in function.block(at).terminator.targets() {
                let inside = next.block != header && loops.contains(id, next.block);
                if inside && goes_on(next.block) && reached.insert(next.block) {
                    waiting.push(next.block);
                }
            }
        }
    }

    /// The blocks that control reaches without having passed one of these.
    pub(super) fn without(&self, blocks: &[BlockId]) -> FxHashSet<BlockId> {
        let header = self.context.loops.get(self.context.id).header;
        let mut reached = FxHashSet::default();
        if !blocks.contains(&header) {
            reached.insert(header);
            self.walk(vec![header], |next| !blocks.contains(&next), &mut reached);
        }
        reached
    }

    /// These blocks, and those that control reaches from one of them in the same iteration.
    pub(super) fn after(&self, blocks: &[BlockId]) -> FxHashSet<BlockId> {
        let mut reached: FxHashSet<BlockId> = blocks.iter().copied().collect();
        self.walk(blocks.to_vec(), |_| true, &mut reached);
        reached
    }

    /// Whether a way leads from a block to one of these, itself included, in the same iteration.
    pub(super) fn lead_to(&self, from: BlockId, blocks: &[BlockId]) -> bool {
        if from == self.context.loops.get(self.context.id).header {
            return false;
        }
        let after = self.after(&[from]);
        blocks.iter().any(|block| after.contains(block))
    }

    /// Whether every way around passes one of these blocks.
    pub(super) fn always_pass(&self, blocks: &[BlockId]) -> bool {
        let latches = &self.context.loops.get(self.context.id).latches;
        self.all_behind(blocks, latches)
    }

    /// Whether every way to a block passes one of these, itself included.
    pub(super) fn has_passed(&self, blocks: &[BlockId], at: BlockId) -> bool {
        self.all_behind(blocks, &[at])
    }

    fn all_behind(&self, blocks: &[BlockId], all: &[BlockId]) -> bool {
        if let [only] = blocks {
            let dominators = self.context.dominators;
            return all.iter().all(|block| dominators.dominates(*only, *block));
        }
        let without = self.without(blocks);
        !all.iter().any(|block| without.contains(block))
    }

    /// Whether a check in these blocks has been made at each exit.
    pub(super) fn exits(&self, blocks: &[BlockId]) -> Option<Vec<Exit>> {
        if self.leaving.len() > MOST_EXITS {
            return None;
        }
        let (without, after) = (self.without(blocks), self.after(blocks));
        let exit = |&from: &BlockId| {
            let passed = !without.contains(&from);
            (passed || !after.contains(&from)).then_some(Exit { from, passed })
        };
        self.leaving.iter().map(exit).collect()
    }
}
