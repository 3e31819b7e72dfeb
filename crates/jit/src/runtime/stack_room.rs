//! How much of its stack a strand may use, and how much of it is resident.
//!
//! No guard lies between two stacks. Compiled code compares before each call what the frames will
//! take with the room, and a part of each stack stays in reserve for what is not counted.
//!
//! A task most often waits within the first pages of its stack. So the room is small at first. A
//! frame that does not fit there asks for [more](StackRoom::make), and it is known how deep a stack
//! may have been used. What lies far below the stack pointer when the task waits or ends is given
//! back to the system.

use super::stacks::PAGE;
use rustix::mm::{Advice, madvise};
use std::ops::Range;

/// What a stack keeps for things that are not counted: trampolines, functions like `sin`, signals.
pub(super) const RESERVE: usize = 64 << 10;
/// What a trampoline may take below the frames.
const TRAMPOLINE: usize = 512;
/// What a stack may use at first, and how much more it may use each time it asks.
const FIRST_ROOM: usize = (8 << 10) - 2 * TRAMPOLINE;
const MORE_ROOM: usize = 16 << 10;
/// Bytes below the stack pointer that a waiting task may keep.
const KEPT_BELOW: usize = 32 << 10;
/// How many bytes an idle stack may keep.
const KEPT_IDLE_BYTES: usize = 1 << 20;

pub(super) struct StackRoom {
    stack: Range<usize>,
    /// Up to where frames and tasks may grow now, as the budget counts it.
    pub(super) bytes: u64,
    /// No byte below was ever used, or is still resident.
    lowest: usize,
    /// The most bytes of stack that a frame takes for a byte that the budget counts.
    factor: usize,
}

impl StackRoom {
    /// Of a stack that nobody has used. It has no room yet.
    pub(super) fn new(stack: Range<usize>, factor: usize) -> StackRoom {
        StackRoom {
            bytes: 0,
            lowest: stack.end,
            stack,
            factor,
        }
    }

    /// All of a stack that is never given back.
    pub(super) fn all_of(stack: Range<usize>, factor: usize) -> StackRoom {
        StackRoom {
            bytes: (stack.len().saturating_sub(RESERVE) / factor) as u64,
            ..StackRoom::new(stack, factor)
        }
    }

    /// The highest address, where the stack begins.
    pub(super) fn base(&self) -> usize {
        self.stack.end
    }

    #[cfg(test)]
    pub(super) fn stack(&self) -> Range<usize> {
        self.stack.clone()
    }

    /// The part that is in use, down to the stack pointer.
    pub(super) fn above(&self, pointer: usize) -> Range<usize> {
        pointer..self.stack.end
    }

    /// Makes room for the first frame on an idle stack, of as many bytes as the budget counts for
    /// it. False if the stack is too small.
    pub(super) fn begin(&mut self, bytes: u64) -> bool {
        self.grow(self.stack.end, 0, bytes, FIRST_ROOM)
    }

    /// Makes room for `request` bytes, as the budget counts them, where frames take `bytes` and
    /// reach down to `pointer`. False if the stack is too small.
    pub(super) fn make(&mut self, pointer: usize, bytes: u64, request: u64) -> bool {
        self.grow(pointer, bytes, request, MORE_ROOM)
    }

    /// Frames take at most `factor` times what is counted for them, and those that are there end at
    /// `pointer`.
    fn grow(&mut self, pointer: usize, bytes: u64, request: u64, at_least: usize) -> bool {
        let request = usize::try_from(request).unwrap_or(usize::MAX);
        let needed = request.saturating_mul(self.factor);
        let left = (pointer - self.stack.start).saturating_sub(RESERVE);
        if needed > left {
            return false;
        }
        let granted = needed.max(at_least.min(left));
        self.bytes = bytes + (granted / self.factor) as u64;
        self.lowest = self.lowest.min(pointer - granted - TRAMPOLINE);
        true
    }

    /// The strand is suspended: gives back what lies far below its stack pointer.
    #[inline]
    pub(super) fn suspend(&mut self, pointer: usize, bytes: u64) {
        if self.lowest.saturating_add(KEPT_BELOW) < pointer {
            self.trim_suspended(pointer, bytes);
        }
    }

    #[cold]
    fn trim_suspended(&mut self, pointer: usize, bytes: u64) {
        self.trim(pointer);
        self.bytes = bytes;
        // It may go on in the page where it is.
        self.grow(pointer, bytes, 0, FIRST_ROOM);
    }

    /// The strand has ended: gives back all but the first page or so, unless the stack may keep
    /// some more. Whether it keeps more.
    pub(super) fn end(&mut self, may_keep: bool) -> bool {
        if self.is_deep() {
            let few = self.stack.end - self.lowest <= KEPT_IDLE_BYTES;
            if may_keep && few {
                return true;
            }
            self.trim(self.stack.end - FIRST_ROOM);
        }
        false
    }

    /// Whether more than the first page or so is resident.
    pub(super) fn is_deep(&self) -> bool {
        self.lowest < self.stack.end - FIRST_ROOM - 2 * TRAMPOLINE
    }

    /// Gives back all whole pages below an address.
    fn trim(&mut self, below: usize) {
        let from = self.lowest & !(PAGE - 1);
        let to = below & !(PAGE - 1);
        if from >= to {
            return;
        }
        let pages = std::ptr::with_exposed_provenance_mut(from);
        // SAFETY: the pages are the stack's own, and below all that is in use on it. What they hold
        // is needed no more.
        if unsafe { madvise(pages, to - from, Advice::LinuxDontNeed) }.is_ok() {
            self.lowest = to;
        }
    }
}
