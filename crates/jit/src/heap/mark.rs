//! Marking: finds every object that can still be reached.
//!
//! Words of the roots are taken for pointers if they could be pointers. Inside objects nothing is
//! guessed: the kind of an object says which of its words are references. Objects that are still to
//! be looked at wait on an explicit stack, so a list of any length is marked without recursion. The
//! stack has at most one entry for each object with references in it. Arrays are looked at piece by
//! piece, so a long one does not push all that it refers to at once.

use super::Reference;
use super::kinds::{KindId, Kinds, References};
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

/// There was no memory for a longer stack, of `request` bytes.
pub(super) struct OutOfMemory {
    pub(super) request: u64,
}

/// A marked object whose references are still to be followed.
#[derive(Clone, Copy)]
struct Open {
    data: usize,
    kind: KindId,
    /// Of an array: how many pieces of it have been looked at.
    pieces: u32,
}

/// Elements of an array that are looked at in one go.
const PIECE: u64 = 256;

struct Marker<'h> {
    space: &'h Space,
    spans: &'h mut Spans,
    kinds: &'h Kinds,
    open: Vec<Open>,
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
    /// A word that may be a pointer into an object or right behind one. It may also be both: the
    /// end of one object and the first byte of the next.
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
        let (space, data) = (self.space, found.address + kind.prefix);
        self.live.cost += kind.cost(|| count(space, data));
        self.live.bytes += found.bytes as u64;
        if !matches!(kind.references, References::None) {
            self.push(Open {
                data,
                kind: found.kind,
                pieces: 0,
            });
        }
    }

    #[inline]
    fn push(&mut self, open: Open) {
        if self.open.len() == self.open.capacity() && self.open.try_reserve(1).is_err() {
            let request = 2 * self.open.len() * size_of::<Open>();
            self.out_of_memory = Some(OutOfMemory {
                request: request as u64,
            });
            return;
        }
        self.open.push(open);
    }

    fn follow_references(&mut self, object: Open) {
        let Open { data, kind, pieces } = object;
        let kinds = self.kinds;
        match &kinds[kind].references {
            References::None => {}
            References::Fields(fields) => {
                for &field in fields {
                    self.follow(self.space.word(data + field as usize * WORD_BYTES));
                }
            }
            References::All => {
                let count = count(self.space, data);
                let first = u64::from(pieces) * PIECE;
                if count - first > PIECE {
                    self.push(Open {
                        pieces: pieces + 1,
                        ..object
                    });
                }
                for index in first..count.min(first + PIECE) {
                    self.follow(self.space.word(data + index as usize * WORD_BYTES));
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
