//! What may still race, by lockset: the history of PTRacer [FastRacer §2.2], repaired, and ours.
//!
//! The value is a word: the steps that have written, and those that have read. A step is made under
//! the same locks throughout, so its stamp tells the locks.
//!
//! ```text
//! an access   races with a parallel conflicting one, if no lock is held at both; if one is held,
//!             they overlap
//!             is remembered, unless its step is already
//! an entry    is dropped for a later access that it precedes, that is made under some of its
//!             locks and no others, and that writes if the entry does
//!             of three with the same locks that are parallel to each other, two stand for all;
//!             or one stands for any two of them, if the order has inner nodes
//!             that stands for another access, under some of its locks and no others, is enough
//!             that precedes all that follows is dropped
//! ```
//!
//! **Why entries may be dropped.** Let e precede a, and let b come later and be parallel to e. Then
//! b is parallel to a, or e would precede b. A lock of a that b holds is a lock of e. So b meets a
//! if it meets e.
//!
//! Without locks and promises a value has at most one writer and two readers. A write that leaves
//! nobody else is the reader, too: so one comparison of the word tells that the step has written.
//! Once a location races, nothing more is to be found there, and only the last access is
//! remembered.

use super::super::cell::{OneWord, settled};
use super::super::{Meets, Now, SharedHistory, SharedOrder};
use super::stamps::{Half, Stamps};
use crate::Failure;
use crate::order::{NOBODY, Stamp};
use finishline_model::{AccessKind, LockId};

pub struct ByLockset {
    stamps: Stamps,
}

/// What one remembered access is to the present one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// It is of the same step.
    Same,
    /// It is parallel to it, and a lock is held at both, or none.
    Parallel(Option<LockId>),
    /// It precedes it, and need not be remembered beside it, or must.
    Covered,
    Precedes,
}

impl ByLockset {
    fn relation<O: SharedOrder>(&self, earlier: Stamp, now: &mut Now<'_, O>) -> Relation {
        if earlier == now.stamp {
            return Relation::Same;
        }
        if now.is_past(earlier) {
            return Relation::Covered;
        }
        let parallel = now.parallel(earlier);
        let Some(locksets) = now.order.locksets() else {
            return match parallel {
                true => Relation::Parallel(None),
                false => Relation::Covered,
            };
        };
        let [before, locks] = [earlier, now.stamp].map(|stamp| now.order.locks_of(stamp));
        match parallel {
            true => Relation::Parallel(locksets.common(before, locks)),
            false if locksets.is_subset(locks, before) => Relation::Covered,
            false => Relation::Precedes,
        }
    }

    /// Compares with the entries of a half. Those that are still to be remembered, if the access is
    /// remembered in this half or stands for its entries; and whether its step is among them.
    fn compare<O: SharedOrder>(
        &self,
        half: Half,
        conflicts: bool,
        now: &mut Now<'_, O>,
        meets: &mut Meets,
    ) -> Result<Compared, Failure> {
        let mut compared = Compared {
            half,
            has_step: false,
            is_past: false,
        };
        if half == NOBODY {
            return Ok(compared);
        }
        if Stamps::is_small(half) {
            match self.relation(half, now) {
                Relation::Same => compared.has_step = true,
                Relation::Parallel(lock) => meets.note(conflicts, lock),
                Relation::Covered => {
                    compared.half = NOBODY;
                    compared.is_past = now.is_past(half);
                }
                Relation::Precedes => {}
            }
            return Ok(compared);
        }
        let mut kept: Vec<Stamp> = Vec::new();
        let mut all = true;
        for earlier in self.stamps.of(half) {
            match self.relation(earlier, now) {
                Relation::Same => compared.has_step = true,
                Relation::Parallel(lock) => meets.note(conflicts, lock),
                Relation::Covered => {
                    all = false;
                    continue;
                }
                Relation::Precedes => {}
            }
            kept.push(earlier);
        }
        if !all {
            compared.half = self.stamps.collect(&kept)?;
        }
        Ok(compared)
    }

    /// Whether an entry stands for the present access in every respect, if it writes when the
    /// access does. What is past never does: so a word that a read leaves as it is was changed in
    /// this [phase](super::super::phases), and its object is recorded.
    #[inline]
    fn has_enough<O: SharedOrder>(&self, half: Half, now: &Now<'_, O>) -> bool {
        let order = now.order;
        self.stamps.of(half).any(|earlier| {
            earlier == now.stamp
                || !now.is_past(earlier) && order.stands_for(earlier, now.stamp) && {
                    let [few, many] = [earlier, now.stamp].map(|stamp| order.locks_of(stamp));
                    (order.locksets()).is_none_or(|locksets| locksets.is_subset(few, many))
                }
        })
    }

