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
//! **Workers.** Each worker of a run has a [`Heap`] of its own on the same ground. It allocates
//! from spans that it has for itself, within a part of the budget that it was granted. Only for
//! another span, another grant or a big object it locks the ground, which all share. A collection
//! needs all workers to be [stopped](World).
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

pub(crate) use kinds::Shapes;
pub(crate) use roots::{Roots, World};

use crossbeam_utils::CachePadded;
use finishline_ir::machine::TrapKind;
use finishline_ir::{StructId, Type, cost};
use finishline_model::Location;
use kinds::{KindId, Kinds, Slot};
use layout::{CELLS_OFFSET, Cells, Extent, FIRST_LOCATION_OFFSET, HEADER_BYTES, WORD_BYTES};
use space::{Area, Space};
use spans::{Cursor, Room, Spans, own_span_bytes};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

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

/// How much address space is reserved for each byte of the budget, and for each byte of a cell that
/// an array of bytes has beside each element: sizes are rounded up, and the holes between big
/// objects may be too short for the next.
const PER_BUDGET_BYTE: u64 = 4;
/// And this much is there for the smallest of budgets.
const LEAST_RESERVED: u64 = 64 << 20;

const NO_ROOTS: &[u64] = &[];

/// How many locations a worker among several numbers at a time.
const LOCATIONS_AT_ONCE: u64 = 4096;
/// The least that a worker among several is granted at a time, in bytes.
const LEAST_GRANT: u64 = 64 << 10;
/// A worker among several is granted such a part of its share of what is left.
const GRANTS_PER_SHARE: u64 = 8;

/// The objects of a running program, as one of its workers sees them. See the module.
pub(crate) struct Heap {
    common: Arc<Common>,
    /// Listed in [`Ground::workers`].
    own: *mut Own,
}

// SAFETY: what belongs to the worker moves with it. The list that has its address is used only
// while all workers are stopped, or by the worker itself.
unsafe impl Send for Heap {}

/// What all workers have in common.
struct Common {
    kinds: Kinds,
    area: Area,
    cells: Cells,
    budget: u64,
    globals: OnceLock<Reference>,
    /// The number of the next location that no worker has.
    next_location: CachePadded<AtomicU64>,
    ground: CachePadded<Mutex<Ground>>,
}

/// What one worker uses at a time, rarely: once for many small objects, or for a big one.
struct Ground {
    space: Space,
    spans: Spans,
    /// What was alive after the last collection and all that was granted since: by the budget's
    /// count, and in bytes taken.
    used: u64,
    taken: u64,
    /// A collection comes before `used` or `taken` get past these.
    used_limit: u64,
    taken_limit: u64,
    workers: Vec<*mut Own>,
}

// SAFETY: as for `Heap`.
unsafe impl Send for Ground {}

/// What belongs to one worker.
#[derive(Default)]
struct Own {
    /// By kind.
    cursors: Vec<Cursor>,
    /// What it may still allocate: by the budget's count, and in bytes taken.
    used_left: u64,
    taken_left: u64,
    /// The numbers of its next locations.
    locations: Range<u64>,
}

