//! Marking: finds every object that can still be reached.
//!
//! Words of the roots are taken for pointers if they could be ones. Inside objects nothing is guessed: the kind of an object
//! says which of its words are references. What is still to be looked at waits on a stack of its own, so that a list of any length
//! is marked in constant depth of ours; it has at most one entry for each object with references in it.

use super::Reference;
use super::kinds::{Kinds, References};
use super::layout::{COUNT_OFFSET, WORD_BYTES};
use super::roots::{Roots, each_word};
use super::space::Space;
use super::spans::{Found, Spans};

/// What a collection found alive.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Live {
    /// As the budget counts it.
    pub(super) cost: u64,
    /// Of slots and spans.
    pub(super) bytes: u64,
    pub(super) root_bytes: u64,
}

/// There was no memory for a longer stack, of so many bytes.
pub(super) struct OutOfMemory {
    pub(super) request: u64,
}

struct Marker<'h> {
    space: &'h Space,
    spans: &'h mut Spans,
    kinds: &'h Kinds,
    /// Marked objects whose references are still to be followed.
    open: Vec<Found>,
    out_of_memory: Option<OutOfMemory>,
    live: Live,
}

/// Marks all that can be reached from the roots and from `globals`.
pub(super) fn mark(
    space: &Space,
    spans: &mut Spans,
    kinds: &Kinds,
    globals: Reference,
    roots: &dyn Roots,
) -> Result<Live, OutOfMemory> {
    let mut marker = Marker {
        space,
        spans,
        kinds,
        open: Vec::new(),
        out_of_memory: None,
        live: Live::default(),
    };
    marker.follow(globals.address());
    marker.live.root_bytes = each_word(roots, |word| marker.follow_anything(word));
    while let Some(object) = marker.open.pop() {
        marker.follow_references(object);
    }
    match marker.out_of_memory {
        None => Ok(marker.live),
        Some(out_of_memory) => Err(out_of_memory),
    }
}

impl Marker<'_> {
    /// A word that may be a pointer into an object or right behind one. It may also be both: the end of one object and the
    /// first byte of the next.
    #[inline]
    fn follow_anything(&mut self, word: u64) {
        let address = word as usize;
        let before = self.spans.find(self.space, address.wrapping_sub(1));
        let at = self.spans.find(self.space, address);
        if let Some(found) = at {
            self.reach(found);
        }
        if let Some(found) = before
            && before != at
        {
            self.reach(found);
        }
    }

    /// A reference, or null.
    #[inline]
    fn follow(&mut self, reference: u64) {
        if let Some(found) = self.spans.find(self.space, reference as usize) {
            self.reach(found);
        }
    }

    #[inline]
    fn reach(&mut self, found: Found) {
        if !self.spans.mark(found) {
            return;
        }
        let kind = &self.kinds[found.kind];
        let space = self.space;
        self.live.cost += kind.cost(|| count(space, found.address + kind.prefix));
        self.live.bytes += found.bytes as u64;
        if matches!(kind.references, References::None) {
            return;
        }
        if self.open.len() == self.open.capacity() && self.open.try_reserve(1).is_err() {
            let request = 2 * self.open.len() * size_of::<Found>();
            self.out_of_memory = Some(OutOfMemory {
                request: request as u64,
            });
            return;
        }
        self.open.push(found);
    }

    fn follow_references(&mut self, object: Found) {
        let kinds = self.kinds;
        let kind = &kinds[object.kind];
        let data = object.address + kind.prefix;
        match &kind.references {
            References::None => {}
            References::Fields(fields) => {
                for &field in fields {
                    self.follow(self.space.word(data + field as usize * WORD_BYTES));
                }
            }
            References::All => {
                for index in 0..count(self.space, data) as usize {
                    self.follow(self.space.word(data + index * WORD_BYTES));
                }
            }
        }
    }
}

/// How many locations the object has whose data is there.
#[inline]
fn count(space: &Space, data: usize) -> u64 {
    space.word(data.wrapping_add_signed(COUNT_OFFSET as isize))
}
