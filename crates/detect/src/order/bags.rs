//! S-bags and P-bags: a disjoint-set forest in one flat table, four bytes an element.
//!
//! Every element is in one bag. A bag is a tree; its root says whether it is an S-bag (its elements
//! precede the running step) or a P-bag (they may run in parallel with it). A word of the table is
//!
//! ```text
//!   bit 31   bit 30      bits 0–29
//!   0        P-bag?      rank            a root
//!   1        parent, 31 bits             any other element
//! ```
//!
//! So a word of zeros is an S-bag of its own. Fresh elements are therefore S-bags without being
//! written. Element 0 is never united with anything, so it is an S-bag for ever. An empty field of
//! a history counts as "in an S-bag" [ESP-bags §3] and so needs no special case.
//!
//! Union by rank and path halving: near-constant time [ESP-bags §3.4]. The parent of most elements
//! is a root. Such an element is decided by two loads.

use crate::order::{NOBODY, Stamp};
use crate::table::{FORGOTTEN_PIECE, Table, TableError};

const LINK: u32 = 1 << 31;
const PARALLEL: u32 = 1 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    S,
    P,
}

#[derive(Debug)]
pub struct Bags {
    words: Table<u32>,
}

impl Bags {
    pub fn new() -> Result<Self, TableError> {
        let mut words = Table::reserve("tasks", LINK as usize)?;
        words.grow_to(NOBODY as usize + 1)?;
        Ok(Bags { words })
    }

    /// Adds an element in an S-bag of its own.
    #[inline]
    pub fn singleton(&mut self) -> Result<Stamp, TableError> {
        Ok(self.words.push_zero()? as Stamp)
    }

    /// The next element that will be added.
    #[inline]
    pub fn next(&self) -> Stamp {
        self.words.len() as Stamp
    }

    /// Unites the bags of `a` and `b` to one of kind `kind`. `NOBODY` stands for the empty bag.
    /// Returns an element of the new bag, `NOBODY` if it is empty.
    pub fn unite(&mut self, a: Stamp, b: Stamp, kind: Kind) -> Stamp {
        let root = match (a, b) {
            (NOBODY, NOBODY) => return NOBODY,
            (NOBODY, one) | (one, NOBODY) => self.root(one),
            (a, b) => {
                let (a, b) = (self.root(a), self.root(b));
                self.link(a, b)
            }
        };
        let word = &mut self.words[root as usize];
        match kind {
            Kind::S => *word &= !PARALLEL,
            Kind::P => *word |= PARALLEL,
        }
        root
    }

    fn link(&mut self, a: Stamp, b: Stamp) -> Stamp {
        if a == b {
            return a;
        }
        let rank = |word: u32| word & !PARALLEL;
        let (rank_a, rank_b) = (rank(self.words[a as usize]), rank(self.words[b as usize]));
        let (above, below) = if rank_a < rank_b { (b, a) } else { (a, b) };
        self.words[below as usize] = LINK | above;
        if rank_a == rank_b {
            self.words[above as usize] += 1;
        }
        above
    }

    #[inline]
    fn root(&mut self, element: Stamp) -> Stamp {
        self.root_and_word(element).0
    }

    #[inline]
    fn root_and_word(&mut self, element: Stamp) -> (Stamp, u32) {
        let word = self.words[element as usize];
        if word & LINK == 0 {
            return (element, word);
        }
        let parent = word & !LINK;
        let parent_word = self.words[parent as usize];
        if parent_word & LINK == 0 {
            return (parent, parent_word);
        }
        self.halve(element, parent_word)
    }

    /// The same for an element whose parent is not a root. Its path becomes half as long.
    #[inline(never)]
    fn halve(&mut self, mut element: Stamp, mut parent_word: u32) -> (Stamp, u32) {
        loop {
            self.words[element as usize] = parent_word;
            element = parent_word & !LINK;
            let word = self.words[element as usize];
            if word & LINK == 0 {
                return (element, word);
            }
            let parent = word & !LINK;
            parent_word = self.words[parent as usize];
            if parent_word & LINK == 0 {
                return (parent, parent_word);
            }
        }
    }

    /// Whether it is worth it to forget the elements so far.
    #[inline]
    pub fn are_many(&self) -> bool {
        self.words.used_bytes() >= 2 * FORGOTTEN_PIECE
    }

    /// Makes most elements so far S-bags of their own, which take no memory. They must all be in
    /// S-bags and stay there, and be united with nothing from now on.
    pub fn forget(&mut self) {
        self.words.forget_before(self.words.len());
    }

    /// Whether two elements are in one bag.
    pub fn together(&mut self, a: Stamp, b: Stamp) -> bool {
        self.root(a) == self.root(b)
    }

    /// Whether the element is in a P-bag.
    #[inline]
    pub fn in_p_bag(&mut self, element: Stamp) -> bool {
        self.root_and_word(element).1 & PARALLEL != 0
    }

    pub fn clear(&mut self) {
        self.words.clear();
        // There is room for one element since the table was made.
        let _ = self.words.grow_to(NOBODY as usize + 1);
    }

    pub fn used_bytes(&self) -> usize {
        self.words.used_bytes()
    }

    /// The elements of the bag that contains `element`. Empty for `NOBODY`.
    #[cfg(test)]
    pub(super) fn members(&mut self, element: Stamp) -> Vec<Stamp> {
        if element == NOBODY {
            return Vec::new();
        }
        let root = self.root(element);
        (1..self.words.len() as Stamp)
            .filter(|&other| self.root(other) == root)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_and_fresh_elements_are_in_s_bags() {
        let mut bags = Bags::new().unwrap();
        let a = bags.singleton().unwrap();
        assert_ne!(a, NOBODY);
        assert!(!bags.in_p_bag(NOBODY) && !bags.in_p_bag(a));
        assert_eq!(bags.unite(NOBODY, NOBODY, Kind::P), NOBODY);
        assert!(
            !bags.in_p_bag(NOBODY),
            "the empty bag has no kind to change"
        );
    }

    /// Every sequence of unions, ten thousand of them, compared with explicit sets.
    #[test]
    fn unions_agree_with_plain_sets() {
        let mut bags = Bags::new().unwrap();
        let elements: Vec<Stamp> = (0..200).map(|_| bags.singleton().unwrap()).collect();
        let mut bag_of: Vec<usize> = (0..elements.len()).collect();
        let mut kind_of = vec![Kind::S; elements.len()];
        let mut random = 1u64;
        let mut below = |n: usize| {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (random >> 33) as usize % n
        };
        for round in 0..10_000 {
            let (a, b) = (below(elements.len()), below(elements.len()));
            let kind = if below(2) == 0 { Kind::S } else { Kind::P };
            if round % 50 == 0 {
                bags.unite(elements[a], elements[b], kind);
                let (kept, gone) = (bag_of[a], bag_of[b]);
                bag_of
                    .iter_mut()
                    .filter(|bag| **bag == gone)
                    .for_each(|bag| *bag = kept);
                kind_of[kept] = kind;
            } else {
                bags.unite(NOBODY, elements[a], kind);
                kind_of[bag_of[a]] = kind;
            }
            assert_eq!(bags.in_p_bag(elements[b]), kind_of[bag_of[b]] == Kind::P);
            let same: Vec<Stamp> = (0..elements.len())
                .filter(|&other| bag_of[other] == bag_of[b])
                .map(|other| elements[other])
                .collect();
            if round % 100 == 0 {
                assert_eq!(bags.members(elements[b]), same);
            }
        }
    }
}
