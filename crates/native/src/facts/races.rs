//! What was found: conflicts, counted by the places of their two accesses.
//!
//! A loop can race a million times between the same two lines. One pair is kept for each distinct
//! pair of places and kinds of access, with its first occurrence and all its addresses.

use crate::facts::addresses::Addresses;
use crate::facts::holding::{Holding, Taken};
use crate::facts::structure::Position;
use finishline_detect::history::Meeting;
use finishline_model::hash::{IdMap, IdSet};
use finishline_model::{AccessKind, LockId, ObjectId, TaskId};
use std::ops::Range;

/// How an access is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Manner {
    Plain,
    Atomic,
    /// The block was freed, which is a write of all of it.
    Free,
}

#[derive(Clone, Copy, Debug)]
pub struct ConflictingAccess {
    pub kind: AccessKind,
    pub manner: Manner,
    /// How long it is.
    pub bytes: u32,
    pub at: Position,
    pub task: TaskId,
    /// The locks that its task had taken.
    pub holding: Holding,
}

impl ConflictingAccess {
    fn key(&self) -> Key {
        (self.at.place, self.kind, self.manner)
    }
}

/// What an address belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Object {
    Heap {
        start: u64,
        bytes: u64,
        allocated: Position,
        task: TaskId,
    },
    /// In the frame of a function that is at this place.
    Stack { place: u64, task: TaskId },
    /// A thread-local variable.
    ThreadLocal,
    /// In none of these: a global variable, or memory that nobody told of.
    Other,
}

/// What keeps the two accesses of a pair from racing.
#[derive(Clone, Copy, Debug)]
pub enum OrderedBy {
    Lock(LockId),
    Object(ObjectId),
    /// The later task relied on what the earlier one had kept for their thread.
    Thread,
}

/// What a pair is told with: the objects as they were when it was found.
#[derive(Clone, Debug)]
pub struct Names {
    /// What the racing address belongs to.
    pub object: Object,
    pub ordered_by: Option<(OrderedBy, Object)>,
    /// The locks held at the first and at the second access.
    pub locks: [Vec<(Taken, Object)>; 2],
}

#[derive(Clone, Debug)]
pub struct ConflictingPair {
    /// The first conflict: where the two accesses overlap.
    pub overlap: Range<u64>,
    pub names: Names,
    /// Whether the two race, or what keeps them from it.
    pub meeting: Meeting,
    pub first: ConflictingAccess,
    pub second: ConflictingAccess,
    /// All addresses at which this pair races.
    pub addresses: Addresses,
}

type Key = (u64, AccessKind, Manner);

#[derive(Debug, Default)]
pub struct ConflictingPairs {
    pairs: Vec<ConflictingPair>,
    numbers: IdMap<[Key; 2], usize>,
    /// Pairs that were not kept.
    dropped: IdSet<[Key; 2]>,
    most: usize,
    addresses: Addresses,
}

impl ConflictingPairs {
    /// Keeps at most this number of pairs.
    pub fn new(most: usize) -> ConflictingPairs {
        ConflictingPairs {
            most,
            ..ConflictingPairs::default()
        }
    }

    /// Counts a conflict at these addresses; its names are asked for when the pair is new.
    pub fn add(
        &mut self,
        first: ConflictingAccess,
        second: ConflictingAccess,
        at: Range<u64>,
        meeting: Meeting,
        names: impl FnOnce() -> Names,
    ) {
        let key = [first.key(), second.key()];
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None if self.pairs.len() >= self.most => {
                self.dropped.insert(key);
                self.addresses.insert(at);
                return;
            }
            None => {
                let number = self.pairs.len();
                self.pairs.push(ConflictingPair {
                    overlap: at.clone(),
                    names: names(),
                    meeting,
                    first,
                    second,
                    addresses: Addresses::default(),
                });
                self.numbers.insert(key, number);
                number
            }
        };
        let race = &mut self.pairs[number];
        if race.overlap.end == at.start
            && race.addresses.count() == race.overlap.end - race.overlap.start
        {
            // The next cell of the same access.
            race.overlap.end = at.end;
        }
        if race.addresses.insert(at.clone()) {
            self.addresses.insert(at);
        }
    }

    /// All racing addresses.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    pub fn iter(&self) -> impl Iterator<Item = &ConflictingPair> {
        self.pairs.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.distinct() == 0
    }

    /// Grows with each pair that is kept, and with the first one in any case.
    pub fn worth_telling(&self) -> usize {
        self.pairs.len().max(self.distinct().min(1))
    }

    /// How many pairs were found, those that were not kept included.
    pub fn distinct(&self) -> usize {
        self.pairs.len() + self.dropped.len()
    }
}
