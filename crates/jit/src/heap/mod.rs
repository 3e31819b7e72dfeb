//! The heap of a compiled program: objects with their shadow cells, reclaimed when nobody can reach
//! them any more.
//!
//! **The technique** is mark and sweep, run at allocation: precise inside objects, conservative on
//! stacks and in registers, and it moves nothing.
//!
//! - *Not reference counts.* They cost two updates of memory for each reference that is stored, in
//!   inner loops that otherwise only load and compare, they are contended as soon as tasks run in
//!   parallel, and they never free a cycle.
//! - *Not stack maps.* Compiled loops walk arrays and their cells by pointers into the middle, and
//!   keep no other. A map would have to say for every call which register is derived from which;
//!   the guess asks nothing of the code generator but that some word points into the object or
//!   right behind it ([`Roots`]).
//! - *Not moving.* What a guessed word points at can't be moved, for the word may be a number. So
//!   fragmentation is the price; objects of one size share a span, big ones get a best fit.
//! - *What a false root retains.* A word that only looks like a pointer keeps one object and all
//!   that it reaches, until the word changes: most often a little, at worst a structure that the
//!   program has dropped, and with a dead link of a chain all that is appended to the chain
//!   meanwhile. References inside objects are exact: an `int` with the bits of an address keeps
//!   nothing.
//!
//! **Invariants.** A reference in an object is null or the address of the data of an object in this
//! heap. An object never moves, and is zero when it is new. Its locations have numbers that no
//! other object ever had. Its cells lie in the same piece of memory as its data, so they live and
//! die with it ([`layout`] is the picture). The object of globals is always alive.
//!
//! **The budget** counts objects as [`cost`] says, like the interpreter's, with one difference:
//! what can't be reached is given back. A request that does not fit is refused only after a
//! collection. What that collection could keep for a false root counts as used.
//!
//! **Cost.** A small object: two comparisons, the next bit of a word, and clearing the slot; some
//! 15 ns, collections included, if little is alive. A big one: a search among the free runs, an
//! entry in a table for each 8 KiB, and clearing what was in use before; a very big one takes fresh
//! pages instead and is not touched at all. A collection: the roots, the live objects that have
//! references in them or are arrays, and for all others a bit; dead objects are not looked at. It
//! comes when as much was allocated since the last one as was alive after it and had to be scanned
//! for roots, or some megabytes if that is more. So the cost of marking is constant for each byte
//! allocated, and memory is usually twice what was alive and at most about three times, if all that
//! is kept for reuse has the wrong shape. Near the budget that can't hold: a program whose live
//! objects leave only one n-th of it free collects n times as often.
//!
//! The files: [`layout`] what an object looks like, `kinds` what objects of a sort have in common,
//! `runs` and `space` the address range, `spans` where in it objects are, `roots` and `mark` what
//! is alive.

mod kinds;
pub(crate) mod layout;
mod mark;
mod roots;
mod runs;
mod space;
mod spans;
#[cfg(test)]
mod tests;

pub(crate) use roots::Roots;

use finishline_ir::machine::TrapKind;
use finishline_ir::{StructId, StructLayout, Type, cost};
use finishline_model::Location;
use kinds::{KindId, Kinds, Slot};
use layout::{CELL_BYTES, CELLS_OFFSET, Extent, FIRST_LOCATION_OFFSET, HEADER_BYTES, WORD_BYTES};
use space::Space;
use spans::{Room, Spans, own_span_bytes};
use std::fmt;

/// An object: the address of its first byte of data, never null.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Reference(u64);

