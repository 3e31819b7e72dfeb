//! The sets of locks that accesses of a parallel run are made under.
//!
//! Most sets have one lock, and their number tells which. The others are kept once, sorted. They
//! are found and added under a mutex, and read without one.
//!
//! A task is protected by the locks that it takes itself and by no others: in Fin no finish begins
//! under a lock, and a new task holds none. An isolated block is a lock of its own.

use super::rows::Rows;
use crate::lock_order::LockOrder;
use crate::table::{TableError, make_room_in};
use finishline_model::hash::IdMap;
use finishline_model::{LockId, TaskId};
use std::sync::{Mutex, PoisonError};

/// A set of locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lockset(pub(super) u32);

impl Lockset {
    pub const NONE: Lockset = Lockset(0);

    /// The lock of a set that has one.
    fn only(self) -> Option<LockId> {
        let lock = match self.0 & !ONE {
            ISOLATED => LockId::ISOLATED.0,
            number => number,
        };
        (self.0 & ONE != 0).then_some(LockId(lock))
    }
}

/// The set has one lock, and the other bits are its number.
const ONE: u32 = 1 << 31;
const ISOLATED: u32 = ONE - 1;
/// Rows for all sets with several locks together.
const MOST_WORDS: usize = 1 << 31;

pub struct Locksets {
    /// From the number of a set on: how many locks it has, and the locks in order.
    words: Rows<1>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    numbers: IdMap<Box<[LockId]>, Lockset>,
    order: LockOrder,
}

impl Locksets {
    pub fn new() -> Result<Self, TableError> {
        let words = Rows::reserve("sets of locks", MOST_WORDS)?;
        // The empty set.
        words.add([0])?;
        Ok(Locksets {
            words,
            known: Mutex::default(),
        })
    }

    fn locks(&self, set: Lockset) -> impl Iterator<Item = LockId> {
        let only = set.only();
        let count = match only {
            Some(_) => 1,
            None => self.words.get(set.0)[0],
        };
        (0..count)
            .map(move |place| only.unwrap_or_else(|| LockId(self.words.get(set.0 + 1 + place)[0])))
    }

    fn number(&self, locks: &[LockId], known: &mut Known) -> Result<Lockset, TableError> {
        match locks {
            [] => return Ok(Lockset::NONE),
            [LockId::ISOLATED] => return Ok(Lockset(ONE | ISOLATED)),
            [lock] if lock.0 < ISOLATED => return Ok(Lockset(ONE | lock.0)),
            _ => {}
        }
        if let Some(&number) = known.numbers.get(locks) {
            return Ok(number);
        }
        make_room_in(&mut known.numbers, "sets of locks")?;
        let number = self.words.take(locks.len() + 1)?;
        self.words.put(number, [locks.len() as u32]);
        for (place, lock) in (1..).zip(locks) {
            self.words.put(number + place, [lock.0]);
        }
        known.numbers.insert(locks.into(), Lockset(number));
        Ok(Lockset(number))
    }

    /// The set with another lock, which the task takes now.
    pub fn with(&self, set: Lockset, task: TaskId, lock: LockId) -> Result<Lockset, TableError> {
        if set == Lockset::NONE {
            return self.number(&[lock], &mut Known::default());
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.order.taken(task, self.locks(set), lock)?;
        let mut locks: Vec<LockId> = self.locks(set).chain([lock]).collect();
        locks.sort_unstable();
        locks.dedup();
        self.number(&locks, &mut known)
    }

    pub fn without(&self, set: Lockset, lock: LockId) -> Result<Lockset, TableError> {
        if set.only().is_some() {
            return Ok(Lockset::NONE);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let locks: Vec<LockId> = self.locks(set).filter(|held| *held != lock).collect();
        self.number(&locks, &mut known)
    }

    /// A lock of both sets. Isolation only if there is no other.
    #[inline]
    pub fn common(&self, a: Lockset, b: Lockset) -> Option<LockId> {
        if a == Lockset::NONE || b == Lockset::NONE {
            return None;
        }
        let common = |lock: &LockId| self.locks(b).any(|other| other == *lock);
        self.locks(a).filter(common).min()
    }

    /// Whether each lock of the first set is in the second one.
    #[inline]
    pub fn is_subset(&self, few: Lockset, many: Lockset) -> bool {
        few == Lockset::NONE
            || few == many
            || self
                .locks(few)
                .all(|lock| self.locks(many).any(|it| it == lock))
    }

    /// Whether several tasks took locks in such orders that they might wait for each other.
    pub fn have_cycle(&self) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.order.has_cycle()
    }

    pub fn used_bytes(&self) -> usize {
        self.words.used_bytes()
    }
}