impl Heap {
    /// A heap with nothing in it but the object of globals, all zero, for one worker.
    ///
    /// `budget` is what objects may cost together, as [`cost`] counts. Every location
    /// has such a cell.
    pub(crate) fn new(shapes: Shapes<'_>, budget: u64, cells: Cells) -> Result<Heap, TrapKind> {
        let per_byte = PER_BUDGET_BYTE * (1 + cells.bytes() as u64);
        let bytes = budget.saturating_mul(per_byte).max(LEAST_RESERVED);
        let space =
            Space::reserve(usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(|refused| {
                TrapKind::SystemMemory {
                    request: refused as u64,
                }
            })?;
        Heap::in_space(space, shapes, budget, cells)
    }

    fn in_space(
        space: Space,
        shapes: Shapes<'_>,
        budget: u64,
        cells: Cells,
    ) -> Result<Heap, TrapKind> {
        let kinds = Kinds::new(shapes, cells);
        let area = space.area();
        let mut ground = Ground {
            space,
            spans: Spans::default(),
            used: 0,
            taken: 0,
            used_limit: 0,
            taken_limit: 0,
            workers: Vec::new(),
        };
        ground.pace(0, budget);
        let of_globals = kinds.of_globals();
        let common = Common {
            kinds,
            area,
            cells,
            budget,
            globals: OnceLock::new(),
            next_location: CachePadded::new(AtomicU64::new(0)),
            ground: CachePadded::new(Mutex::new(ground)),
        };
        let mut heap = Heap::of_worker(Arc::new(common));
        // A worker alone numbers all locations in order.
        heap.own().locations = 0..u64::MAX;
        let globals = heap.new_record(of_globals, &NO_ROOTS)?;
        // Nobody else has set it.
        let _ = heap.common.globals.set(globals);
        Ok(heap)
    }

    fn of_worker(common: Arc<Common>) -> Heap {
        let own = Box::into_raw(Box::new(Own {
            cursors: vec![Cursor::NONE; common.kinds.len()],
            ..Own::default()
        }));
        common.ground().workers.push(own);
        Heap { common, own }
    }

    /// The same heap as other workers see it. The first one must not have run yet.
    pub(crate) fn for_more_workers(&mut self, count: usize) -> Vec<Heap> {
        let common = Arc::clone(&self.common);
        let own = self.own();
        let next = own.locations.start;
        own.locations = next..next;
        common.next_location.store(next, Ordering::Relaxed);
        let mut ground = common.ground();
        ground.used -= std::mem::take(&mut own.used_left);
        ground.taken -= std::mem::take(&mut own.taken_left);
        drop(ground);
        (0..count)
            .map(|_| Heap::of_worker(Arc::clone(&common)))
            .collect()
    }

    /// Whether objects have a word for all of them.
    pub(crate) fn has_phases(&self) -> bool {
        self.common.cells == Cells::WordInPhases
    }

    /// The global variables.
    pub(crate) fn globals(&self) -> Reference {
        self.common.globals()
    }

    /// Makes a struct, all zero.
    pub(crate) fn new_struct(
        &mut self,
        layout: StructId,
        world: &dyn World,
    ) -> Result<Reference, TrapKind> {
        self.new_record(self.common.kinds.of_struct(layout), world)
    }

    /// Makes a promise without a value.
    pub(crate) fn new_promise(
        &mut self,
        carried: Type,
        world: &dyn World,
    ) -> Result<Reference, TrapKind> {
        self.new_record(self.common.kinds.of_promise(carried), world)
    }

    /// Makes a lock with the number 0.
    pub(crate) fn new_lock(&mut self, world: &dyn World) -> Result<Reference, TrapKind> {
        self.new_promise(Type::Int, world)
    }

    /// Makes an array with every element zero. Fails as the interpreter does, with the same values.
    pub(crate) fn new_array(
        &mut self,
        element: Type,
        sizes: &[i64],
        world: &dyn World,
    ) -> Result<Reference, TrapKind> {
        let count = count(sizes)?;
        let cost = |count| cost::elements(element, count)?.checked_add(cost::OBJECT);
        let common = &self.common;
        let Some((count, cost)) = count.and_then(|count| Some((count, cost(count)?))) else {
            return Err(in_stopped(world, |roots| {
                let mut ground = common.ground();
                match ground.collect(common, roots) {
                    Ok(()) => ground.over(None, common.budget),
                    Err(kind) => kind,
                }
            }));
        };
        let Some(extent) = Extent::of_array(element, sizes.len(), count, common.cells) else {
            return Err(in_stopped(world, |roots| {
                let mut ground = common.ground();
                match ground.make_room(cost, common, roots) {
                    Ok(()) => TrapKind::SystemMemory { request: cost },
                    Err(kind) => kind,
                }
            }));
        };
        let kind = common.kinds.of_array(element, sizes.len(), extent);
        let request = Request {
            kind,
            extent,
            count,
            cost,
        };
        self.allocate(request, sizes, world)
    }

    /// The location whose cell is there, in a live object.
    ///
    /// # Panics
    ///
    /// If there is no object.
    #[cold]
    pub(crate) fn location_of_cell(&self, address: usize) -> Location {
        let Ground { space, spans, .. } = &*self.common.ground();
        let found = spans.find(space, address);
        let found = found.expect("a cell is part of an object");
        let data = found.address + self.common.kinds[found.kind].prefix;
        let header = |offset: i32| space.word(data.wrapping_add_signed(offset as isize));
        let cells = header(CELLS_OFFSET) as usize;
        let bytes = self.common.cells.bytes();
        let index = if cells == 0 {
            // Of a struct: from the first one downwards.
            data.wrapping_add_signed(self.common.cells.of_field(0) as isize)
                .wrapping_sub(address)
                / bytes
        } else {
            (address - cells) / bytes
        };
        Location(header(FIRST_LOCATION_OFFSET) + index as u64)
    }

    fn new_record(&mut self, kind: KindId, world: &dyn World) -> Result<Reference, TrapKind> {
        let record = self.common.kinds.record(kind);
        let request = Request {
            kind,
            extent: record.extent,
            count: record.fields,
            cost: record.cost,
        };
        self.allocate(request, &[], world)
    }

    #[inline]
    fn own(&mut self) -> &mut Own {
        // SAFETY: alive until `self` is dropped. Others use it only while all workers are stopped,
        // and no borrow of it outlives that.
        unsafe { &mut *self.own }
    }

    /// Makes an object, all zero but for its header and sizes.
    #[inline]
    fn allocate(
        &mut self,
        request: Request,
        sizes: &[i64],
        world: &dyn World,
    ) -> Result<Reference, TrapKind> {
        let slot = self.common.kinds[request.kind].slot;
        let room = match slot.and_then(|slot| self.own().take_slot(request, slot)) {
            Some(room) => room,
            None => self.find_room(request, slot, world)?,
        };
        let Request { extent, count, .. } = request;
        // SAFETY: the room is part of the space, and the worker has it for itself.
        let words = unsafe { self.common.area.words_mut(room.address, extent.bytes) };
        if !room.zeroed {
            words.fill(0);
        }
        let data = room.address + extent.prefix;
        let cells = extent.cells.map_or(0, |cells| data + cells);
        let first_location = self.number_locations(count);
        let (before, _) = words.split_at_mut(extent.prefix / WORD_BYTES);
        let (before, header) = before.split_at_mut(before.len() - HEADER_BYTES / WORD_BYTES);
        header.copy_from_slice(&[count, cells as u64, first_location]);
        for (place, &size) in before.iter_mut().rev().zip(sizes) {
            *place = size as u64;
        }
        Ok(Reference(data as u64))
    }

    /// The first of as many new numbers.
    #[inline]
    fn number_locations(&mut self, count: u64) -> u64 {
        let Range { start, end } = self.own().locations;
        if end - start < count {
            return self.number_more_locations(count);
        }
        self.own().locations.start = start + count;
        start
    }

    #[cold]
    fn number_more_locations(&mut self, count: u64) -> u64 {
        let many = count.max(LOCATIONS_AT_ONCE);
        // Numbers alone are taken: nothing is ordered by it.
        let start = self.common.next_location.fetch_add(many, Ordering::Relaxed);
        self.own().locations = start + count..start + many;
        start
    }

    /// Room for an object that does not go where the last one of its kind went.
    #[cold]
    fn find_room(
        &mut self,
        request: Request,
        slot: Option<Slot>,
        world: &dyn World,
    ) -> Result<Room, TrapKind> {
        let Heap { common, own } = &*self;
        let granted = |ground: &mut Ground, grant| {
            // SAFETY: as in `Heap::own`.
            let own = unsafe { &mut **own };
            ground.room(own, request, slot, grant)
        };
        if let Some(room) = granted(&mut common.ground(), Grant::Usual) {
            return Ok(room);
        }
        in_stopped(world, |roots| {
            let ground = &mut common.ground();
            // Another worker may have collected before all were stopped.
            if let Some(room) = granted(ground, Grant::Usual) {
                return Ok(room);
            }
            ground.make_room(request.cost, common, roots)?;
            let room = granted(ground, Grant::Needed);
            room.ok_or(TrapKind::SystemMemory {
                request: request.cost,
            })
        })
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        let own = self.own;
        self.common.ground().workers.retain(|it| *it != own);
        // SAFETY: made by `of_worker`, and nobody has its address any more.
        drop(unsafe { Box::from_raw(own) });
    }
}

impl Common {
    fn ground(&self) -> MutexGuard<'_, Ground> {
        // What a panic leaves is whole enough to be looked at.
        self.ground.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn globals(&self) -> Reference {
        self.globals.get().copied().unwrap_or(Reference(0))
    }
}

impl Own {
    /// Room where the cursor is, if the grants allow it.
    #[inline]
    fn take_slot(&mut self, request: Request, slot: Slot) -> Option<Room> {
        let bytes = u64::from(slot.bytes);
        if request.cost > self.used_left || bytes > self.taken_left {
            return None;
        }
        let room = self.cursors[request.kind.index()].take(slot)?;
        self.used_left -= request.cost;
        self.taken_left -= bytes;
        Some(room)
    }
}

/// How much of what is left a worker gets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grant {
    /// Its part, as long as no collection is due.
    Usual,
    /// What it needs, even if a collection is due again.
    Needed,
}

