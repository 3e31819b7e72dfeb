//! The order of a run's accesses, by closing the computation graph; races and sources by
//! definition.

use super::run::{Access, Run};
use std::collections::HashMap;

/// A run whose order is known.
pub(crate) struct Graph {
    pub(crate) run: Run,
    /// For each step a bit for each that happens before it.
    before: Vec<Vec<u64>>,
    /// The accesses of each location, in the order of the run.
    locations: HashMap<(usize, usize), Vec<usize>>,
}

impl Graph {
    pub(crate) fn new(run: Run) -> Graph {
        let words = run.before.len().div_ceil(64);
        let mut before: Vec<Vec<u64>> = Vec::new();
        for direct in &run.before {
            let mut all = vec![0; words];
            for step in direct {
                for (word, other) in all.iter_mut().zip(&before[*step]) {
                    *word |= other;
                }
                all[step / 64] |= 1 << (step % 64);
            }
            before.push(all);
        }
        let mut locations: HashMap<_, Vec<usize>> = HashMap::new();
        for (index, access) in run.accesses.iter().enumerate() {
            locations.entry(access.location).or_default().push(index);
        }
        Graph {
            run,
            before,
            locations,
        }
    }

    fn access(&self, index: usize) -> &Access {
        &self.run.accesses[index]
    }

    pub(crate) fn precedes(&self, first: usize, second: usize) -> bool {
        let (one, other) = (self.access(first).step, self.access(second).step);
        if one == other {
            return first < second;
        }
        self.before[other][one / 64] >> (one % 64) & 1 == 1
    }

    /// All pairs of accesses to one location, one of them a write, neither before the other and not
    /// both isolated.
    pub(crate) fn races(&self) -> Vec<(usize, usize)> {
        let mut races = Vec::new();
        for accesses in self.locations.values() {
            for (at, first) in accesses.iter().enumerate() {
                for second in &accesses[at + 1..] {
                    let (one, other) = (self.access(*first), self.access(*second));
                    let conflict = one.is_write || other.is_write;
                    let excluded = one.isolated && other.isolated;
                    let ordered = self.precedes(*first, *second) || self.precedes(*second, *first);
                    if conflict && !excluded && !ordered {
                        races.push((*first, *second));
                    }
                }
            }
        }
        races
    }

    /// The writes that a read can see, and whether it can see what the location starts with.
    pub(crate) fn sources(&self, read: usize) -> (Vec<usize>, bool) {
        let accesses = &self.locations[&self.access(read).location];
        let writes: Vec<usize> = accesses
            .iter()
            .copied()
            .filter(|index| self.access(*index).is_write)
            .collect();
        let earlier: Vec<usize> = (writes.iter().copied())
            .filter(|write| self.precedes(*write, read))
            .collect();
        let is_source = |write: &usize| {
            !self.precedes(read, *write)
                && !earlier.iter().any(|other| self.precedes(*write, *other))
        };
        let sources = writes.iter().copied().filter(is_source).collect();
        (sources, earlier.is_empty())
    }
}
