//! The locks that a task holds, and where it took each, as one small number.
//!
//! Remembered accesses carry this number. A holding is an earlier holding plus one lock taken at
//! one place. Each is kept once, so a loop that takes the same locks at the same places has one
//! number. There are at most as many holdings as nestings of places, times the locks taken there.

use crate::facts::structure::Position;
use finishline_model::LockId;
use finishline_model::hash::IdMap;

/// A lock that was taken, and where.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Taken {
    pub lock: LockId,
    pub at: Position,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Holding(u32);

impl Holding {
    pub const NOTHING: Holding = Holding(0);
}

#[derive(Debug, Default)]
pub struct Holdings {
    /// By holding, that of nothing left out: the one before, and what was taken then.
    taken: Vec<(Holding, Taken)>,
    numbers: IdMap<(Holding, Taken), Holding>,
}

impl Holdings {
    pub fn with(&mut self, before: Holding, taken: Taken) -> Holding {
        *self.numbers.entry((before, taken)).or_insert_with(|| {
            self.taken.push((before, taken));
            Holding(self.taken.len() as u32)
        })
    }

    /// The locks, the one taken first coming first.
    pub fn taken(&self, holding: Holding) -> Vec<Taken> {
        let entry = |Holding(number): Holding| Some(self.taken[number.checked_sub(1)? as usize]);
        let entries = std::iter::successors(entry(holding), |(before, _)| entry(*before));
        let mut taken: Vec<Taken> = entries.map(|(_, taken)| taken).collect();
        taken.reverse();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::calls::ROOT;

    fn taken(lock: u32, place: u64) -> Taken {
        let at = Position { place, calls: ROOT };
        let lock = LockId(lock);
        Taken { lock, at }
    }

    #[test]
    fn the_same_locks_taken_at_the_same_places_are_one_holding() {
        let all = &mut Holdings::default();
        assert_eq!(all.taken(Holding::NOTHING), []);
        let outer = all.with(Holding::NOTHING, taken(1, 10));
        let both = all.with(outer, taken(2, 20));
        assert_eq!(all.taken(both), [taken(1, 10), taken(2, 20)]);
        assert_eq!(all.with(outer, taken(2, 20)), both);
        for other in [taken(2, 10), taken(1, 20)] {
            assert_ne!(all.with(outer, other), both);
        }
        assert_ne!(all.with(Holding::NOTHING, taken(2, 20)), both);
    }
}
