//! Accesses to cells of one word in a row, while other workers may change them.
//!
//! Neighbours most often remember the same accesses, so the same becomes of them. Many of them are
//! changed in a [span](finishline_detect::parallel::spans). Of few, two are replaced together where
//! they can be: it takes no longer than one.

use super::super::context::Context;
use super::alike;
use finishline_detect::order::Stamp;
use finishline_detect::parallel::spans::{Calm, OwnSpan};
use finishline_model::AccessKind;
use std::arch::asm;
use std::ops::Range;
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

/// What becomes of a cell.
enum Next {
    /// It stays as it is, and so do as many in all.
    Stays(usize),
    Changes {
        word: u64,
        after: u64,
    },
}

/// A worker opens a span for so many cells: it costs as much as replacing some of them. Tests have
/// many spans.
const LONG: usize = match cfg!(any(test, debug_assertions)) {
    true => 4,
    false => 32,
};

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

    /// What becomes of the first of these cells, and how many have the same before them.
    #[inline]
    fn next(&self, cells: &[AtomicU64]) -> Option<Next> {
        let word = cells.first()?.load(Ordering::Relaxed);
        if word & self.mask == self.mine {
            return Some(Next::Stays(alike::prefix(cells, self.mask, self.mine)));
        }
        match self.after(word)? {
            after if after == word => Some(Next::Stays(alike::prefix(cells, u64::MAX, word))),
            after => Some(Next::Changes { word, after }),
        }
    }

    /// The number of cells, from the first on, for which the access is done. What is known of spans
    /// is `calm`.
    #[inline]
    pub(super) fn access(
        &self,
        cells: &[AtomicU64],
        own: Option<OwnSpan>,
        calm: &mut Calm,
    ) -> usize {
        let Some(own) = own else { return 0 };
        loop {
            *calm = own.spans.wait(addresses(cells), *calm);
            let (done, has_replaced) = self.pass(cells, own);
            if !has_replaced || own.spans.were_closed_since(*calm) {
                return done;
            }
        }
    }

    /// The same once, and whether a cell was replaced otherwise than in a span.
    #[inline]
    fn pass(&self, cells: &[AtomicU64], own: OwnSpan) -> (usize, bool) {
        let by_two = is_x86_feature_detected!("cmpxchg16b");
        let (mut done, mut has_replaced, mut may_open) = (0, false, true);
        while let Some(next) = self.next(&cells[done..]) {
            let left = &cells[done..];
            match next {
                Next::Stays(count) => done += count,
                Next::Changes { .. } if may_open && left.len() >= LONG => {
                    may_open = own.spans.open(own.worker, &addresses(left));
                    if may_open {
                        done += self.store(left);
                        own.spans.close(own.worker);
                        // The next one is not known.
                        break;
                    }
                }
                Next::Changes { word, after } => match self.replace(left, word, after, by_two) {
                    0 => break,
                    replaced => {
                        done += replaced;
                        has_replaced = true;
                    }
                },
            }
        }
        (done, has_replaced)
    }

    /// Accesses cells of an open span as far as it is known what becomes of them. How many.
    fn store(&self, cells: &[AtomicU64]) -> usize {
        let mut done = 0;
        while let Some(next) = self.next(&cells[done..]) {
            match next {
                Next::Stays(count) => done += count,
                Next::Changes { word, after } => {
                    let count = alike::prefix(&cells[done..], u64::MAX, word);
                    alike::fill(&cells[done..done + count], after);
                    done += count;
                }
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

/// Where cells are.
fn addresses(cells: &[AtomicU64]) -> Range<u64> {
    let Range { start, end } = cells.as_ptr_range();
    start.addr() as u64..end.addr() as u64
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
    use finishline_detect::parallel::spans::Spans;

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

    /// Rows of all kinds of cells, some longer than those for which a span is opened. One worker
    /// may open it, the other one may not.
    #[test]
    fn cells_are_accessed_up_to_the_first_that_is_not_known() {
        const PAST: u64 = 3 << 32 | 4;
        const ANOTHER_PAST: u64 = 4 << 32 | 1;
        const MINE: u64 = 9 << 32;
        const BEFORE: u64 = 7 << 32 | 6;
        const AFTER: u64 = 8 << 32 | 6;
        const UNKNOWN: u64 = 20 << 32 | 3;
        const WORDS: [u64; 6] = [PAST, ANOTHER_PAST, MINE, BEFORE, AFTER, UNKNOWN];
        const LONGEST: u32 = 6;
        const { assert!(LONG < LONGEST as usize) };
        let row = InARow {
            mask: u64::from(Stamp::MAX) << 32,
            mine: MINE,
            past: 5,
            outcome: [BEFORE, AFTER],
        };
        let spans = Spans::new(1);
        for length in 0..=LONGEST {
            for number in 0..WORDS.len().pow(length) {
                let digit = |place| number / WORDS.len().pow(place) % WORDS.len();
                let before: Vec<u64> = (0..length).map(|place| WORDS[digit(place)]).collect();
                let is_known = |word: &u64| ![UNKNOWN, AFTER].contains(word);
                let known = before.iter().take_while(|word| is_known(word)).count();
                let mut expected = before.clone();
                for word in &mut expected[..known] {
                    *word = if *word == BEFORE { AFTER } else { MINE };
                }
                for worker in [0, 1] {
                    let cells: Vec<AtomicU64> =
                        before.iter().copied().map(AtomicU64::new).collect();
                    let own = OwnSpan {
                        spans: &spans,
                        worker,
                    };
                    let mut calm = Calm::UNKNOWN;
                    let done = row.access(&cells, Some(own), &mut calm);
                    let after: Vec<u64> = cells.into_iter().map(AtomicU64::into_inner).collect();
                    assert_eq!((done, &after), (known, &expected), "{before:x?}");
                }
            }
        }
    }
}
