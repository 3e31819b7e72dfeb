//! The bags at certain earlier moments, the *marks*. Each union, and each change of a bag's kind,
//! notes how many marks came before it.
//!
//! Elements of the forest are only ever linked. So the forest of an earlier moment is the present
//! one without the later links. One word for each element says when it was linked. Nothing is kept
//! before the first mark.

use super::Stamp;
use crate::table::{Table, TableError, make_room};

/// A change of the kind of a root.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// The number of marks before the change.
    marks: u32,
    /// The previous change of the same root, from 1 on. 0 if there is none.
    previous: u32,
}

#[derive(Debug)]
pub(super) struct Past {
    marks: u32,
    /// For each element that is not a root: twice the number of marks before its link, plus 1 if it
    /// was the root of a P-bag.
    links: Table<u32>,
    /// The latest change of each element, from 1 on.
    latest: Table<u32>,
    changes: Vec<Change>,
    full: Option<TableError>,
}

impl Past {
    pub(super) fn new(most: usize) -> Result<Self, TableError> {
        Ok(Past {
            marks: 0,
            links: Table::reserve("unions of tasks", most)?,
            latest: Table::reserve("changes of bags", most)?,
            changes: Vec::new(),
            full: None,
        })
    }

    /// Sets a mark, with room for this number of elements.
    pub(super) fn mark(&mut self, elements: usize) -> Result<(), TableError> {
        self.marks += 1;
        self.make_room(elements)
    }

    pub(super) fn make_room(&mut self, elements: usize) -> Result<(), TableError> {
        self.links.grow_to(elements)?;
        self.latest.grow_to(elements)?;
        self.full.map_or(Ok(()), Err)
    }

    pub(super) fn linked(&mut self, element: Stamp, was_parallel: bool) {
        self.links[element as usize] = self.marks << 1 | u32::from(was_parallel);
    }

    /// Whether two elements were linked between the same marks.
    #[inline]
    pub(super) fn same_time(&self, a: Stamp, b: Stamp) -> bool {
        self.links[a as usize] >> 1 == self.links[b as usize] >> 1
    }

    /// The number of marks before an element was linked, and whether it was the root of a P-bag
    /// then.
    pub(super) fn link(&self, element: Stamp) -> (u32, bool) {
        let link = self.links[element as usize];
        (link >> 1, link & 1 == 1)
    }

    pub(super) fn changed(&mut self, root: Stamp) {
        if let Err(refused) = make_room(&mut self.changes, 1, "changes of bags") {
            self.full = Some(refused);
            return;
        }
        let latest = &mut self.latest[root as usize];
        self.changes.push(Change {
            marks: self.marks,
            previous: *latest,
        });
        *latest = self.changes.len() as u32;
    }

    /// The numbers of marks before the changes of a root, latest first.
    pub(super) fn changes(&self, root: Stamp) -> impl Iterator<Item = u32> {
        let mut next = self.latest[root as usize];
        std::iter::from_fn(move || {
            let change = self.changes.get(next.checked_sub(1)? as usize)?;
            next = change.previous;
            Some(change.marks)
        })
    }

    pub(super) fn clear(&mut self) {
        self.links.clear();
        self.latest.clear();
        self.changes.clear();
        (self.marks, self.full) = (0, None);
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.links.used_bytes()
            + self.latest.used_bytes()
            + self.changes.capacity() * size_of::<Change>()
    }
}
