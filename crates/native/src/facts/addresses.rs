//! A set of addresses as ranges that neither overlap nor touch: few, however many addresses race.

use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Clone, Default, Debug)]
pub struct Addresses {
    /// The end of each range by its start.
    ranges: BTreeMap<u64, u64>,
    count: u64,
}

impl Addresses {
    /// Whether some of them are new.
    pub fn insert(&mut self, Range { mut start, mut end }: Range<u64>) -> bool {
        let around = self.ranges.range(..=start).next_back();
        if around.is_some_and(|(_, until)| *until >= end) {
            return false;
        }
        while let Some((&before, &until)) = self.ranges.range(..=end).next_back() {
            if until < start {
                break;
            }
            self.ranges.remove(&before);
            self.count -= until - before;
            (start, end) = (start.min(before), end.max(until));
        }
        self.ranges.insert(start, end);
        self.count += end - start;
        true
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.ranges.iter().flat_map(|(start, end)| *start..*end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn it_is_a_set() {
        let (mut addresses, mut expected) = (Addresses::default(), BTreeSet::new());
        let mut seed = 7u64;
        for _ in 0..2000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            let start = (seed >> 33) % 500;
            let end = start + 1 + (seed >> 50) % 9;
            let is_new = (start..end).any(|address| !expected.contains(&address));
            assert_eq!(addresses.insert(start..end), is_new);
            expected.extend(start..end);
            assert_eq!(addresses.count(), expected.len() as u64);
            if expected.len() > 300 {
                assert!(addresses.iter().eq(expected.iter().copied()));
                (addresses, expected) = (Addresses::default(), BTreeSet::new());
            }
        }
    }
}
