//! The blocks of the heap, and where they were allocated. A freed block stays known until another
//! one begins at its address.

use crate::facts::structure::Position;
use finishline_model::TaskId;
use finishline_model::hash::IdMap;

#[derive(Clone, Copy, Debug)]
pub struct HeapBlock {
    pub start: u64,
    pub bytes: u64,
    pub allocated: Position,
    pub task: TaskId,
}

#[derive(Debug, Default)]
pub struct Heap {
    blocks: IdMap<u64, HeapBlock>,
    /// As `blocks`, of those that are no more.
    freed: IdMap<u64, HeapBlock>,
}

impl Heap {
    pub fn allocate(&mut self, block: HeapBlock) {
        self.freed.remove(&block.start);
        self.blocks.insert(block.start, block);
    }

    pub fn free(&mut self, start: u64) {
        if let Some(block) = self.blocks.remove(&start) {
            self.freed.insert(start, block);
        }
    }

    /// The block that begins at an address, if there is one.
    pub fn live(&self, start: u64) -> Option<HeapBlock> {
        self.blocks.get(&start).copied()
    }

    /// The block that an address lies in or, if there is none, lay in before it was freed. Asked
    /// for once a pair of racing places, so it may look at them all.
    pub fn around(&self, address: u64) -> Option<&HeapBlock> {
        let inside = |block: &&HeapBlock| address.wrapping_sub(block.start) < block.bytes;
        let live = self.blocks.values().find(inside);
        live.or_else(|| self.freed.values().find(inside))
    }
}