impl Ground {
    /// Room for an object, if the worker gets the grants for it and the range has any.
    fn room(
        &mut self,
        own: &mut Own,
        request: Request,
        slot: Option<Slot>,
        grant: Grant,
    ) -> Option<Room> {
        let Request {
            kind, extent, cost, ..
        } = request;
        let bytes = match slot {
            Some(slot) => u64::from(slot.bytes),
            None => own_span_bytes(extent.bytes),
        };
        let workers = self.workers.len() as u64;
        let more = |left: u64, needed: u64, available: u64| {
            let missing = needed.saturating_sub(left);
            let part = match workers {
                1 => available,
                _ => (available / (workers * GRANTS_PER_SHARE)).max(LEAST_GRANT.min(available)),
            };
            match missing {
                0 => Some(0),
                _ if missing <= available => Some(part.max(missing)),
                _ => (grant == Grant::Needed).then_some(missing),
            }
        };
        let used = more(
            own.used_left,
            cost,
            self.used_limit.saturating_sub(self.used),
        )?;
        let taken = more(
            own.taken_left,
            bytes,
            self.taken_limit.saturating_sub(self.taken),
        )?;
        self.used += used;
        own.used_left += used;
        self.taken += taken;
        own.taken_left += taken;
        let room = match slot {
            Some(slot) => {
                let cursor = &mut own.cursors[kind.index()];
                match cursor.take(slot) {
                    Some(room) => Some(room),
                    None => {
                        self.spans
                            .find_free_slots(cursor, &mut self.space, kind, slot)?;
                        cursor.take(slot)
                    }
                }
            }
            None => self
                .spans
                .take_own_span(&mut self.space, kind, extent.bytes),
        }?;
        own.used_left -= cost;
        own.taken_left -= bytes;
        Some(room)
    }

