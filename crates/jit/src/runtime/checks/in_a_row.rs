//! Accesses to cells of one word in a row, while other workers may change them.
//!
//! Neighbours most often remember the same accesses, so the same becomes of them. Two of them are
//! replaced together where they can be: it takes no longer than one.

use super::super::context::Context;
use super::alike;
use finishline_detect::order::Stamp;
use finishline_model::AccessKind;
use std::arch::x86_64::cmpxchg16b;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is known of accesses of one kind by one step.
pub(super) struct InARow {
    /// Cells of which the step has made one before are `mine` where the mask has bits.
    mask: u64,
    mine: u64,
    /// Both halves of cells that have only past accesses are below this one.
    past: Stamp,
    /// What becomes of those.
    alone: u64,
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
        let reader = u64::from(limits.me) << 32;
        let (mask, mine) = match kind {
            AccessKind::Read => (u64::from(Stamp::MAX) << 32, reader),
            AccessKind::Write => (u64::MAX, limits.settled),
        };
        InARow {
            mask,
            mine,
            past: context.past,
            alone: mine,
            outcome,
        }
    }

    /// What becomes of a word, if that is known.
    #[inline]
    fn after(&self, word: u64) -> Option<u64> {
        let [before, after] = self.outcome;
        if (word as Stamp) < self.past && ((word >> 32) as Stamp) < self.past {
            Some(self.alone)
        } else {
            (word == before).then_some(after)
        }
    }

    /// The number of cells, from the first on, for which the access is done.
    #[inline]
    pub(super) fn access(&self, cells: &[AtomicU64]) -> usize {
        match is_x86_feature_detected!("cmpxchg16b") {
            // SAFETY: the processor has the instruction.
            true => unsafe { self.access_by_two(cells) },
            false => self.access_with(cells, Self::replace_one),
        }
    }

    #[target_feature(enable = "cmpxchg16b")]
    fn access_by_two(&self, cells: &[AtomicU64]) -> usize {
        self.access_with(cells, |row, cells, word, after| {
            row.replace_two(cells, word, after)
        })
    }

    /// The same, with a function that replaces some cells from the first on, if that has this word,
    /// and tells how many.
    #[inline(always)]
    fn access_with(
        &self,
        cells: &[AtomicU64],
        replace: impl Fn(&Self, &[AtomicU64], u64, u64) -> usize,
    ) -> usize {
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
                Some(after) => match replace(self, left, word, after) {
                    0 => break,
                    replaced => done += replaced,
                },
            }
        }
        done
    }

    #[inline]
    fn replace_one(&self, cells: &[AtomicU64], word: u64, after: u64) -> usize {
        let replaced = cells[0].compare_exchange(word, after, Ordering::Release, Ordering::Relaxed);
        usize::from(replaced.is_ok())
    }

    /// With the second cell, if it is known what becomes of it.
    #[target_feature(enable = "cmpxchg16b")]
    #[inline]
    fn replace_two(&self, cells: &[AtomicU64], word: u64, after: u64) -> usize {
        if let [first, second, ..] = cells
            && (&raw const *first).addr().is_multiple_of(size_of::<u128>())
            && let other = second.load(Ordering::Relaxed)
            && let Some(after_other) = self.after(other)
        {
            let (before, after) = (together(word, other), together(after, after_other));
            let two = (&raw const *first).cast_mut().cast::<u128>();
            // SAFETY: the two cells are there and aligned, and only touched by atomic operations.
            let found =
                unsafe { cmpxchg16b(two, before, after, Ordering::AcqRel, Ordering::Relaxed) };
            if found == before {
                return 2;
            }
        }
        self.replace_one(cells, word, after)
    }
}

/// Two words as one.
#[inline(always)]
fn together(first: u64, second: u64) -> u128 {
    u128::from(second) << 64 | u128::from(first)
}
