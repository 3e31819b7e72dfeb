//! WSP-Order: two order-maintenance lists that all workers insert into [Utterback et al. 2016;
//! FastRacer §4, C-RACER].
//!
//! Tasks and finishes are series-parallel. Such an order is the intersection of two total ones: one
//! in which a new task comes before what its creator does next, and one in which it comes after
//! that. Both are lists, into which a step is inserted when it begins.
//!
//! ```text
//!                                  first list         second list
//! task p creates c, goes on as q   … p c q …          … p q c …
//! finish begins, will end as e     … p … e …          … p … e …
//! ```
//!
//! a precedes b iff a is before b in both lists. Every element has a label in each list, and labels
//! grow along the list [Dietz and Sleator 1987; Bender et al. 2002].
//!
//! **Insertion.** A new element comes right behind the step of the task that inserts it, and only
//! that task inserts there: each gap between two elements has one owner. So insertions don't meet.
//! They hold a lock for reading. If there is no label left in the gap, the labels around it are
//! spread under the lock for writing: the smallest aligned range of labels that is not too full is
//! found, and its elements are distributed evenly over it. A range of 2ⁱ labels is too full from
//! 1.4ⁱ elements on, so an insertion relabels O(log n) elements on average.
//!
//! **Comparison.** Labels are compared at a moment at which they are not spread
//! ([`super::super::version`]). The labels of an element that was just inserted are known by what
//! made it known.

use super::super::rows::Rows;
use super::super::version::Version;
use super::super::{InTwoLists, SharedOrder};
use crate::Failure;
use crate::detectors::Uses;
use crate::order::{NOBODY, Stamp};
use crate::table::TableError;
use std::sync::{PoisonError, RwLock};

/// An element of both lists. Element 0 is none.
type Element = u32;
const FRONT: Element = 1;
const END: Element = 2;

const MOST_ELEMENTS: usize = 1 << 30;
const LABEL_BITS: u32 = 62;
const GROWTH: f64 = 1.4;
/// The share of a gap that is left between a new element and its closer neighbour.
const SHARE: u32 = 5;

/// Where in the gap behind its neighbour a new element is put.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Close to the neighbour: more will come behind the new element.
    Near,
    /// Close to the neighbour's successor: more will come before it.
    Far,
}

/// One of the two lists, by element: the halves of its label, the next element and the one before.
struct List(Rows<4>);

#[derive(Clone, Copy)]
struct Link {
    label: u64,
    next: Element,
    previous: Element,
}

impl List {
    fn link(&self, element: Element) -> Link {
        let [low, high, next, previous] = self.0.get(element);
        Link {
            label: u64::from(high) << 32 | u64::from(low),
            next,
            previous,
        }
    }

    fn put(&self, element: Element, link: Link) {
        let Link {
            label,
            next,
            previous,
        } = link;
        let row = [label as u32, (label >> 32) as u32, next, previous];
        self.0.put(element, row);
    }

    fn gap(&self, at: Element) -> u64 {
        let Link { label, next, .. } = self.link(at);
        self.link(next).label - label
    }

    /// Puts an element behind another one. False if there is no label left.
    fn insert(&self, at: Element, element: Element, side: Side) -> bool {
        let Link { label, next, .. } = self.link(at);
        let behind = self.link(next);
        let gap = behind.label - label;
        if gap < 2 {
            return false;
        }
        let share = (gap >> SHARE).max(1);
        let new = match side {
            Side::Near => label + share,
            Side::Far => label + gap - share,
        };
        let link = Link {
            label: new,
            next,
            previous: at,
        };
        self.put(element, link);
        // The neighbours' other words belong to others.
        self.0.put_word(at, 2, element);
        self.0.put_word(next, 3, element);
        true
    }

    /// Spreads the labels around an element. Nobody inserts meanwhile.
    fn spread(&self, at: Element) {
        let label = self.link(at).label;
        let (mut first, mut last, mut count) = (at, at, 1u64);
        let mut most = 1.0;
        for bits in 1..=LABEL_BITS {
            most *= GROWTH;
            let from = label >> bits << bits;
            let until = from + (1 << bits);
            while first != FRONT && self.link(self.link(first).previous).label >= from {
                first = self.link(first).previous;
                count += 1;
            }
            while last != END && self.link(self.link(last).next).label < until {
                last = self.link(last).next;
                count += 1;
            }
            let apart = (1u64 << bits) / count;
            if (count as f64) < most && apart >= 2 || bits == LABEL_BITS {
                let (mut element, mut label) = (first, from);
                for _ in 0..count {
                    let link = self.link(element);
                    self.put(element, Link { label, ..link });
                    label += apart;
                    element = link.next;
                }
                return;
            }
        }
    }
}

