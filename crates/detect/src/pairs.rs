//! Races counted by their two accesses in the source.
//!
//! A loop can race a million times between the same two lines. One pair is kept for each distinct
//! (first access, second access, apparent or not), with its first occurrence, the number of
//! occurrences and the locations. So memory is bounded by pairs × racing locations, not by the
//! length of the run.

use crate::table::{TableError, make_room};
use finishline_model::hash::{IdMap, IdSet};
use finishline_model::{AccessId, Location, LockId, Race};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RacePair {
    /// The first occurrence in the run.
    pub race: Race,
    pub occurrences: u64,
    /// Where the two accesses race, in order of discovery.
    pub locations: Vec<Location>,
}

/// What tells pairs apart: both accesses, and what keeps them apart.
type Distinct = (AccessId, AccessId, bool, Option<LockId>);

/// Distinct pairs, in order of discovery.
#[derive(Clone, Debug, Default)]
pub struct RacePairs {
    pairs: Vec<RacePair>,
    numbers: IdMap<Distinct, usize>,
    places: IdSet<(usize, Location)>,
}

const TABLE: &str = "racing pairs";

impl RacePairs {
    pub fn add(&mut self, race: Race) -> Result<(), TableError> {
        let number = self.number(race)?;
        let pair = &mut self.pairs[number];
        make_room(&mut pair.locations, 1, TABLE)?;
        let place = (number, race.location);
        let next = self.places.len();
        let refused = |_| TableError::refused::<(usize, Location)>(TABLE, next + 1);
        self.places.try_reserve(1).map_err(refused)?;
        pair.occurrences += 1;
        if self.places.insert(place) {
            pair.locations.push(race.location);
        }
        Ok(())
    }

    /// Adds pairs found at other locations in another run.
    pub fn merge(&mut self, other: RacePairs) -> Result<(), TableError> {
        for RacePair {
            race,
            occurrences,
            locations,
        } in other.pairs
        {
            let number = self.number(race)?;
            let pair = &mut self.pairs[number];
            make_room(&mut pair.locations, locations.len(), TABLE)?;
            pair.occurrences += occurrences;
            pair.locations.extend(locations);
        }
        Ok(())
    }

    /// The number of the pair that this race is an occurrence of.
    fn number(&mut self, race: Race) -> Result<usize, TableError> {
        let key = (
            race.first.access,
            race.second.access,
            race.ordered_by_isolation,
            race.excluded_by,
        );
        let next = self.pairs.len();
        make_room(&mut self.pairs, 1, TABLE)?;
        let refused = |_| TableError::refused::<(Distinct, usize)>(TABLE, next + 1);
        self.numbers.try_reserve(1).map_err(refused)?;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.pairs.push(RacePair {
                race,
                occurrences: 0,
                locations: Vec::new(),
            });
        }
        Ok(number)
    }

    pub fn as_slice(&self) -> &[RacePair] {
        &self.pairs
    }

    pub fn into_vec(self) -> Vec<RacePair> {
        self.pairs
    }

    pub fn clear(&mut self) {
        self.pairs.clear();
        self.numbers.clear();
        self.places.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use finishline_model::{AccessKind, AccessPoint, TaskId};

    /// The result is the same as if all locations had been followed at once, except for the order.
    #[test]
    fn pairs_found_apart_are_merged() {
        let race = |location, second| {
            let point = |task, access| AccessPoint {
                task: TaskId(task),
                access: AccessId(access),
                kind: AccessKind::Write,
                isolated: false,
            };
            Race {
                location: Location(location),
                first: point(1, 10),
                second: point(2, second),
                ordered_by_isolation: false,
                excluded_by: None,
            }
        };
        let found = |races: &[(u64, u32)]| {
            let mut pairs = RacePairs::default();
            for &(location, second) in races {
                pairs.add(race(location, second)).unwrap();
            }
            pairs
        };
        let mut pairs = found(&[(1, 20), (2, 20), (1, 20)]);
        pairs.merge(found(&[(4, 30), (3, 20)])).unwrap();
        let all = found(&[(1, 20), (2, 20), (1, 20), (3, 20), (4, 30)]);
        assert_eq!(pairs.into_vec(), all.into_vec());
    }

    #[test]
    fn counts_occurrences_and_places_of_distinct_pairs() {
        let point = |task, access, kind| AccessPoint {
            task: TaskId(task),
            access: AccessId(access),
            kind,
            isolated: false,
        };
        let race = |location, task, apparent| Race {
            location: Location(location),
            first: point(1, 10, AccessKind::Write),
            second: point(task, 20, AccessKind::Read),
            ordered_by_isolation: apparent,
            excluded_by: None,
        };
        let mut pairs = RacePairs::default();
        for (location, task, apparent) in [
            (5, 2, false),
            (4, 2, false),
            (5, 3, false),
            (5, 2, true),
            (4, 3, false),
        ] {
            pairs.add(race(location, task, apparent)).unwrap();
        }
        let [real, apparent] = pairs.as_slice() else {
            panic!("{pairs:?}")
        };
        assert_eq!(real.race, race(5, 2, false), "the first occurrence");
        assert_eq!(
            (real.occurrences, &real.locations[..]),
            (4, &[Location(5), Location(4)][..])
        );
        assert!(apparent.race.ordered_by_isolation);
        assert_eq!(apparent.occurrences, 1);
    }
}
