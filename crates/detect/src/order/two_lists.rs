//! Two lists over the same elements, in which elements are inserted anywhere and compared in
//! constant time.
//!
//! [Dietz and Sleator 1987; Bender et al. 2002] Every element has a label in each list. Labels grow
//! along the list, so two elements are compared by their labels. A new element gets a label between
//! those of its neighbours. If there is none left, the labels around it are spread: the smallest
//! aligned range of labels that is not too full is found, and its elements are distributed evenly
//! over it. A range of 2ⁱ labels is too full from 1.4ⁱ elements on. So ranges that have been spread
//! take many insertions until they are full again: an insertion relabels O(log n) elements on
//! average.
//!
//! **Where in a gap.** What comes next goes mostly behind the new element, or mostly before it, and
//! the gaps should last for that ([`Side`]). A fixed share of a gap is lost at each insertion, so a
//! gap lasts for as many insertions as its length has bits, times a constant. That suffices for
//! tasks in tasks. Finishes one after the other would use up the bits, so a finish gets no more
//! labels than [`OF_A_FINISH`]: a loop may have 2¹⁸ before any label changes.
//!
//! Labels change, elements do not: whoever remembers an element asks for its labels anew.

use crate::table::{Table, TableError};

/// An element of both lists.
pub(crate) type Element = u32;

/// In front of all others, and behind them.
pub(crate) const FRONT: Element = 0;
pub(crate) const END: Element = 1;

/// One of the two lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum List {
    First = 0,
    Second = 1,
}

/// Where in the gap behind its neighbour a new element is put. The rest of the gap is for elements
/// still to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// Close to the neighbour: more will come behind the new element.
    Near,
    /// Close to the neighbour's successor: more will come before it.
    Far,
    /// Half-way: as much will come before it as behind it.
    Middle,
    /// Half-way, or closer to the neighbour if even that is far away: the end of a finish.
    Bounded,
}

/// Labels are smaller.
const LABELS: u64 = 1 << LABEL_BITS;
const LABEL_BITS: u32 = 62;
/// The share of a gap that is left between a new element and its closer neighbour.
const SHARE: u32 = 5;
/// The labels of a finish that has room for more: enough for a recursion of 14 levels, as a test
/// shows. A deeper one gets more when it needs them.
const OF_A_FINISH: u64 = 1 << 44;

#[derive(Debug)]
pub(crate) struct TwoLists {
    /// By element: its label in each list.
    labels: Table<[u64; 2]>,
    /// By element: its neighbours in each list. The lists are closed to circles at the front.
    next: Table<[Element; 2]>,
    previous: Table<[Element; 2]>,
    relabelled: u64,
}

impl TwoLists {
    pub(crate) fn new() -> Result<Self, TableError> {
        let mut lists = TwoLists {
            labels: Table::reserve("steps", MOST_ELEMENTS)?,
            next: Table::reserve("steps", MOST_ELEMENTS)?,
            previous: Table::reserve("steps", MOST_ELEMENTS)?,
            relabelled: 0,
        };
        for _ in [FRONT, END] {
            lists.add()?;
        }
        lists.clear();
        Ok(lists)
    }

    /// Whether `a` is before `b` in both lists.
    #[inline]
    pub(crate) fn before(&self, a: Element, b: Element) -> bool {
        let ([a1, a2], [b1, b2]) = (self.labels(a), self.labels(b));
        a1 < b1 && a2 < b2
    }

    /// The labels of an element now.
    #[inline]
    pub(crate) fn labels(&self, element: Element) -> [u64; 2] {
        self.labels[element as usize]
    }

    /// Of two elements, those that come last in each list.
    #[inline]
    pub(crate) fn last(&self, a: [Element; 2], b: [Element; 2]) -> [Element; 2] {
        let later = |list: usize| {
            let [first, second] = [a[list], b[list]];
            match self.labels(first)[list] < self.labels(second)[list] {
                true => second,
                false => first,
            }
        };
        [later(0), later(1)]
    }

    /// The element behind this one, which is not the end.
    #[inline]
    pub(crate) fn behind(&self, list: List, element: Element) -> Element {
        self.next[element as usize][list as usize]
    }

    /// The element before this one, which is not the front.
    #[inline]
    pub(crate) fn ahead(&self, list: List, element: Element) -> Element {
        self.previous[element as usize][list as usize]
    }

    /// Whether the second of three elements is between the others in a list, or one of them.
    #[inline]
    pub(crate) fn between(&self, list: List, [from, this, to]: [Element; 3]) -> bool {
        let [from, this, to] = [from, this, to].map(|element| self.labels(element)[list as usize]);
        from <= this && this <= to
    }

    /// The number of elements.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// A new element, which is in no list yet.
    pub(crate) fn add(&mut self) -> Result<Element, TableError> {
        let element = self.labels.push_zero()?;
        self.next.push_zero()?;
        self.previous.push_zero()?;
        // The table's capacity is below 2³².
        Ok(element as Element)
    }

