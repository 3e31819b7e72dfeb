//! What was found: conflicts counted by their two places in the program.
//!
//! A loop can race a million times between the same two lines. One race is kept for each distinct pair of places and kinds of access, with
//! its first occurrence and the number of locations.

use crate::structure::Position;
use finishline_detect::hash::{IdMap, IdSet};
use finishline_model::{AccessKind, Location, TaskId};

#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub kind: AccessKind,
    pub atomic: bool,
    /// The first address of the whole access, if it is known, and its length.
    pub bytes: u32,
    pub at: Position,
    pub task: TaskId,
}

impl Access {
    fn key(&self) -> (u64, u8) {
        (
            self.at.place,
            u8::from(self.kind == AccessKind::Write) | u8::from(self.atomic) << 1,
        )
    }
}

/// What the racing address belongs to.
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
    /// In none of these: a global variable, or memory that nobody told of.
    Other,
}

#[derive(Clone, Debug)]
pub struct Race {
    pub address: u64,
    pub object: Object,
    pub first: Access,
    pub second: Access,
    /// So many locations have this pair.
    pub locations: u64,
}

type Key = ((u64, u8), (u64, u8));

#[derive(Debug, Default)]
pub struct Races {
    races: Vec<Race>,
    numbers: IdMap<Key, usize>,
    counted: IdSet<(usize, Location)>,
    /// Pairs that were not kept.
    dropped: IdSet<Key>,
    most: usize,
}

impl Races {
    pub fn new(most: usize) -> Races {
        Races {
            most,
            ..Races::default()
        }
    }

    /// Counts a conflict; what it concerns is asked for when the pair is new.
    pub fn add(
        &mut self,
        first: Access,
        second: Access,
        location: Location,
        describe: impl FnOnce() -> (u64, Object),
    ) {
        let key = (first.key(), second.key());
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None if self.races.len() >= self.most => {
                self.dropped.insert(key);
                return;
            }
            None => {
                let (address, object) = describe();
                let number = self.races.len();
                self.races.push(Race {
                    address,
                    object,
                    first,
                    second,
                    locations: 0,
                });
                self.numbers.insert(key, number);
                number
            }
        };
        if self.counted.insert((number, location)) {
            self.races[number].locations += 1;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Race> {
        self.races.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.races.is_empty()
    }

    /// How many pairs were found and not kept.
    pub fn dropped(&self) -> usize {
        self.dropped.len()
    }
}
