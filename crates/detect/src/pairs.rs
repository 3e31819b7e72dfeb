//! Races counted by their two accesses of the source.
//!
//! A loop can race a million times between the same two lines. One pair is kept for each distinct
//! (first access, second access, apparent or not), with its first occurrence, the number of occurrences
//! and the locations: memory is bounded by pairs × racing locations, not by the length of the run.

use finishline_model::{AccessId, Location, Race};
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RacePair {
    /// The first occurrence in the run.
    pub race: Race,
    pub occurrences: u64,
    /// Where the two accesses race, in order of discovery.
    pub locations: Vec<Location>,
}

/// Distinct pairs, in order of discovery.
#[derive(Clone, Debug, Default)]
pub struct RacePairs {
    pairs: Vec<RacePair>,
    numbers: FxHashMap<(AccessId, AccessId, bool), usize>,
    places: FxHashSet<(usize, Location)>,
}

impl RacePairs {
    pub fn add(&mut self, race: Race) {
        let key = (
            race.first.access,
            race.second.access,
            race.ordered_by_isolation,
        );
        let number = *self.numbers.entry(key).or_insert_with(|| {
            self.pairs.push(RacePair {
                race,
                occurrences: 0,
                locations: Vec::new(),
            });
            self.pairs.len() - 1
        });
        let pair = &mut self.pairs[number];
        pair.occurrences += 1;
        if self.places.insert((number, race.location)) {
            pair.locations.push(race.location);
        }
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
        };
        let mut pairs = RacePairs::default();
        for (location, task, apparent) in [
            (5, 2, false),
            (4, 2, false),
            (5, 3, false),
            (5, 2, true),
            (4, 3, false),
        ] {
            pairs.add(race(location, task, apparent));
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