impl Reference {
    /// As compiled code keeps it.
    pub(crate) const fn address(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object at {:#x}", self.0)
    }
}

/// At least this many bytes are allocated between two collections, by the budget's count and by
/// what is really taken.
const LEAST_BETWEEN_COLLECTIONS: u64 = 4 << 20;

/// How much address space is reserved for each byte of the budget: an array of bytes takes another
/// eight a byte for its cells, sizes are rounded up, and the holes between big objects may be too
/// short for the next.
const PER_BUDGET_BYTE: u64 = 4;
const PER_BUDGET_BYTE_SHADOWED: u64 = 9 * PER_BUDGET_BYTE;
/// And this much is there for the smallest of budgets.
const LEAST_RESERVED: u64 = 64 << 20;

const NO_ROOTS: &[u64] = &[];

/// The objects of one running program. See the module.
pub(crate) struct Heap {
    space: Space,
    spans: Spans,
    kinds: Kinds,
    globals: Reference,
    shadow: bool,
    /// The number of the next location.
    next_location: u64,
    budget: u64,
    /// What was alive after the last collection and all that was allocated since: by the budget's
    /// count, and in bytes taken.
    used: u64,
    taken: u64,
    /// A collection comes before `used` or `taken` get past these.
    used_limit: u64,
    taken_limit: u64,
}

impl Heap {
    /// A heap with nothing in it but the object of globals, all zero.
    ///
    /// `budget` is what objects may cost together, as [`cost`] counts; with `shadow` every location
    /// has a cell.
    pub(crate) fn new(
        layouts: &[StructLayout],
        globals: &[Type],
        budget: u64,
        shadow: bool,
    ) -> Result<Heap, TrapKind> {
        let per_byte = match shadow {
            true => PER_BUDGET_BYTE_SHADOWED,
            false => PER_BUDGET_BYTE,
        };
        let bytes = budget.saturating_mul(per_byte).max(LEAST_RESERVED);
        let space =
            Space::reserve(usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(|refused| {
                TrapKind::SystemMemory {
                    request: refused as u64,
                }
            })?;
        Heap::in_space(space, layouts, globals, budget, shadow)
    }

    fn in_space(
        space: Space,
        layouts: &[StructLayout],
        globals: &[Type],
        budget: u64,
        shadow: bool,
    ) -> Result<Heap, TrapKind> {
        let mut heap = Heap {
            space,
            spans: Spans::default(),
            kinds: Kinds::new(layouts, globals, shadow),
            globals: Reference(0),
            shadow,
            next_location: 0,
            budget,
            used: 0,
            taken: 0,
            used_limit: 0,
            taken_limit: 0,
        };
        heap.pace(0);
        heap.globals = heap.new_record(heap.kinds.of_globals(), &NO_ROOTS)?;
        Ok(heap)
    }

    /// The global variables.
    pub(crate) fn globals(&self) -> Reference {
        self.globals
    }

    /// Makes a struct, all zero.
    pub(crate) fn new_struct(
        &mut self,
        layout: StructId,
        roots: &dyn Roots,
    ) -> Result<Reference, TrapKind> {
        self.new_record(self.kinds.of_struct(layout), roots)
    }

    /// Makes a promise without a value.
    pub(crate) fn new_promise(
        &mut self,
        carried: Type,
        roots: &dyn Roots,
    ) -> Result<Reference, TrapKind> {
        self.new_record(self.kinds.of_promise(carried), roots)
    }

    /// Makes a lock with the number 0.
    pub(crate) fn new_lock(&mut self, roots: &dyn Roots) -> Result<Reference, TrapKind> {
        self.new_promise(Type::Int, roots)
    }

    /// Makes an array with every element zero. Fails as the interpreter does, with the same values.
    pub(crate) fn new_array(
        &mut self,
        element: Type,
        sizes: &[i64],
        roots: &dyn Roots,
    ) -> Result<Reference, TrapKind> {
        let count = count(sizes)?;
        let cost = |count| cost::elements(element, count)?.checked_add(cost::OBJECT);
        let Some((count, cost)) = count.and_then(|count| Some((count, cost(count)?))) else {
            self.collect(roots)?;
            return Err(self.over(None));
        };
        let Some(extent) = Extent::of_array(element, sizes.len(), count, self.shadow) else {
            self.make_room(cost, roots)?;
            return Err(TrapKind::SystemMemory { request: cost });
        };
        let kind = self.kinds.of_array(element, sizes.len(), extent);
        let request = Request {
            kind,
            extent,
            count,
            cost,
        };
        self.allocate(request, sizes, roots)
    }

    /// The location whose cell is there, in a live object.
    ///
    /// # Panics
    ///
    /// If there is no object.
    #[cold]
    pub(crate) fn location_of_cell(&self, address: usize) -> Location {
        let found = self.spans.find(&self.space, address);
        let found = found.expect("a cell is part of an object");
        let data = found.address + self.kinds[found.kind].prefix;
        let header = |offset: i32| self.space.word(data.wrapping_add_signed(offset as isize));
        let cells = header(CELLS_OFFSET) as usize;
        let index = if cells == 0 {
            // Of a struct: from the header downwards.
            (data - HEADER_BYTES - address) / CELL_BYTES - 1
        } else {
            (address - cells) / CELL_BYTES
        };
        Location(header(FIRST_LOCATION_OFFSET) + index as u64)
    }

    /// Frees every object that can't be reached from the globals and the roots.
    pub(crate) fn collect(&mut self, roots: &dyn Roots) -> Result<(), TrapKind> {
        self.spans.settle(&self.kinds);
        let marked = mark::mark(
            &self.space,
            &mut self.spans,
            &self.kinds,
            self.globals,
            roots,
        );
        let live = marked.map_err(|mark::OutOfMemory { request }| {
            self.spans.unmark();
            TrapKind::SystemMemory { request }
        })?;
        self.used = live.cost;
        self.taken = live.bytes;
        let ahead = self.pace(live.root_bytes);
        self.spans.sweep(&mut self.space);
        self.space.keep_dirty(ahead as usize);
        Ok(())
    }

    fn new_record(&mut self, kind: KindId, roots: &dyn Roots) -> Result<Reference, TrapKind> {
        let record = self.kinds.record(kind);
        let request = Request {
            kind,
            extent: record.extent,
            count: record.fields,
            cost: record.cost,
        };
        self.allocate(request, &[], roots)
    }

    /// Makes an object, all zero but for its header and sizes.
    #[inline]
    fn allocate(
        &mut self,
        request: Request,
        sizes: &[i64],
        roots: &dyn Roots,
    ) -> Result<Reference, TrapKind> {
        let Request {
            kind,
            extent,
            count,
            cost,
        } = request;
        let slot = self.kinds[kind].slot;
        let bytes = match slot {
            Some(slot) => u64::from(slot.bytes),
            None => own_span_bytes(extent.bytes),
        };
        if self.used.saturating_add(cost) > self.used_limit
            || self.taken.saturating_add(bytes) > self.taken_limit
        {
            self.make_room(cost, roots)?;
        }
        let room = match self.room(kind, slot, extent.bytes) {
            Some(room) => room,
            None => {
                self.collect(roots)?;
                self.room(kind, slot, extent.bytes)
                    .ok_or(TrapKind::SystemMemory { request: cost })?
            }
        };
        self.used += cost;
        self.taken += bytes;

        let words = self.space.words_mut(room.address, extent.bytes);
        if !room.zeroed {
            words.fill(0);
        }
        let data = room.address + extent.prefix;
        let cells = extent.cells.map_or(0, |cells| data + cells);
        let (before, _) = words.split_at_mut(extent.prefix / WORD_BYTES);
        let (before, header) = before.split_at_mut(before.len() - HEADER_BYTES / WORD_BYTES);
        header.copy_from_slice(&[count, cells as u64, self.next_location]);
        for (place, &size) in before.iter_mut().rev().zip(sizes) {
            *place = size as u64;
        }
        self.next_location += count;
        Ok(Reference(data as u64))
    }

    #[inline]
    fn room(&mut self, kind: KindId, slot: Option<Slot>, bytes: usize) -> Option<Room> {
        match slot {
            Some(slot) => self.spans.take_slot(&mut self.space, kind, slot),
            None => self.spans.take_own_span(&mut self.space, kind, bytes),
        }
    }

    /// Collects, and refuses what then still exceeds the budget.
    #[cold]
    fn make_room(&mut self, cost: u64, roots: &dyn Roots) -> Result<(), TrapKind> {
        self.collect(roots)?;
        match self.used.checked_add(cost) {
            Some(total) if total <= self.budget => Ok(()),
            _ => Err(self.over(Some(cost))),
        }
    }

    fn over(&self, request: Option<u64>) -> TrapKind {
        TrapKind::Memory {
            request,
            used: self.used,
            budget: self.budget,
        }
    }

    /// Decides when the next collection comes, and returns how many bytes will be taken until then
    /// at most.
    fn pace(&mut self, root_bytes: u64) -> u64 {
        let ahead = |live: u64| (live + root_bytes).max(LEAST_BETWEEN_COLLECTIONS);
        self.used_limit = (self.used + ahead(self.used)).min(self.budget);
        self.taken_limit = self.taken + ahead(self.taken);
        ahead(self.taken)
    }
}

/// What an object is to be.
struct Request {
    kind: KindId,
    extent: Extent,
    count: u64,
    cost: u64,
}

/// How many elements an array has; `None` if that is no number of 64 bits.
fn count(sizes: &[i64]) -> Result<Option<u64>, TrapKind> {
    let mut count = Some(1u64);
    let mut empty = false;
    for &size in sizes {
        let size = u64::try_from(size).map_err(|_| TrapKind::NegativeSize { size })?;
        count = count.and_then(|count| count.checked_mul(size));
        empty |= size == 0;
    }
    Ok(if empty { Some(0) } else { count })
}