    /// Puts a new element behind `at`.
    pub(crate) fn insert(&mut self, list: List, at: Element, element: Element, side: Side) {
        let mut gap = self.gap(list, at);
        if gap < 2 {
            self.spread(list, at);
            gap = self.gap(list, at);
        }
        let l = list as usize;
        let share = (gap >> SHARE).max(1);
        let label = self.labels(at)[l];
        self.labels[element as usize][l] = match side {
            Side::Near => label + share,
            Side::Far => label + gap - share,
            Side::Middle => label + gap / 2,
            Side::Bounded => label + (gap / 2).min(OF_A_FINISH),
        };
        let next = std::mem::replace(&mut self.next[at as usize][l], element);
        self.next[element as usize][l] = next;
        self.previous[element as usize][l] = at;
        self.previous[next as usize][l] = element;
    }

    /// Keeps only the front and the end.
    pub(crate) fn clear(&mut self) {
        self.labels.truncate(2);
        self.next.truncate(2);
        self.previous.truncate(2);
        for (one, other) in [(FRONT, END), (END, FRONT)] {
            self.next[one as usize] = [other; 2];
            self.previous[one as usize] = [other; 2];
        }
        self.labels[END as usize] = [LABELS - 1; 2];
        self.relabelled = 0;
    }

    /// How often a label was changed.
    #[cfg(test)]
    pub(crate) fn relabelled(&self) -> u64 {
        self.relabelled
    }

    pub(crate) fn used_bytes(&self) -> usize {
        self.labels.used_bytes() + self.next.used_bytes() + self.previous.used_bytes()
    }

    /// The distance from an element's label to the next one.
    #[inline]
    fn gap(&self, list: List, at: Element) -> u64 {
        let end = match self.next[at as usize][list as usize] {
            FRONT => LABELS,
            next => self.labels(next)[list as usize],
        };
        end - self.labels(at)[list as usize]
    }

    /// Spreads the labels around an element.
    #[cold]
    fn spread(&mut self, list: List, at: Element) {
        let l = list as usize;
        let label = self.labels(at)[l];
        let (mut first, mut last, mut count) = (at, at, 1u64);
        let mut most = 1.0;
        for bits in 1..=LABEL_BITS {
            most *= GROWTH;
            let from = label >> bits << bits;
            let until = from + (1 << bits);
            while first != FRONT && self.labels(self.previous[first as usize][l])[l] >= from {
                first = self.previous[first as usize][l];
                count += 1;
            }
            loop {
                let next = self.next[last as usize][l];
                if next == FRONT || self.labels(next)[l] >= until {
                    break;
                }
                last = next;
                count += 1;
            }
            // Each element gets two labels at least.
            let apart = (1u64 << bits) / count;
            if (count as f64) < most && apart >= 2 || bits == LABEL_BITS {
                self.relabelled += count;
                let (mut element, mut label) = (first, from);
                for _ in 0..count {
                    self.labels[element as usize][l] = label;
                    label += apart;
                    element = self.next[element as usize][l];
                }
                return;
            }
        }
    }
}

/// Fewer than there are stamps, and few enough that the labels suffice.
pub(crate) const MOST_ELEMENTS: usize = 1 << 30;
const GROWTH: f64 = 1.4;

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements in the order of a list.
    fn listed(lists: &TwoLists, list: List) -> Vec<Element> {
        let next = |&at: &Element| Some(lists.next[at as usize][list as usize]);
        let all = std::iter::successors(Some(FRONT), next).skip(1);
        all.take_while(|&element| element != FRONT).collect()
    }

    /// Inserts behind the element that `pick` names, beside a plain vector that does the same.
    fn compare(count: usize, mut pick: impl FnMut(usize, List) -> (usize, Side)) -> u64 {
        let mut lists = TwoLists::new().unwrap();
        let mut plain = [vec![FRONT, END], vec![FRONT, END]];
        for made in 1..=count {
            let element = lists.add().unwrap();
            for list in [List::First, List::Second] {
                let (place, side) = pick(made, list);
                let plain = &mut plain[list as usize];
                lists.insert(list, plain[place], element, side);
                plain.insert(place + 1, element);
            }
        }
        for list in [List::First, List::Second] {
            assert_eq!(listed(&lists, list), plain[list as usize][1..]);
            let label = |element: Element| lists.labels(element)[list as usize];
            for pair in plain[list as usize].windows(2) {
                assert!(label(pair[0]) < label(pair[1]));
            }
        }
        lists.relabelled
    }

    #[test]
    fn elements_stay_in_order_wherever_they_are_inserted() {
        const COUNT: usize = 3_000;
        for side in [Side::Near, Side::Far, Side::Middle, Side::Bounded] {
            compare(COUNT, |_, _| (0, side));
            compare(COUNT, |made, _| (made - 1, side));
            compare(COUNT, |made, _| (made / 2, side));
            let mut state = 1u64;
            compare(COUNT, |made, _| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                ((state >> 33) as usize % made, side)
            });
        }
    }

    #[test]
    fn an_insertion_relabels_few_elements() {
        const COUNT: usize = 20_000;
        for side in [Side::Near, Side::Far, Side::Middle, Side::Bounded] {
            for place in [|_: usize| 0, |made: usize| made - 1, |made: usize| made / 2] {
                let relabelled = compare(COUNT, |made, _| (place(made), side));
                assert!(relabelled < 40 * COUNT as u64, "{relabelled}");
            }
        }
    }
}
