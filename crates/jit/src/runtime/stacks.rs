//! Address space for the stacks of tasks that may wait.
//!
//! The system allows some 65,000 mappings, far fewer than there may be stacks. So stacks are cut
//! out of large mappings, whose pages are committed as they are used. The first stacks are as large
//! as the budget allows frames to get, later ones smaller, down to 16 MiB: a million stacks fit in
//! half of the address space. If the system refuses, stacks are smaller and fewer.

use super::stack_room::RESERVE;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ops::Range;

pub(super) const PAGE: usize = 4096;

/// Mappings that stacks are cut out of.
pub(super) struct Stacks {
    mappings: Vec<Range<usize>>,
    /// What is left of the last one.
    left: Range<usize>,
    /// The size of stacks there.
    bytes: usize,
    /// The size of the largest stack of use.
    largest: usize,
}

/// The first mapping has so many stacks, each following one twice as many.
const FIRST_STACKS: usize = 64;
/// The stacks of a mapping are as large as fit in so many bytes, within these bounds.
const MAPPING_BYTES: usize = 1 << 42;
const LEAST_STACK: usize = 16 << 20;
/// After a refusal stacks are at most so large, and ever less is tried, down to the least.
const MOST_AFTER_REFUSAL: usize = 2 << 20;
const LEAST_STACK_AFTER_REFUSAL: usize = 4 * RESERVE;
const AFTER_REFUSAL_DIVIDE_BY: usize = 8;

impl Stacks {
    pub(super) fn new(largest: usize) -> Stacks {
        Stacks {
            mappings: Vec::new(),
            left: 0..0,
            bytes: 0,
            largest: largest.next_multiple_of(PAGE),
        }
    }

    /// A stack that nobody has used. None if the system has no more address space.
    pub(super) fn make(&mut self) -> Option<Range<usize>> {
        if self.left.is_empty() {
            self.map()?;
        }
        // From the top: the first stack of a mapping is at its highest addresses.
        let stack = self.left.end - self.bytes..self.left.end;
        self.left.end = stack.start;
        Some(stack)
    }

    fn map(&mut self) -> Option<()> {
        self.mappings.try_reserve(1).ok()?;
        let mut stacks = FIRST_STACKS << self.mappings.len().min(24);
        let fitting = (MAPPING_BYTES / stacks).max(LEAST_STACK) & !(PAGE - 1);
        let least = LEAST_STACK_AFTER_REFUSAL;
        let mut bytes = fitting.min(self.largest).max(least);
        let mapping = loop {
            if let Some(mapping) = stacks.checked_mul(bytes).and_then(map) {
                break mapping;
            }
            if bytes > least {
                // Where address space is scarce, many tasks are more likely than deep ones.
                let less = (bytes / AFTER_REFUSAL_DIVIDE_BY).min(MOST_AFTER_REFUSAL);
                bytes = less.max(least) & !(PAGE - 1);
                self.largest = bytes;
            } else if stacks > 1 {
                stacks = stacks.div_ceil(AFTER_REFUSAL_DIVIDE_BY);
            } else {
                return None;
            }
        };
        self.left = mapping.clone();
        self.bytes = bytes;
        self.mappings.push(mapping);
        Some(())
    }
}

/// Address space whose pages are committed one by one.
fn map(bytes: usize) -> Option<Range<usize>> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let rights = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new anonymous mapping at an address of the system's choice overlaps nothing.
    let lowest = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, rights, flags) }.ok()?;
    // Most stacks use one page of theirs, so a huge page would be a waste.
    // SAFETY: the mapping is new, and this changes nothing in it.
    let _ = unsafe { madvise(lowest, bytes, Advice::LinuxNoHugepage) };
    let lowest = lowest.expose_provenance();
    Some(lowest..lowest + bytes)
}

impl Drop for Stacks {
    fn drop(&mut self) {
        for mapping in &self.mappings {
            let lowest = std::ptr::with_exposed_provenance_mut(mapping.start);
            // SAFETY: the mapping is ours, and nothing runs on its stacks any more.
            let _ = unsafe { munmap(lowest, mapping.len()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first stacks hold all that the budget allows. A million of them are never smaller than
    /// 16 MiB, and fit in the address space of a process.
    #[test]
    fn a_million_stacks_of_a_large_budget() {
        let largest = 12 << 30;
        let mut stacks = Stacks::new(largest);
        let mut total = 0;
        for number in 0..1_000_000 {
            let stack = stacks.make().expect("address space");
            let least = if number < 400 { largest } else { LEAST_STACK };
            assert!(stack.len() >= least, "stack {number} of {:#x}", stack.len());
            total += stack.len();
        }
        assert!(total < 1 << 46);
        assert!(stacks.mappings.len() < 20);
    }

    #[test]
    fn small_budgets_take_little_address_space() {
        let mut stacks = Stacks::new(1 << 20);
        for _ in 0..10_000 {
            assert_eq!(stacks.make().expect("address space").len(), 1 << 20);
        }
    }
}