pub struct Lists {
    lists: [List; 2],
    /// Changes when labels are spread.
    version: Version,
    spreading: RwLock<()>,
}

impl Lists {
    /// A new element behind the step in the first and in the second list, each with its side.
    fn insert(&self, at: [Element; 2], sides: [Side; 2]) -> Result<Element, TableError> {
        let element = self.lists[0].0.take(1)?;
        self.lists[1].0.take(1)?;
        for (list, (at, side)) in self.lists.iter().zip(at.into_iter().zip(sides)) {
            loop {
                let inserting = self.spreading.read();
                let inserting = inserting.unwrap_or_else(PoisonError::into_inner);
                if list.insert(at, element, side) {
                    break;
                }
                drop(inserting);
                self.spread(list, at);
            }
        }
        Ok(element)
    }

    #[cold]
    fn spread(&self, list: &List, at: Element) {
        let alone = self.spreading.write();
        let _alone = alone.unwrap_or_else(PoisonError::into_inner);
        if list.gap(at) >= 2 {
            return;
        }
        self.version.change(|| list.spread(at));
    }
}

/// A live task: its step.
#[derive(Debug)]
pub struct StepInLists(Element);

/// The step after the end of a finish.
#[derive(Debug)]
pub struct AfterFinish(Element);

impl SharedOrder for Lists {
    type Strand = StepInLists;
    type Finish = AfterFinish;
    type Memo = ();

    fn new(_: Uses) -> Result<Self, Failure> {
        let list = || -> Result<List, TableError> {
            let list = List(Rows::reserve("steps", MOST_ELEMENTS)?);
            list.0.take(3)?;
            let (label, most) = (0, (1 << LABEL_BITS) - 1);
            let front = Link {
                label,
                next: END,
                previous: FRONT,
            };
            let end = Link {
                label: most,
                next: END,
                previous: FRONT,
            };
            list.put(FRONT, front);
            list.put(END, end);
            Ok(list)
        };
        Ok(Lists {
            lists: [list()?, list()?],
            version: Version::new(),
            spreading: RwLock::new(()),
        })
    }

    fn main(&self) -> Result<StepInLists, Failure> {
        let step = self.insert([FRONT; 2], [Side::Near; 2])?;
        Ok(StepInLists(step))
    }

    fn create(&self, _: &mut (), creator: &mut StepInLists) -> Result<StepInLists, Failure> {
        let at = creator.0;
        // The task comes behind the creator's next step in the second list.
        let rest = self.insert([at; 2], [Side::Near; 2])?;
        let child = self.insert([at, rest], [Side::Near, Side::Far])?;
        creator.0 = rest;
        Ok(StepInLists(child))
    }

    fn open(&self, _: &mut (), task: &mut StepInLists) -> Result<AfterFinish, Failure> {
        let after = self.insert([task.0; 2], [Side::Far; 2])?;
        Ok(AfterFinish(after))
    }

    fn close(
        &self,
        _: &mut (),
        task: &mut StepInLists,
        finish: AfterFinish,
    ) -> Result<(), Failure> {
        task.0 = finish.0;
        Ok(())
    }

    #[inline]
    fn stamp(&self, _: &mut (), strand: &mut StepInLists) -> Result<Stamp, Failure> {
        Ok(strand.0)
    }

    #[inline]
    fn stamp_so_far(&self, strand: &StepInLists) -> Stamp {
        strand.0
    }

    fn parallel(&self, _: &mut (), strand: &StepInLists, earlier: Stamp) -> bool {
        if earlier == NOBODY || earlier == strand.0 {
            return false;
        }
        let before = |list: &List| list.link(earlier).label < list.link(strand.0).label;
        !self.version.steadily(|| self.lists.iter().all(before))
    }

    fn used_bytes(&self) -> usize {
        self.lists.iter().map(|list| list.0.used_bytes()).sum()
    }
}

impl InTwoLists for Lists {
    fn last(&self, list: usize, a: Stamp, b: Stamp) -> Stamp {
        if a == NOBODY {
            return b;
        }
        let list = &self.lists[list];
        let in_order = || list.link(a).label < list.link(b).label;
        match self.version.steadily(in_order) {
            true => b,
            false => a,
        }
    }
}
