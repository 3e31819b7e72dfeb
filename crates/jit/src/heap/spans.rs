//! Where objects are: spans of the address range, each with objects of one kind.
//!
//! Small objects share a span of 64 KiB, cut into equal slots. A bigger object has a span of its
//! own, just long enough. For any address, a table by unit leads to the span and a multiplication
//! to the slot. So an interior pointer finds its object in constant time. Beside each span are two
//! bits a slot: whether an object is there, and whether this collection has reached it. Sweeping
//! makes the second bit the first, and looks at no object. A slot without a bit is free.
//!
//! A free slot is found by scanning a word of bits at a time, by a [`Cursor`]. A cursor takes all
//! free slots of a span at once. Those that are unused go back when a collection begins.

use super::kinds::{KindId, Kinds, Slot};
use super::layout::SMALLEST_OBJECT;
use super::space::{Space, Taken, UNIT_BYTES};
use finishline_model::entity;

entity! {
    SpanId, "span";
}

/// A span of small objects.
pub(super) const SPAN_BYTES: usize = 64 << 10;
const SPAN_UNITS: usize = SPAN_BYTES / UNIT_BYTES;

const BITMAP_WORDS: usize = (SPAN_BYTES / SMALLEST_OBJECT).div_ceil(64);
type Bitmap = [u64; BITMAP_WORDS];

/// In the table of owners: a free unit.
const NOBODY: SpanId = SpanId(u32::MAX);

struct Span {
    base: usize,
    units: usize,
    holds: Holds,
    /// The next span of the same kind with free slots.
    next: Option<SpanId>,
    allocated: Bitmap,
    marked: Bitmap,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    /// The place in the table is idle.
    Nothing,
    Small(KindId, Slot),
    One(KindId),
}

/// Where the next objects of a kind go.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    /// The span it is in.
    span: Option<SpanId>,
    base: usize,
    /// The slots that are still free, and the word of these that it has come to.
    free: Bitmap,
    word: usize,
    /// The memory of all free slots is zero.
    zeroed: bool,
}

impl Cursor {
    /// Nowhere.
    pub(super) const NONE: Cursor = Cursor {
        span: None,
        base: 0,
        free: [0; BITMAP_WORDS],
        word: BITMAP_WORDS - 1,
        zeroed: false,
    };

    /// Room for an object, if there is any where the cursor is.
    #[inline]
    pub(super) fn take(&mut self, slot: Slot) -> Option<Room> {
        while self.free[self.word] == 0 {
            if self.word + 1 == BITMAP_WORDS {
                return None;
            }
            self.word += 1;
        }
        let word = &mut self.free[self.word];
        let index = self.word * 64 + word.trailing_zeros() as usize;
        *word &= *word - 1;
        Some(Room {
            address: self.base + index * slot.bytes as usize,
            zeroed: self.zeroed,
        })
    }
}

/// Memory for a new object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    pub(super) address: usize,
    /// Its memory is zero.
    pub(super) zeroed: bool,
}

/// An object, by where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found {
    span: SpanId,
    slot: usize,
    pub(super) kind: KindId,
    /// Where the object begins, and its size.
    pub(super) address: usize,
    pub(super) bytes: usize,
}

#[derive(Default)]
pub(super) struct Spans {
    spans: Vec<Span>,
    /// Places in the table that hold nothing, from the last to the first.
    idle: Vec<SpanId>,
    /// The span of each unit.
    owners: Vec<SpanId>,
    /// By kind: the first span with free slots that no cursor has.
    free: Vec<Option<SpanId>>,
}

/// The size of a span for one object.
pub(super) fn own_span_bytes(bytes: usize) -> u64 {
    (bytes.div_ceil(UNIT_BYTES) as u64).saturating_mul(UNIT_BYTES as u64)
}

