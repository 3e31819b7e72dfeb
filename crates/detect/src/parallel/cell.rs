//! The shadow cell of a location, which all workers access.
//!
//! **Who only reads changes nothing.** An access that leaves the value as it is has looked at it at
//! one moment, and is done: readers of shared data share its cell without taking it from each
//! other. An access that changes the value decides on such a moment, too, and replaces the value
//! only if it is still the same.
//!
//! **A hit rests on one word.** If the running step is remembered as a reader, it has read the
//! location and was compared with the writers of that time. Whoever wrote since then was compared
//! with it. In the same way, if the step is the writer, nothing it does to the location can find
//! more. So compiled code looks at one word.
//!
//! # One word
//!
//! ```text
//! lower half    the writers
//! upper half    the readers
//! ```
//!
//! The value is replaced by a compare-and-swap. A value that comes back is the same value: what
//! halves refer to never changes. **Memory ordering.** The swap releases and a load acquires, so
//! whoever sees a value sees the rows that it refers to.
//!
//! # Three stamps
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
//! **Memory ordering.** The first word is released when a change is complete and acquired before
//! anything is decided. So the rows of the order that belong to the stamps are there, too. A lock
//! is followed by a release fence, and a second look at the first word is preceded by an acquire
//! fence: whoever sees a part of a change in the second word sees the lock in the first one.

use crate::atomics::{AtomicU64, Ordering, fence, spin_loop};
use crate::order::Stamp;
use crate::table::Zeroed;
use finishline_model::AccessKind;
use std::fmt::Debug;

/// A cell that all workers access. All zeros if there was no access.
pub trait AtomicCell: Sync {
    type Value: Zeroed + Eq + Debug + Send;

    /// Whether one word says that an access by the step with this stamp finds nothing new.
    fn is_known(&self, kind: AccessKind, stamp: Stamp) -> bool;

    /// The value at one moment, to decide on and to [replace](Self::replace).
    fn look(&self) -> Seen<Self::Value>;

    /// Replaces the value that was seen. False if somebody else has done so.
    fn replace(&self, seen: Seen<Self::Value>, after: Self::Value) -> bool;

    /// A number by which values are told apart quickly.
    fn mix(value: Self::Value) -> Stamp;

    /// The word of a cell with this value, if the cell is one word.
    fn word(_: Self::Value) -> Option<u64> {
        None
    }
}

/// A value at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Seen<V> {
    pub value: V,
    /// What the cell had beside it.
    first: u64,
}

/// Writers and readers in the halves of a word.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct OneWord(AtomicU64);

impl OneWord {
    /// By so many bits the upper half is turned where values are mixed.
    pub const TURN: u32 = 3;
}

/// The word of a location that one step has written, and nobody else accesses.
pub const fn settled(stamp: Stamp) -> u64 {
    (stamp as u64) << 32 | stamp as u64
}

impl AtomicCell for OneWord {
    type Value = u64;

    #[inline]
    fn is_known(&self, kind: AccessKind, stamp: Stamp) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        match kind {
            AccessKind::Read => (word >> 32) as Stamp == stamp,
            AccessKind::Write => word == settled(stamp),
        }
    }

    #[inline]
    fn look(&self) -> Seen<u64> {
        Seen {
            value: self.0.load(Ordering::Acquire),
            first: 0,
        }
    }

    #[inline]
    fn replace(&self, seen: Seen<u64>, after: u64) -> bool {
        let replaced =
            self.0
                .compare_exchange(seen.value, after, Ordering::Release, Ordering::Relaxed);
        replaced.is_ok()
    }

    #[inline]
    fn mix(value: u64) -> Stamp {
        value as Stamp ^ ((value >> 32) as Stamp).rotate_left(Self::TURN)
    }

    #[inline]
    fn word(value: u64) -> Option<u64> {
        Some(value)
    }
}

/// A writer and two readers, in two words.
#[repr(C)]
#[derive(Debug, Default)]
pub struct ThreeStamps {
    first: AtomicU64,
    readers: AtomicU64,
}

/// Where compiled code finds the stamps: the writer in the upper half of the first word, the
/// readers in the halves of the second.
pub const READERS_OFFSET: usize = std::mem::offset_of!(ThreeStamps, readers);
pub const WRITER_SHIFT: u32 = 32;

const LOCKED: u64 = 1;
/// The version is what lies between the lock bit and the writer.
const NEXT_VERSION: u64 = 2;
const VERSIONS: u64 = (1 << WRITER_SHIFT) - 1;

impl AtomicCell for ThreeStamps {
    type Value = [Stamp; 3];

    #[inline]
    fn is_known(&self, kind: AccessKind, stamp: Stamp) -> bool {
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

    #[inline]
    fn look(&self) -> Seen<[Stamp; 3]> {
        loop {
            let first = self.first.load(Ordering::Acquire);
            let readers = self.readers.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if first & LOCKED == 0 && self.first.load(Ordering::Relaxed) == first {
                let writer = (first >> WRITER_SHIFT) as Stamp;
                let value = [writer, readers as Stamp, (readers >> 32) as Stamp];
                return Seen { value, first };
            }
            spin_loop();
        }
    }

    fn replace(&self, seen: Seen<[Stamp; 3]>, [writer, one, other]: [Stamp; 3]) -> bool {
        let (first, locked) = (seen.first, seen.first | LOCKED);
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

    #[inline]
    fn mix([writer, one, other]: [Stamp; 3]) -> Stamp {
        writer ^ one.rotate_left(3) ^ other.rotate_left(5)
    }
}
