//! The natural loops of a function.
//!
//! A back edge leads to a block that dominates the source of the edge. This block is the header of
//! a loop. The loop consists of the header and of every block that reaches a back edge to the
//! header without passing the header. Loops of one header are one loop, so two loops are disjoint
//! or nested. A cycle with several entries has no header and is not found: passes leave it alone.
//! The cost is linear, but for the blocks of nested loops, which are listed once for each loop.

use crate::dominators::Dominators;
use crate::module::{BlockId, Function};
use finishline_model::entity;

entity! {
    LoopId, "loop";
}

pub struct Loops {
    /// Every loop before those around it.
    loops: Vec<Loop>,
    /// By block: the innermost loop it is in.
    innermost: Vec<Option<LoopId>>,
}

pub struct Loop {
    pub header: BlockId,
    /// The sources of its back edges.
    pub latches: Vec<BlockId>,
    /// In reverse postorder, the header first; with the blocks of the loops inside.
    pub blocks: Vec<BlockId>,
    pub parent: Option<LoopId>,
    /// 0 if it has no loop inside, otherwise one more than the highest of those.
    pub height: u32,
}

impl Loops {
    pub fn of(function: &Function, dominators: &Dominators) -> Loops {
        let count = function.blocks.len();
        let mut predecessors = vec![Vec::new(); count];
        let mut latches = vec![Vec::new(); count];
        for &block in dominators.order() {
            for target in function.block(block).terminator.targets() {
                predecessors[target.block.index()].push(block);
                let into = &mut latches[target.block.index()];
                if dominators.dominates(target.block, block) && into.last() != Some(&block) {
                    into.push(block);
                }
            }
        }
        let mut found = Loops {
            loops: Vec::new(),
            innermost: vec![None; count],
        };
        // A header comes after those of the loops around it, so these are found last.
        for &header in dominators.order().iter().rev() {
            let latches = std::mem::take(&mut latches[header.index()]);
            if !latches.is_empty() {
                found.add(header, latches, &predecessors);
            }
        }
        found.list_blocks(dominators);
        found
    }

    /// Walks from the back edges to the header. A loop met on the way is inside this one and passed
    /// in one stride.
    fn add(&mut self, header: BlockId, latches: Vec<BlockId>, predecessors: &[Vec<BlockId>]) {
        let id = LoopId::from_index(self.loops.len());
        let mut reached = latches.clone();
        self.innermost[header.index()] = Some(id);
        self.loops.push(Loop {
            header,
            latches,
            blocks: Vec::new(),
            parent: None,
            height: 0,
        });
        while let Some(block) = reached.pop() {
            match self.outermost(block) {
                Some(inner) if inner == id => {}
                Some(inner) => {
                    let inner = &mut self.loops[inner.index()];
                    inner.parent = Some(id);
                    reached.extend(&predecessors[inner.header.index()]);
                    let height = inner.height + 1;
                    let around = &mut self.loops[id.index()];
                    around.height = around.height.max(height);
                }
                None => {
                    self.innermost[block.index()] = Some(id);
                    reached.extend(&predecessors[block.index()]);
                }
            }
        }
    }

    /// The outermost loop found so far that a block is in.
    fn outermost(&self, block: BlockId) -> Option<LoopId> {
        let mut at = self.innermost[block.index()]?;
        while let Some(parent) = self.loops[at.index()].parent {
            at = parent;
        }
        Some(at)
    }

    fn list_blocks(&mut self, dominators: &Dominators) {
        for &block in dominators.order() {
            let mut at = self.innermost[block.index()];
            while let Some(id) = at {
                self.loops[id.index()].blocks.push(block);
                at = self.loops[id.index()].parent;
            }
        }
    }

    /// Every loop before those around it.
    pub fn iter(&self) -> impl Iterator<Item = (LoopId, &Loop)> {
        let ids = (0..self.loops.len()).map(LoopId::from_index);
        ids.zip(&self.loops)
    }

    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id.index()]
    }

    /// The innermost loop of a block.
    pub fn innermost(&self, block: BlockId) -> Option<LoopId> {
        *self.innermost.get(block.index())?
    }

    /// Whether a block is in a loop or in one inside it. Blocks added since the loops were found
    /// are in none.
    pub fn contains(&self, id: LoopId, block: BlockId) -> bool {
        let mut at = self.innermost(block);
        while let Some(inner) = at {
            if inner == id {
                return true;
            }
            at = self.loops[inner.index()].parent;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dominators::tests::{every_graph_of_four_blocks, graph};
    use std::collections::BTreeSet;

    /// The blocks of the loop of each header, by the definition: those the header dominates that
    /// reach a back edge to it without passing it.
    fn by_definition(function: &Function, dominators: &Dominators) -> Vec<(u32, BTreeSet<u32>)> {
        let successors = |b: BlockId| function.block(b).terminator.targets().map(|t| t.block);
        let blocks = || dominators.order().iter().copied();
        let mut found = Vec::new();
        for header in blocks() {
            let is_latch =
                |b: BlockId| dominators.dominates(header, b) && successors(b).any(|s| s == header);
            if !blocks().any(is_latch) {
                continue;
            }
            let reaches_latch = |from: BlockId| {
                let (mut seen, mut stack) = (BTreeSet::new(), vec![from]);
                while let Some(block) = stack.pop() {
                    if seen.insert(block) && (block == from || block != header) {
                        if is_latch(block) {
                            return true;
                        }
                        stack.extend(successors(block));
                    }
                }
                false
            };
            let inside = blocks().filter(|b| {
                *b == header || (dominators.dominates(header, *b) && reaches_latch(*b))
            });
            found.push((header.0, inside.map(|b| b.0).collect()));
        }
        found.sort();
        found
    }

    fn check(function: &Function) {
        let dominators = Dominators::of(function);
        let loops = Loops::of(function, &dominators);
        let mut found: Vec<(u32, BTreeSet<u32>)> = loops
            .iter()
            .map(|(_, l)| (l.header.0, l.blocks.iter().map(|b| b.0).collect()))
            .collect();
        found.sort();
        assert_eq!(found, by_definition(function, &dominators), "{function}");
        for (id, inner) in loops.iter() {
            assert_eq!(inner.blocks[0], inner.header);
            for block in (0..function.blocks.len()).map(BlockId::from_index) {
                assert_eq!(loops.contains(id, block), inner.blocks.contains(&block));
            }
            if let Some(parent) = inner.parent {
                assert!(parent > id && loops.get(parent).height > inner.height);
                let around = &loops.get(parent).blocks;
                assert!(inner.blocks.iter().all(|block| around.contains(block)));
                assert!(inner.blocks.len() < around.len());
            }
        }
    }

    #[test]
    fn nested_loops_and_one_behind() {
        // 1 and 2 are nested, 5 follows.
        let function = graph(&[&[1], &[2, 5], &[3, 4], &[2], &[1], &[5, 6], &[]]);
        let loops = Loops::of(&function, &Dominators::of(&function));
        let mut shapes: Vec<_> = loops
            .iter()
            .map(|(_, l)| (l.header.0, l.blocks.len(), l.parent, l.height))
            .collect();
        shapes.sort();
        assert_eq!(
            shapes,
            [(1, 4, None, 1), (2, 2, Some(LoopId(2)), 0), (5, 1, None, 0)]
        );
        check(&function);
    }

    #[test]
    fn agrees_with_the_definition_on_every_graph_of_four_blocks() {
        every_graph_of_four_blocks(check);
    }
}