impl Spans {
    /// Moves the cursor on to a span with free slots. `None` if there is no more room.
    pub(super) fn find_free_slots(
        &mut self,
        cursor: &mut Cursor,
        space: &mut Space,
        kind: KindId,
        slot: Slot,
    ) -> Option<()> {
        let free = self.free.get_mut(kind.index()).and_then(Option::take);
        let (id, zeroed) = match free {
            Some(id) => {
                self.free[kind.index()] = self.spans[id.index()].next;
                (id, false)
            }
            None => self.add(space, SPAN_UNITS, Holds::Small(kind, slot))?,
        };
        let span = &mut self.spans[id.index()];
        let slots = slot.per_span as usize;
        let mut free = [0; BITMAP_WORDS];
        for (word, free) in free.iter_mut().enumerate().take(slots.div_ceil(64)) {
            let valid = u64::MAX >> (64 - (slots - word * 64).min(64));
            *free = !span.allocated[word] & valid;
            span.allocated[word] = valid;
        }
        *cursor = Cursor {
            span: Some(id),
            base: span.base,
            free,
            word: 0,
            zeroed,
        };
        Some(())
    }

    /// A place for one object in a span of its own.
    pub(super) fn take_own_span(
        &mut self,
        space: &mut Space,
        kind: KindId,
        bytes: usize,
    ) -> Option<Room> {
        let units = bytes.div_ceil(UNIT_BYTES);
        let (id, zeroed) = self.add(space, units, Holds::One(kind))?;
        let span = &mut self.spans[id.index()];
        span.allocated[0] = 1;
        Some(Room {
            address: span.base,
            zeroed,
        })
    }

    /// A new span, and whether its memory is zero.
    fn add(&mut self, space: &mut Space, units: usize, holds: Holds) -> Option<(SpanId, bool)> {
        self.spans.try_reserve(1).ok()?;
        let Taken { start, zeroed } = space.take(units)?;
        let end = start + units;
        if self.owners.len() < end {
            if self.owners.try_reserve(end - self.owners.len()).is_err() {
                space.give_back(start, units);
                return None;
            }
            self.owners.resize(end, NOBODY);
        }
        let span = Span {
            base: space.address(start),
            units,
            holds,
            next: None,
            allocated: [0; BITMAP_WORDS],
            marked: [0; BITMAP_WORDS],
        };
        let id = match self.idle.pop() {
            Some(id) => {
                self.spans[id.index()] = span;
                id
            }
            None => {
                self.spans.push(span);
                SpanId::from_index(self.spans.len() - 1)
            }
        };
        self.owners[start..end].fill(id);
        Some((id, zeroed))
    }

    /// The object an address lies in: anywhere from its first byte to its last.
    #[inline]
    pub(super) fn find(&self, space: &Space, address: usize) -> Option<Found> {
        let owner = *self.owners.get(space.unit(address))?;
        let span = self.spans.get(owner.index())?;
        let (kind, slot, bytes) = match span.holds {
            Holds::Nothing => return None,
            Holds::Small(kind, slot) => {
                let index = slot.index(address - span.base);
                (kind, index, slot.bytes as usize)
            }
            Holds::One(kind) => (kind, 0, span.units * UNIT_BYTES),
        };
        bit(&span.allocated, slot).then(|| Found {
            span: owner,
            slot,
            kind,
            address: span.base + slot * bytes,
            bytes,
        })
    }

