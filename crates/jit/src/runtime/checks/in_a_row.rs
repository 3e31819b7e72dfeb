//! Accesses to cells of one word in a row, while other workers may change them.
//!
//! Neighbours most often remember the same accesses, so the same becomes of them. Two of them are
//! replaced together where they can be: it takes no longer than one.

use super::super::context::Context;
use super::alike;
use finishline_detect::order::Stamp;
use finishline_model::AccessKind;
use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is known of accesses of one kind by one step.
pub(super) struct InARow {
    /// Cells of which the step has made one before are `mine` where the mask has bits.
    mask: u64,
    mine: u64,
    /// Both halves of cells that have only past accesses are below this one. They become `mine`.
    past: Stamp,
    /// A cell, and what becomes of it.
    outcome: [u64; 2],
}

/// No cell is like that.
pub(super) const NO_OUTCOME: [u64; 2] = [u64::MAX; 2];

impl InARow {
    /// The worker has decided on a cell with this outcome, so it knows what the word refers to.
    #[inline]
    pub(super) fn of(kind: AccessKind, context: &Context, outcome: [u64; 2]) -> InARow {
        let limits = &context.fast.limits;
        let (mask, mine) = match kind {
            AccessKind::Read => (u64::from(Stamp::MAX) << 32, u64::from(limits.me) << 32),
            AccessKind::Write => (u64::MAX, limits.settled),
        };
        InARow {
            mask,
            mine,
            past: context.past,
            outcome,
        }
    }

    /// What becomes of a word, if that is known.
    #[inline]
    fn after(&self, word: u64) -> Option<u64> {
        let [before, after] = self.outcome;
        if (word as Stamp) < self.past && ((word >> 32) as Stamp) < self.past {
            Some(self.mine)
        } else {
            (word == before).then_some(after)
        }
    }

    /// The number of cells, from the first on, for which the access is done.
    #[inline]
    pub(super) fn access(&self, cells: &[AtomicU64]) -> usize {
        let by_two = is_x86_feature_detected!("cmpxchg16b");
        let mut done = 0;
        while let Some(first) = cells.get(done) {
            let left = &cells[done..];
            let word = first.load(Ordering::Relaxed);
            if word & self.mask == self.mine {
                done += alike::prefix(left, self.mask, self.mine);
                continue;
            }
            match self.after(word) {
                None => break,
                Some(after) if after == word => done += alike::prefix(left, u64::MAX, word),
                Some(after) => match self.replace(left, word, after, by_two) {
                    0 => break,
                    replaced => done += replaced,
                },
            }
        }
        done
    }

    /// Replaces the first cell if it has this word, and with it the second one if it is known what
    /// becomes of that. Tells how many it has replaced.
    #[inline]
    fn replace(&self, cells: &[AtomicU64], word: u64, after: u64, by_two: bool) -> usize {
        if by_two
            && let [first, second, ..] = cells
            && (&raw const *first).addr().is_multiple_of(2 * size_of::<u64>())
            && let other = second.load(Ordering::Relaxed)
            && let Some(after_other) = self.after(other)
            // SAFETY: the processor can, and the cells are neighbours, the first one aligned.
            && unsafe { replace_two([first, second], [word, other], [after, after_other]) }
        {
            return 2;
        }
        let replaced = cells[0].compare_exchange(word, after, Ordering::Release, Ordering::Relaxed);
        usize::from(replaced.is_ok())
    }
}

/// Replaces two neighbours, if they have these words. It acquires and releases.
///
/// # Safety
///
/// The processor must have the instruction. The second one must come right after the first one,
/// which must be aligned to 16 bytes.
#[inline]
unsafe fn replace_two(
    [first, _second]: [&AtomicU64; 2],
    before: [u64; 2],
    after: [u64; 2],
) -> bool {
    let replaced: u8;
    // SAFETY: it touches the two cells, and nothing else. The compiler keeps a register for itself
    // that the instruction needs: it is put back.
    unsafe {
        asm!(
            "xchg rsi, rbx",
            "lock cmpxchg16b [rdi]",
            "sete r8b",
            "mov rbx, rsi",
            in("rdi") first.as_ptr(),
            inout("rsi") after[0] => _,
            in("rcx") after[1],
            inout("rax") before[0] => _,
            inout("rdx") before[1] => _,
            out("r8b") replaced,
            options(nostack),
        );
    }
    replaced != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(16))]
    struct Aligned([AtomicU64; 2]);

    #[test]
    fn two_cells_are_replaced_if_both_are_as_expected() {
        if !is_x86_feature_detected!("cmpxchg16b") {
            return;
        }
        for (before, is_replaced) in [([1, 2], true), ([1, 3], false), ([3, 2], false)] {
            let cells = Aligned([1, 2].map(AtomicU64::new));
            let [first, second] = &cells.0;
            // SAFETY: the processor can, and the cells are neighbours, the first one aligned.
            let replaced = unsafe { replace_two([first, second], before, [u64::MAX, 7]) };
            assert_eq!(replaced, is_replaced);
            let expected = if is_replaced { [u64::MAX, 7] } else { [1, 2] };
            assert_eq!(cells.0.map(AtomicU64::into_inner), expected);
        }
    }
}