    /// Frees every object that can't be reached from the globals and the roots. All workers must be
    /// stopped.
    fn collect(&mut self, common: &Common, roots: &dyn Roots) -> Result<(), TrapKind> {
        for own in &self.workers {
            // SAFETY: alive, as it is listed, and its worker is stopped or is the caller, who does
            // not use it meanwhile.
            let own = unsafe { &mut **own };
            self.spans.settle(&mut own.cursors);
            self.used -= std::mem::take(&mut own.used_left);
            self.taken -= std::mem::take(&mut own.taken_left);
        }
        let marked = mark::mark(
            &self.space,
            &mut self.spans,
            &common.kinds,
            common.globals(),
            roots,
        );
        let live = marked.map_err(|mark::OutOfMemory { request }| {
            self.spans.unmark();
            TrapKind::SystemMemory { request }
        })?;
        self.used = live.cost;
        self.taken = live.bytes;
        let ahead = self.pace(live.root_bytes, common.budget);
        self.spans.sweep(&mut self.space, &common.kinds);
        self.space.keep_dirty(ahead as usize);
        Ok(())
    }

    /// Collects, and refuses what then still exceeds the budget.
    fn make_room(&mut self, cost: u64, common: &Common, roots: &dyn Roots) -> Result<(), TrapKind> {
        self.collect(common, roots)?;
        match self.used.checked_add(cost) {
            Some(total) if total <= common.budget => Ok(()),
            _ => Err(self.over(Some(cost), common.budget)),
        }
    }

    fn over(&self, request: Option<u64>, budget: u64) -> TrapKind {
        TrapKind::Memory {
            request,
            used: self.used,
            budget,
        }
    }

    /// Decides when the next collection comes, and returns how many bytes will be taken until then
    /// at most.
    fn pace(&mut self, root_bytes: u64, budget: u64) -> u64 {
        let ahead = |live: u64| (live + root_bytes).max(LEAST_BETWEEN_COLLECTIONS);
        self.used_limit = (self.used + ahead(self.used)).min(budget);
        self.taken_limit = self.taken + ahead(self.taken);
        ahead(self.taken)
    }
}

/// Does something while all workers are stopped.
fn in_stopped<T>(world: &dyn World, work: impl FnOnce(&dyn Roots) -> T) -> T {
    let mut work = Some(work);
    let mut result = None;
    world.stopped(&mut |roots| {
        if let Some(work) = work.take() {
            result = Some(work(roots));
        }
    });
    match result {
        Some(result) => result,
        None => unreachable!("a world that is stopped does what it was stopped for"),
    }
}

/// What an object is to be.
#[derive(Clone, Copy)]
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
