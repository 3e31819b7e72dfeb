//! The blocks of the heap, and where they were allocated. A freed block stays known until another
//! one begins at its address.

use crate::facts::structure::Position;
use finishline_model::TaskId;
use finishline_model::hash::{IdMap, IdSet};

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
    /// Those that turned out to belong to a thread and not to a task.
    private: IdSet<u64>,
    /// Those that a thread-local variable was seen to point to.
    thread_local: IdSet<u64>,
}

impl Heap {
    pub fn allocate(&mut self, block: HeapBlock) {
        self.private.remove(&block.start);
        self.thread_local.remove(&block.start);
        self.freed.remove(&block.start);
        self.blocks.insert(block.start, block);
    }

    pub fn free(&mut self, start: u64) {
        self.private.remove(&start);
        self.thread_local.remove(&start);
        if let Some(block) = self.blocks.remove(&start) {
            self.freed.insert(start, block);
        }
    }

    /// The block that begins at an address, if there is one.
    pub fn live(&self, start: u64) -> Option<HeapBlock> {
        self.blocks.get(&start).copied()
    }

    /// Whether a block began there that was freed, and none does now.
    pub fn was_freed(&self, start: u64) -> bool {
        self.freed.contains_key(&start)
    }

    /// A thread-local variable has this value, which may be the address of a block.
    pub fn note_thread_local(&mut self, value: u64) {
        // Counters and flags are told from addresses at a glance.
        let may_be_address = value.is_multiple_of(8) && value > u64::from(u16::MAX);
        if may_be_address && self.blocks.contains_key(&value) {
            self.thread_local.insert(value);
        }
    }

    /// Whether a thread-local variable was seen to point to the block that begins at an address.
    pub fn was_thread_local(&self, start: u64) -> bool {
        self.thread_local.contains(&start)
    }

    /// The block at this address belongs to a thread.
    pub fn set_private(&mut self, start: u64) {
        self.private.insert(start);
    }

    /// Whether an address lies in a block that belongs to a thread. There are few of these.
    pub fn is_private(&self, address: u64) -> bool {
        let block = |start: &u64| self.blocks.get(start);
        let inside = |block: &HeapBlock| address.wrapping_sub(block.start) < block.bytes;
        self.private.iter().filter_map(block).any(inside)
    }

    /// Those that are alive.
    pub fn blocks(&self) -> impl Iterator<Item = &HeapBlock> {
        self.blocks.values()
    }

    /// The block that an address lies in or, if there is none, lay in before it was freed. Asked
    /// for once a pair of racing places, so it may look at them all.
    pub fn around(&self, address: u64) -> Option<&HeapBlock> {
        let inside = |block: &&HeapBlock| address.wrapping_sub(block.start) < block.bytes;
        let live = self.blocks.values().find(inside);
        live.or_else(|| self.freed.values().find(inside))
    }
}
