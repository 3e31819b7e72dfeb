//! The blocks of the heap that are alive, and where they were allocated.

use crate::structure::Position;
use finishline_detect::hash::{IdMap, IdSet};
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
    /// Those that turned out to belong to a thread and not to a task.
    private: IdSet<u64>,
}

impl Heap {
    pub fn allocate(&mut self, block: Block) {
        self.blocks.insert(block.start, block);
    }

    pub fn free(&mut self, start: u64) -> Option<Block> {
        self.private.remove(&start);
        self.blocks.remove(&start)
    }

    /// The block at this address belongs to a thread.
    pub fn set_private(&mut self, start: u64) {
        self.private.insert(start);
    }

    /// Whether an address lies in a block that belongs to a thread. There are few of these.
    pub fn is_private(&self, address: u64) -> bool {
        let block = |start: &u64| self.blocks.get(start);
        let inside = |block: &Block| address.wrapping_sub(block.start) < block.bytes;
        self.private.iter().filter_map(block).any(inside)
    }

    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.values()
    }

    /// The block that an address lies in. Asked for once a pair of racing places, so it may look at them all.
    pub fn around(&self, address: u64) -> Option<&Block> {
        let inside = |block: &&Block| address.wrapping_sub(block.start) < block.bytes;
        self.blocks.values().find(inside)
    }
}
