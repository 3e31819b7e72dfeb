//! The shadow cell of a location that all workers access: the last writer and two readers, in two
//! words.
//!
//! ```text
//! first word    stamp of the writer, version, lock bit
//! second word   stamps of the readers
//! ```
//!
//! **Invariant.** Whoever changes a cell holds its lock bit, and leaves the next version. So two
//! loads of the first word that are equal and not locked enclose a moment at which the second word
//! had the value that was read in between.
//!
//! **Who only reads changes nothing.** An access that leaves the cell as it is takes such a moment
//! and is done: readers of shared data share its cell without taking it from each other. An access
//! that changes the cell decides on a moment, too, and locks only if the first word is still the
//! same.
//!
//! **A hit rests on one word.** If the running step is among the readers, it has read the location
//! and was compared with the writer of that time. Whoever wrote since then was compared with it. In
//! the same way, if the step is the writer, nothing it does to the location can find more. So
//! compiled code looks at one word, without the version.
//!
//! **Memory ordering.** The first word is released when a change is complete and acquired before
//! anything is decided. So the rows of the order that belong to the stamps are there, too. A lock
//! is followed by a release fence, and a second look at the first word is preceded by an acquire
//! fence: whoever sees a part of a change in the second word sees the lock in the first one.

use crate::order::Stamp;
use finishline_model::AccessKind;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// All zeros if there was no access.
#[repr(C)]
#[derive(Debug, Default)]
pub struct SharedCell {
    first: AtomicU64,
    readers: AtomicU64,
}

/// Where compiled code finds the stamps: the writer in the upper half of the first word, the
/// readers in the halves of the second.
pub const READERS_OFFSET: usize = std::mem::offset_of!(SharedCell, readers);
pub const WRITER_SHIFT: u32 = 32;

const LOCKED: u64 = 1;
/// The version is what lies between the lock bit and the writer.
const NEXT_VERSION: u64 = 2;
const VERSIONS: u64 = (1 << WRITER_SHIFT) - 1;

impl SharedCell {
    /// What was remembered at one moment, and the first word then.
    #[inline]
    fn moment(&self) -> (u64, [Stamp; 3]) {
        loop {
            let first = self.first.load(Ordering::Acquire);
            let readers = self.readers.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if first & LOCKED == 0 && self.first.load(Ordering::Relaxed) == first {
                let writer = (first >> WRITER_SHIFT) as Stamp;
                return (first, [writer, readers as Stamp, (readers >> 32) as Stamp]);
            }
            spin_loop();
        }
    }

    /// Whether one word says that an access by the step with this stamp finds nothing new.
    #[inline]
    pub fn is_known(&self, kind: AccessKind, stamp: Stamp) -> bool {
        match kind {
            AccessKind::Read => {
                let readers = self.readers.load(Ordering::Relaxed);
                readers as Stamp == stamp || (readers >> 32) as Stamp == stamp
            }
            AccessKind::Write => {
                let first = self.first.load(Ordering::Relaxed);
                (first >> WRITER_SHIFT) as Stamp == stamp
            }
        }
    }

    /// Changes what is remembered by a function of it, which also says whether there is a race.
    #[inline]
    pub fn access(&self, mut transition: impl FnMut([Stamp; 3]) -> ([Stamp; 3], bool)) -> bool {
        loop {
            let (first, before) = self.moment();
            let (after, races) = transition(before);
            if after == before || self.change(first, after) {
                return races;
            }
            spin_loop();
        }
    }

    /// Changes the cell. False if somebody else has done so since the first word was read.
    fn change(&self, first: u64, [writer, one, other]: [Stamp; 3]) -> bool {
        let locked = first | LOCKED;
        let taken =
            self.first
                .compare_exchange(first, locked, Ordering::Relaxed, Ordering::Relaxed);
        if taken.is_err() {
            return false;
        }
        fence(Ordering::Release);
        let readers = u64::from(other) << 32 | u64::from(one);
        self.readers.store(readers, Ordering::Relaxed);
        let version = first.wrapping_add(NEXT_VERSION) & VERSIONS;
        let unlocked = u64::from(writer) << WRITER_SHIFT | version;
        self.first.store(unlocked, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_as_a_whole_or_not_at_all() {
        const EACH: u32 = 20_000;
        let cell = SharedCell::default();
        // The three stamps are always equal.
        let work = |worker: u32| {
            for number in 0..EACH {
                let (first, [writer, one, other]) = cell.moment();
                assert!(writer == one && one == other, "{writer} {one} {other}");
                let stamp = worker << 20 | number;
                cell.change(first, [stamp; 3]);
            }
        };
        std::thread::scope(|scope| {
            for worker in 1..4 {
                scope.spawn(move || work(worker));
            }
        });
    }

    #[test]
    fn what_has_changed_meanwhile_is_not_overwritten() {
        let cell = SharedCell::default();
        let (first, _) = cell.moment();
        assert!(cell.change(first, [1, 2, 3]));
        assert!(!cell.change(first, [4, 5, 6]));
        // The same stamps again are another version.
        let (second, stamps) = cell.moment();
        assert_eq!(stamps, [1, 2, 3]);
        assert!(cell.change(second, [1, 2, 3]));
        assert!(!cell.change(second, [1, 2, 3]));
    }
}
