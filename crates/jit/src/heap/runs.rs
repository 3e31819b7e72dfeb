//! Free runs of units in an address space that only grows at its end.
//!
//! Best fit: the shortest run that is long enough is taken, and among equals the one with the
//! lowest address. The rest of it stays free. A run that is given back joins its free neighbours,
//! so no two free runs touch, and none touches the end. Both operations take a logarithm of the
//! number of free runs.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct Runs {
    /// The length of each free run by its start.
    by_start: BTreeMap<usize, usize>,
    /// (length, start) of the same runs.
    by_length: BTreeSet<(usize, usize)>,
    /// From here on all units are free.
    end: usize,
    capacity: usize,
}

impl Runs {
    pub(super) fn new(capacity: usize) -> Runs {
        Runs {
            capacity,
            ..Runs::default()
        }
    }

    /// The start of `length` units, which are no longer free; `None` if there is no such run.
    pub(super) fn take(&mut self, length: usize) -> Option<usize> {
        if let Some(&(found, start)) = self.by_length.range((length, 0)..).next() {
            self.remove(start, found);
            if found > length {
                self.insert(start + length, found - length);
            }
            return Some(start);
        }
        let start = self.end;
        if length > self.capacity - start {
            return None;
        }
        self.end += length;
        Some(start)
    }

    pub(super) fn give_back(&mut self, start: usize, length: usize) {
        let (mut start, mut length) = (start, length);
        if let Some((&before, &its_length)) = self.by_start.range(..start).next_back()
            && before + its_length == start
        {
            self.remove(before, its_length);
            start = before;
            length += its_length;
        }
        if let Some(&its_length) = self.by_start.get(&(start + length)) {
            self.remove(start + length, its_length);
            length += its_length;
        }
        if start + length == self.end {
            self.end = start;
        } else {
            self.insert(start, length);
        }
    }

    fn insert(&mut self, start: usize, length: usize) {
        self.by_start.insert(start, length);
        self.by_length.insert((length, start));
    }

    fn remove(&mut self, start: usize, length: usize) {
        self.by_start.remove(&start);
        self.by_length.remove(&(length, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The free runs below the end, in order.
    fn free(runs: &Runs) -> Vec<(usize, usize)> {
        let by_start: Vec<_> = runs.by_start.iter().map(|(&s, &l)| (s, l)).collect();
        let mut by_length: Vec<_> = runs.by_length.iter().map(|&(l, s)| (s, l)).collect();
        by_length.sort_unstable();
        assert_eq!(by_start, by_length);
        by_start
    }

    #[test]
    fn neighbours_join_in_every_order() {
        let orders = [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ];
        for order in orders {
            let mut runs = Runs::new(20);
            for length in [2, 3, 5, 1] {
                runs.take(length).unwrap();
            }
            let parts = [(0, 2), (2, 3), (5, 5)];
            for part in order {
                runs.give_back(parts[part].0, parts[part].1);
            }
            assert_eq!(free(&runs), [(0, 10)], "{order:?}");
        }
    }

    #[test]
    fn the_best_fit_is_taken_and_the_rest_stays() {
        let mut runs = Runs::new(100);
        for length in [5, 1, 3, 1, 4, 1] {
            runs.take(length).unwrap();
        }
        for (start, length) in [(0, 5), (6, 3), (10, 4)] {
            runs.give_back(start, length);
        }
        assert_eq!(runs.take(4), Some(10));
        assert_eq!(runs.take(2), Some(6));
        assert_eq!(free(&runs), [(0, 5), (8, 1)]);
        assert_eq!(runs.take(6), Some(15), "from the end");
        assert_eq!(runs.take(80), None);
        assert_eq!(runs.take(79), Some(21));
        assert_eq!(
            runs.take(5),
            Some(0),
            "what is free can be had when the end cannot"
        );
        assert_eq!(free(&runs), [(8, 1)]);
    }

    #[test]
    fn long_random_use_agrees_with_a_map_of_units() {
        let mut random = 1u64;
        let mut below = |n: usize| {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (random >> 33) as usize % n
        };
        let mut runs = Runs::new(500);
        let mut used = vec![false; 500];
        let mut held: Vec<(usize, usize)> = Vec::new();
        for _ in 0..20_000 {
            let length = 1 + below(30);
            if below(2) == 0 {
                match runs.take(length) {
                    Some(start) => {
                        for unit in &mut used[start..start + length] {
                            assert!(!std::mem::replace(unit, true));
                        }
                        held.push((start, length));
                    }
                    None => {
                        assert!(
                            used.chunk_by(|a, b| a == b)
                                .all(|run| run[0] || run.len() < length)
                        );
                    }
                }
            } else if !held.is_empty() {
                let (start, length) = held.swap_remove(below(held.len()));
                used[start..start + length].fill(false);
                runs.give_back(start, length);
            }
            let mut at = 0;
            let mut expected = Vec::new();
            for run in used[..runs.end].chunk_by(|a, b| a == b) {
                if !run[0] {
                    expected.push((at, run.len()));
                }
                at += run.len();
            }
            assert_eq!(free(&runs), expected);
        }
    }
}
