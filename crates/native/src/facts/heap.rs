//! The blocks of the heap, and where they were allocated. A freed block stays known until another
//! one begins at its address.
//!
//! A **kept** block was freed, and its memory has not been given back: nobody may use it. So an
//! access of it uses a block after it was freed.

use crate::facts::holding::Holding;
use crate::facts::structure::Position;
use finishline_model::TaskId;
use finishline_model::hash::IdMap;
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Clone, Copy, Debug)]
pub struct HeapBlock {
    pub start: u64,
    pub bytes: u64,
    pub allocated: Position,
    pub task: TaskId,
}

impl HeapBlock {
    pub fn range(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.bytes)
    }
}

/// A block that was freed and whose memory is nobody's.
#[derive(Clone, Copy, Debug)]
pub struct KeptBlock {
    pub block: HeapBlock,
    /// Where it was freed, by which task, holding what.
    pub freed: Position,
    pub task: TaskId,
    pub holding: Holding,
    /// By which context the detector knows the end of the block.
    pub context: u32,
}

#[derive(Debug, Default)]
pub struct Heap {
    blocks: IdMap<u64, HeapBlock>,
    /// As `blocks`, of those that are no more.
    freed: IdMap<u64, HeapBlock>,
    /// Those of `freed` that are kept, by where they begin. No two overlap.
    kept: BTreeMap<u64, KeptBlock>,
}

impl Heap {
    pub fn allocate(&mut self, block: HeapBlock) {
        // No allocator hands out what is kept. If one does, the block is kept no more.
        while let Some(start) = self.next_kept(block.range()) {
            self.kept.remove(&start);
        }
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

    /// The block that began at an address and was freed, if nothing is there now.
    pub fn freed(&self, start: u64) -> Option<HeapBlock> {
        self.freed.get(&start).copied()
    }

    /// A freed block is kept from now on.
    pub fn keep(&mut self, kept: KeptBlock) {
        self.kept.insert(kept.block.start, kept);
    }

    /// The kept block that begins at an address, if there is one.
    pub fn kept(&self, start: u64) -> Option<KeptBlock> {
        self.kept.get(&start).copied()
    }

    /// A block is kept no more.
    pub fn give_back(&mut self, start: u64) -> Option<KeptBlock> {
        self.kept.remove(&start)
    }

    /// The kept block that an address lies in.
    pub fn kept_around(&self, address: u64) -> Option<KeptBlock> {
        let (_, kept) = self.kept.range(..=address).next_back()?;
        let inside = kept.block.range().contains(&address);
        inside.then_some(*kept)
    }

    /// Where the first kept block begins that has some of these addresses.
    pub fn next_kept(&self, range: Range<u64>) -> Option<u64> {
        if range.is_empty() {
            return None;
        }
        let around = self.kept_around(range.start).map(|kept| kept.block.start);
        let first = || self.kept.range(range.clone()).next();
        around.or_else(|| first().map(|(start, _)| *start))
    }

    /// The block that an address lies in or, if there is none, lay in before it was freed. Asked
    /// for once a pair of racing places, so it may look at them all.
    pub fn around(&self, address: u64) -> Option<&HeapBlock> {
        let inside = |block: &&HeapBlock| address.wrapping_sub(block.start) < block.bytes;
        let live = self.blocks.values().find(inside);
        live.or_else(|| self.freed.values().find(inside))
    }
}