    /// Whether the object was not marked yet.
    #[inline]
    pub(super) fn mark(&mut self, found: Found) -> bool {
        let word = &mut self.spans[found.span.index()].marked[found.slot / 64];
        let bit = 1 << (found.slot % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Gives back what cursors hold, so that exactly the slots with objects are taken. A collection
    /// begins with it.
    pub(super) fn settle(&mut self, cursors: &mut [Cursor]) {
        for cursor in cursors {
            if let Some(id) = cursor.span {
                let allocated = &mut self.spans[id.index()].allocated;
                for (allocated, free) in allocated.iter_mut().zip(cursor.free) {
                    *allocated &= !free;
                }
                *cursor = Cursor::NONE;
            }
        }
    }

    /// Frees every object that was not marked. No cursor may be anywhere.
    pub(super) fn sweep(&mut self, space: &mut Space, kinds: &Kinds) {
        self.idle.clear();
        self.free.clear();
        self.free.resize(kinds.len(), None);
        // From the last to the first, so that each kind's list of spans begins with its first, and
        // the last idle place is the first to be used again: the table gets shorter when there are
        // fewer spans.
        for index in (0..self.spans.len()).rev() {
            let id = SpanId::from_index(index);
            let span = &mut self.spans[index];
            if span.holds != Holds::Nothing {
                span.allocated = std::mem::replace(&mut span.marked, [0; BITMAP_WORDS]);
                let objects: u32 = span.allocated.iter().map(|word| word.count_ones()).sum();
                match span.holds {
                    _ if objects == 0 => self.remove(space, id),
                    Holds::Small(kind, slot) if objects < slot.per_span => {
                        span.next = self.free[kind.index()].replace(id);
                    }
                    _ => {}
                }
            }
            if self.spans[index].holds != Holds::Nothing {
                continue;
            }
            if index + 1 == self.spans.len() {
                self.spans.pop();
            } else {
                self.idle.push(id);
            }
        }
    }

    /// Forgets a collection that could not be finished.
    pub(super) fn unmark(&mut self) {
        for span in &mut self.spans {
            span.marked = [0; BITMAP_WORDS];
        }
    }

    fn remove(&mut self, space: &mut Space, id: SpanId) {
        let span = &mut self.spans[id.index()];
        let (start, units) = (space.unit(span.base), span.units);
        span.holds = Holds::Nothing;
        self.owners[start..start + units].fill(NOBODY);
        space.give_back(start, units);
    }

    /// Bytes of the address range in use: at least what is committed of it.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let used = self.spans.iter().filter(|s| s.holds != Holds::Nothing);
        used.map(|span| span.units * UNIT_BYTES).sum()
    }

    /// Bytes from the start of the address range to the end of all that was ever used of it.
    #[cfg(test)]
    pub(super) fn end(&self) -> usize {
        self.owners.len() * UNIT_BYTES
    }
}

#[inline]
fn bit(bitmap: &Bitmap, index: usize) -> bool {
    bitmap
        .get(index / 64)
        .is_some_and(|word| word >> (index % 64) & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::super::kinds::Shapes;
    use super::super::layout::Cells;
    use super::*;
    use finishline_ir::Type;

    #[test]
    fn the_table_gets_shorter_and_its_holes_are_filled_first() {
        let mut space = Space::reserve(32 << 20).unwrap();
        let shapes = Shapes {
            structs: &[],
            globals: &[Type::Int],
            arrays: &[],
        };
        let kinds = Kinds::new(shapes, Cells::None);
        let kind = kinds.of_globals();
        let mut spans = Spans::default();
        let mut take = |spans: &mut Spans| {
            let place = spans.take_own_span(&mut space, kind, 20_000).unwrap();
            let found = spans.find(&space, place.address + 19_999).unwrap();
            assert_eq!((found.address, found.kind), (place.address, kind));
            found
        };
        let all: Vec<Found> = (0..100).map(|_| take(&mut spans)).collect();
        assert_eq!(spans.bytes(), 100 * 3 * UNIT_BYTES);
        for index in [10, 12, 50] {
            assert!(spans.mark(all[index]));
            assert!(!spans.mark(all[index]), "marked already");
        }
        spans.sweep(&mut space, &kinds);
        assert_eq!((spans.spans.len(), spans.idle.len()), (51, 48));
        assert_eq!(spans.bytes(), 3 * 3 * UNIT_BYTES);
        assert_eq!(spans.find(&space, all[11].address), None);
        let mut take = |spans: &mut Spans| {
            let place = spans.take_own_span(&mut space, kind, 20_000).unwrap();
            spans.find(&space, place.address).unwrap().span
        };
        assert_eq!(take(&mut spans), SpanId(0));
        assert_eq!(take(&mut spans), SpanId(1));
    }
}