    /// A half with the present step.
    fn with_step<O: SharedOrder>(
        &self,
        compared: Compared,
        now: &mut Now<'_, O>,
    ) -> Result<Half, Failure> {
        let Compared { half, has_step, .. } = compared;
        if has_step || self.has_enough(half, now) {
            return Ok(half);
        }
        // If one with the same locks precedes, it was dropped. So these are parallel to the step
        // and to each other.
        let locks = now.order.locks_of(now.stamp);
        let alike = |stamp: &Stamp| now.order.locks_of(*stamp) == locks;
        let mut same = self.stamps.of(half).filter(alike);
        let Some(one) = same.next() else {
            return self.put(half, NOBODY, now.stamp, now.order);
        };
        if let Some(both) = now.order.both(now.memo, now.strand, one)? {
            return self.put(half, one, both, now.order);
        }
        let two = (same.next()).and_then(|other| {
            let two = now.order.two_of_three([one, other, now.stamp])?;
            Some((two, if two.contains(&one) { other } else { one }))
        });
        match two {
            None => self.put(half, NOBODY, now.stamp, now.order),
            Some((two, _)) if !two.contains(&now.stamp) => Ok(half),
            Some((_, dropped)) => self.put(half, dropped, now.stamp, now.order),
        }
    }

    /// A half with another stamp, without one that it stands for, and without those that it stands
    /// for in every respect.
    fn put<O: SharedOrder>(
        &self,
        half: Half,
        dropped: Stamp,
        stamp: Stamp,
        order: &O,
    ) -> Result<Half, Failure> {
        let locks = order.locks_of(stamp);
        let is_left = |earlier: &Stamp| {
            *earlier != dropped
                && !order.locksets().is_some_and(|locksets| {
                    locksets.is_subset(locks, order.locks_of(*earlier))
                        && order.stands_for(stamp, *earlier)
                })
        };
        let left: Vec<Stamp> = self.stamps.of(half).filter(is_left).collect();
        if left.len() == self.stamps.of(half).count() {
            return Ok(self.stamps.with(half, stamp)?);
        }
        let left = self.stamps.collect(&left)?;
        Ok(self.stamps.with(left, stamp)?)
    }
}

impl Meets {
    fn note(&mut self, conflicts: bool, lock: Option<LockId>) {
        if conflicts {
            match lock {
                None => self.race = true,
                Some(LockId::ISOLATED) => self.isolated = true,
                Some(_) => self.overlap = true,
            }
        }
    }
}

/// What is left of a half.
#[derive(Clone, Copy)]
struct Compared {
    half: Half,
    has_step: bool,
    /// Whether it has one entry, and that precedes all that follows.
    is_past: bool,
}

impl<O: SharedOrder> SharedHistory<O> for ByLockset {
    type Cell = OneWord;

    fn new() -> Result<Self, Failure> {
        let stamps = Stamps::new()?;
        Ok(ByLockset { stamps })
    }

    fn access(&self, word: u64, now: &mut Now<'_, O>) -> Result<(u64, Meets), Failure> {
        let [writers, readers] = [word as Half, (word >> 32) as Half];
        let writes = now.kind == AccessKind::Write;
        let mut meets = Meets::default();
        let written = self.compare(writers, true, now, &mut meets)?;
        if !writes && !meets.race && (written.has_step || self.has_enough(readers, now)) {
            return Ok((word, meets));
        }
        // The writer of a settled word is its reader, too.
        let read = match readers == writers {
            true => written,
            false => self.compare(readers, writes, now, &mut meets)?,
        };
        if meets.race {
            return Ok((settled(now.stamp), meets));
        }
        let (writers, readers) = match now.kind {
            // As the word changes, what is past goes.
            AccessKind::Read if written.is_past => (NOBODY, self.with_step(read, now)?),
            AccessKind::Read => (writers, self.with_step(read, now)?),
            AccessKind::Write => {
                let readers = match read.half {
                    NOBODY => now.stamp,
                    half => half,
                };
                (self.with_step(written, now)?, readers)
            }
        };
        Ok((u64::from(readers) << 32 | u64::from(writers), meets))
    }

    fn used_bytes(&self) -> usize {
        self.stamps.used_bytes()
    }
}
