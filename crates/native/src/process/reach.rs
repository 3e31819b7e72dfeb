//! Whether a block of the heap belongs to a thread: it is reachable from thread-local variables and
//! from nowhere else.
//!
//! All tasks run on one thread here, so they find the same buffer behind a thread-local variable.
//! In reality tasks on the same thread come one after the other, and other threads have other
//! buffers. So a block that is reachable only from thread-local variables is not shared, and
//! neither is a block that was so before the running task took it out of the variable.
//!
//! The search is that of a conservative collector. Any word that could be an address inside the
//! block counts: in global variables, in the frames of tasks that wait for the running one, in the
//! frames of other threads, and in other blocks. Words in frames that are left over from before the
//! block was allocated do not count.
//!
//! **What this may hide.** A block that is reachable in no other way can still be shared: through
//! an address that is not in memory as a word, or that only registers hold. A race on such a block
//! is not reported. This is the one place where a report is left out by a guess; see
//! ARCHITECTURE.md.
//!
//! The search goes through all memory, so it is made only before a race is reported.

use crate::checker::Checker;
use finishline_model::hash::IdSet;
use std::ops::Range;

/// The places where global variables are.
pub(crate) struct Globals(pub(crate) Vec<Range<u64>>);

impl Globals {
    pub(crate) fn is_private(&self, checker: &Checker, block: &Range<u64>) -> bool {
        let private = checker.thread.thread_locals.clone();
        let frames = checker.entry()..checker.thread.stack.end;
        // The thread's own variables lie in a module's range in no case, but in the block of
        // another allocation perhaps.
        let blocks = checker
            .heap
            .blocks()
            .map(|other| other.start..other.start + other.bytes);
        let elsewhere = blocks.filter(|other| other.start != block.start);
        let is_thread_local =
            checker.heap.was_thread_local(block.start) || points_into(&private, block);
        is_thread_local
            && !self.0.iter().any(|globals| points_into(globals, block))
            && pointers_into(&frames, block)
                .all(|address| checker.is_left_over(address, block.start))
            && !checker
                .other_stacks()
                .any(|stack| points_into(&stack, block))
            && !elsewhere
                .into_iter()
                .any(|other| points_into(&other, block))
    }
}

/// Where the frames of the running thread have addresses of blocks that were freed.
pub(crate) fn left_over(checker: &Checker) -> IdSet<u64> {
    let innermost = 0u64;
    let from = (&raw const innermost) as u64;
    if !checker.thread.stack.contains(&from) {
        return IdSet::default();
    }
    let words = (from.next_multiple_of(8)..checker.thread.stack.end & !7).step_by(8);
    let freed = words.filter(|address| {
        // SAFETY: the used part of the stack.
        let word = unsafe { (*address as *const u64).read_volatile() };
        checker.heap.was_freed(word)
    });
    freed.collect()
}

/// What the aligned words of a range could be addresses of.
pub(crate) fn references(range: &Range<u64>) -> Vec<u64> {
    let words = (range.start.next_multiple_of(8)..range.end & !7).step_by(8);
    // SAFETY: the range is that of global or thread-local variables, which are readable.
    let words = words.map(|address| unsafe { (address as *const u64).read_volatile() });
    words.filter(|word| *word != 0).collect()
}

/// Whether some aligned word of a range is an address inside the block.
fn points_into(range: &Range<u64>, block: &Range<u64>) -> bool {
    pointers_into(range, block).next().is_some()
}

/// Where these words are.
fn pointers_into(range: &Range<u64>, block: &Range<u64>) -> impl Iterator<Item = u64> {
    let (start, end) = (range.start.next_multiple_of(8), range.end & !7);
    (start..end).step_by(8).filter(|address| {
        // SAFETY: the ranges are global variables, the used part of the stack, and blocks that are
        // allocated: all readable. The program does not run meanwhile.
        let word = unsafe { (*address as *const u64).read_volatile() };
        block.contains(&word)
    })
}
