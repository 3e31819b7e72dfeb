//! Conflicts that are no races, as long as nobody asks for all of them.
//!
//! A conflict that a lock or an atomic operation orders is told by the places of its two accesses.
//! A loop finds the same again and again. In a run in brief it is enough to find it once: then the
//! verdict says that it holds for the observed order, and how many such pairs of places there are.
//! So the latest pairs are remembered, and a conflict of such a pair is passed over.

/// How many pairs of sites are remembered.
const PAIRS: usize = 256;

/// By the sites of the earlier access and of the later one.
#[derive(Debug)]
pub(super) struct KnownOrders([Option<[u32; 2]>; PAIRS]);

impl Default for KnownOrders {
    fn default() -> KnownOrders {
        KnownOrders([None; PAIRS])
    }
}

impl KnownOrders {
    /// Whether it is there already. From now on it is.
    pub(super) fn has(&mut self, sites: [u32; 2]) -> bool {
        let [first, second] = sites;
        let place = first.wrapping_mul(31).wrapping_add(second) as usize % PAIRS;
        self.0[place].replace(sites) == Some(sites)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_known_from_the_second_time_on() {
        let mut known = KnownOrders::default();
        assert!(!known.has([1, 2]));
        assert!(known.has([1, 2]));
        assert!(!known.has([2, 1]));
    }
}
