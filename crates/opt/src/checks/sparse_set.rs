//! Sets of small numbers, most of them with few members that lie close together.
//!
//! Members are kept as words of 64 bits, those that are not empty, in order. A union costs the
//! words of both sets.

/// A set of numbers.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct SparseSet {
    /// Which word of an endless bit set, and the word; ascending, none is 0.
    words: Vec<(u32, u64)>,
}

impl SparseSet {
    pub(super) fn of(member: u32) -> SparseSet {
        SparseSet {
            words: vec![(member / 64, 1 << (member % 64))],
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many words it takes, as a measure of what work with it costs.
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    pub(super) fn contains(&self, member: u32) -> bool {
        let found = self
            .words
            .binary_search_by_key(&(member / 64), |(index, _)| *index);
        found.is_ok_and(|position| self.words[position].1 & 1 << (member % 64) != 0)
    }

    /// Whether it was not a member before.
    pub(super) fn insert(&mut self, member: u32) -> bool {
        let (index, bit) = (member / 64, 1 << (member % 64));
        match self.words.binary_search_by_key(&index, |(index, _)| *index) {
            Ok(position) => {
                let word = &mut self.words[position].1;
                let before = *word;
                *word |= bit;
                *word != before
            }
            Err(position) => {
                self.words.insert(position, (index, bit));
                true
            }
        }
    }

    /// Adds the members of another set and returns those that are new.
    pub(super) fn add(&mut self, other: &SparseSet) -> SparseSet {
        let mut new = Vec::new();
        let mut mine = self.words.iter().peekable();
        for &(index, word) in &other.words {
            while mine.next_if(|(at, _)| *at < index).is_some() {}
            let known = mine.peek().filter(|(at, _)| *at == index);
            let news = word & !known.map_or(0, |(_, word)| *word);
            if news != 0 {
                new.push((index, news));
            }
        }
        if !new.is_empty() {
            self.merge(&new);
        }
        SparseSet { words: new }
    }

    fn merge(&mut self, other: &[(u32, u64)]) {
        let mine = std::mem::take(&mut self.words);
        self.words.reserve(mine.len() + other.len());
        let mut other = other.iter().copied().peekable();
        for (index, word) in mine {
            while let Some(before) = other.next_if(|(at, _)| *at < index) {
                self.words.push(before);
            }
            let same = other.next_if(|(at, _)| *at == index);
            self.words
                .push((index, word | same.map_or(0, |(_, word)| word)));
        }
        self.words.extend(other);
    }

    /// In ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().flat_map(|&(index, word)| {
            let rests = std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1)));
            rests
                .take_while(|rest| *rest != 0)
                .map(move |rest| 64 * index + rest.trailing_zeros())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Against the set of the standard library, with numbers from a generator that is random
    /// enough.
    #[test]
    fn does_what_a_set_does() {
        let mut state = 1_u64;
        let mut next = move |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) as u32 % below
        };
        for round in 0..2_000 {
            let span = [8, 70, 300, 5_000][round % 4];
            let mut sets = [SparseSet::default(), SparseSet::default()];
            let mut expected = [BTreeSet::new(), BTreeSet::new()];
            for _ in 0..next(40) {
                let (which, member) = (next(2) as usize, next(span));
                assert_eq!(sets[which].insert(member), expected[which].insert(member));
            }
            let [mut a, b] = sets;
            let new: BTreeSet<u32> = a.add(&b).iter().collect();
            assert_eq!(new, &expected[1] - &expected[0]);
            let union = &expected[0] | &expected[1];
            assert_eq!(a.iter().collect::<Vec<_>>(), Vec::from_iter(union.clone()));
            for member in 0..span {
                assert_eq!(a.contains(member), union.contains(&member));
            }
            assert_eq!(a.is_empty(), union.is_empty());
            assert!(a.add(&b).is_empty());
        }
        assert_eq!(SparseSet::of(77).iter().collect::<Vec<_>>(), [77]);
    }
}
