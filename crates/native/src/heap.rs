//! The blocks of the heap that are alive, and where they were allocated.

use crate::structure::Position;
use finishline_detect::hash::IdMap;
use finishline_model::TaskId;

#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub start: u64,
    pub bytes: u64,
    pub allocated: Position,
    pub task: TaskId,
}

#[derive(Debug, Default)]
pub struct Heap {
    blocks: IdMap<u64, Block>,
}

impl Heap {
    pub fn allocate(&mut self, block: Block) {
        self.blocks.insert(block.start, block);
    }

    pub fn free(&mut self, start: u64) -> Option<Block> {
        self.blocks.remove(&start)
    }

    /// The block that an address lies in. Asked for once a pair of racing places, so it may look at them all.
    pub fn around(&self, address: u64) -> Option<&Block> {
        let inside = |block: &&Block| address.wrapping_sub(block.start) < block.bytes;
        self.blocks.values().find(inside)
    }
}
