//! A set of locations that remembers the order in which they were added.
//!
//! It takes one bit a location up to the greatest one added, and eight bytes for each member. A
//! look-up is one load.

use crate::table::{Table, TableError, make_room};
use finishline_model::Location;

/// The address space is reserved for this many locations.
pub(crate) const MOST_LOCATIONS: usize = 1 << 36;

const TABLE: &str = "racing locations";

#[derive(Debug)]
pub struct LocationSet {
    bits: Table<u64>,
    in_order: Vec<Location>,
}

impl LocationSet {
    pub fn new() -> Result<Self, TableError> {
        let bits = Table::reserve(TABLE, MOST_LOCATIONS / 64)?;
        Ok(LocationSet {
            bits,
            in_order: Vec::new(),
        })
    }

    /// The set of these locations.
    pub fn of(locations: &[Location]) -> Result<Self, TableError> {
        let mut set = LocationSet::new()?;
        for location in locations {
            set.insert(*location)?;
        }
        Ok(set)
    }

    /// Adds a location. Returns whether it is new.
    pub fn insert(&mut self, location: Location) -> Result<bool, TableError> {
        let (word, bit) = place(location);
        self.bits.grow_to(word.saturating_add(1))?;
        let new = self.bits[word] & bit == 0;
        if new {
            make_room(&mut self.in_order, 1, TABLE)?;
            self.bits[word] |= bit;
            self.in_order.push(location);
        }
        Ok(new)
    }

    #[inline]
    pub fn contains(&self, location: Location) -> bool {
        let (word, bit) = place(location);
        self.bits.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// The locations in the order in which they were added.
    pub fn in_order(&self) -> &[Location] {
        &self.in_order
    }

    pub fn len(&self) -> usize {
        self.in_order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.in_order.is_empty()
    }

    pub fn clear(&mut self) {
        self.bits.clear();
        self.in_order.clear();
    }

    pub fn used_bytes(&self) -> usize {
        self.bits.used_bytes() + self.in_order.len() * size_of::<Location>()
    }
}

#[inline]
fn place(location: Location) -> (usize, u64) {
    ((location.0 / 64) as usize, 1 << (location.0 % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_of_discovery_once_each() {
        let mut set = LocationSet::new().unwrap();
        for n in [70, 3, 70, 64, 3] {
            set.insert(Location(n)).unwrap();
        }
        assert_eq!(set.in_order(), [Location(70), Location(3), Location(64)]);
        let members: Vec<u64> = (0..1000).filter(|&n| set.contains(Location(n))).collect();
        assert_eq!(members, [3, 64, 70]);
    }

    #[test]
    fn a_location_out_of_reach_is_an_error() {
        let mut set = LocationSet::new().unwrap();
        assert!(set.insert(Location(u64::MAX)).is_err());
        assert!(!set.contains(Location(u64::MAX)));
        assert!(set.is_empty());
    }
}
