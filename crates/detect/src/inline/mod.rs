//! The first pass for compiled code. Cells lie beside the objects, and a few instructions of the
//! program itself decide most repeated checks.
//!
//! The code and the detector share one [`FastPath`]. The detector keeps it true for the running
//! step. `fast_path` describes the rules. A location's cell is one word, with the writer in the
//! lower half and the reader in the upper half
//! ([`history::WriteCoversReads`](crate::history::WriteCoversReads)).
//!
//! **Locks, atomic accesses, isolated blocks.** A location that is accessed under a lock gets a
//! full history in a side table ([`guarded`]). Its cell becomes [`ELSEWHERE`], which the fast path
//! never matches. While a lock is held, the fast path matches no cell. So programs with locks pay
//! for them only at the locations concerned, and only until all those accesses precede everything
//! still to come. An atomic access, and an access in an isolated block, counts as an access under a
//! lock.
//!
//! The caller hands over cells, one at a time or as a range ([`range`]). Nothing here follows an
//! address.

mod fast_path;
mod guarded;
mod preceding;
mod range;
mod readers;

pub use fast_path::{Change, ELSEWHERE, FastPath, Limits, SLOTS, is_ended, reference, referred};
use fast_path::{NO_READER, packed, slot_of, unpacked};
use preceding::Preceding;

use crate::Failure;
use crate::findings::{Findings, Found};
use crate::history::{
    ByLockset, Field, Fields, History, Meeting, Now, StampSets, WriteCoversReads,
};
use crate::locations::LocationSet;
use crate::locks::{Held, LocksetId};
use crate::order::{Contexts, NOBODY, OneAtATime, Order, Running, Stamp};
use finishline_model::hash::IdMap;
use finishline_model::{AccessKind, Event, Location, Observer, TaskId};
use std::ptr::NonNull;

/// Whether a stamp is parallel. Empty fields and the own stamp are most frequent, and never
/// parallel.
#[inline]
fn is_parallel<O: Order>(order: &mut O, strand: O::Strand, now: Stamp, earlier: Stamp) -> bool {
    earlier != NOBODY && earlier != now && order.parallel(strand, earlier)
}

#[derive(Debug)]
pub struct Inline<O: Order> {
    order: O,
    /// Of the running task.
    strand: O::Strand,
    fast: Option<NonNull<FastPath>>,
    stamp: Stamp,
    /// The task inside an isolated block, and whether it is the one that goes on.
    isolated_task: Option<TaskId>,
    isolated: bool,
    held: Held,
    /// Whether the memo has entries.
    memorised: bool,
    preceding: Preceding,
    /// The histories of locations that were accessed in isolated blocks, and under locks.
    isolated_cells: IdMap<Location, [Stamp; 4]>,
    elsewhere: IdMap<Location, ByLockset>,
    /// The readers of locations that have several.
    readers: StampSets,
    found: Found,
    conflicts: Option<Vec<Conflict>>,
    /// See [`Inline::be_brief`].
    in_brief: bool,
}

/// What an access to one cell says of equal cells in the same step.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// Nothing: it races, or its history is elsewhere.
    OfItsOwn,
    /// They become the same.
    Alike,
    /// They become the same, and so do those of other writers that precede the step: a read is
    /// covered by this reader, or by this set that the step is in now.
    Beside(Stamp),
}

/// Two parallel accesses that conflict: the present one and a remembered one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    pub location: Location,
    /// The kind of the present access.
    pub kind: AccessKind,
    /// The stamp of the earlier access.
    pub earlier: Stamp,
    /// The locks that protected the earlier access, including atomicity.
    pub locks: LocksetId,
    /// Whether they race, or what keeps them from racing.
    pub meeting: Meeting,
}

impl<O: Order> Inline<O> {
    pub fn new() -> Result<Self, Failure> {
        Ok(Inline {
            order: O::new()?,
            strand: O::Strand::default(),
            fast: None,
            stamp: NOBODY,
            isolated_task: None,
            isolated: false,
            held: Held::new(),
            memorised: true,
            preceding: Preceding::new(),
            isolated_cells: IdMap::default(),
            elsewhere: IdMap::default(),
            readers: StampSets::new(),
            found: Found::new()?,
            conflicts: None,
            in_brief: false,
        })
    }

    /// Attaches a fast path. From here on the detector keeps it true.
    ///
    /// # Safety
    ///
    /// The fast path must be valid until [`Inline::detach`]. Only compiled code may use it, and
    /// only while the detector does not run.
    #[allow(unsafe_code)]
    pub unsafe fn attach(&mut self, fast: NonNull<FastPath>) {
        self.fast = Some(fast);
    }

    /// Forgets the fast path.
    pub fn detach(&mut self) {
        self.fast = None;
    }

    /// Follows an event of the run.
    ///
    /// This is not an [`Observer`](finishline_model::Observer): an access without its cell can't be
    /// checked here. So there is no method that takes an access alone. Accesses come with their
    /// cells, by [`Inline::undecided`], [`Inline::range`] and related methods.
    #[inline]
    pub fn event(&mut self, event: &Event) {
        if self.found.failure.is_none() {
            self.found.failure = self.follow(event).err();
        }
    }

    /// Another task goes on than the one of the latest event. An order of depth-first runs knows
    /// without being told.
    #[inline]
    pub fn resume(&mut self, task: TaskId) {
        if O::DEPTH_FIRST {
            return;
        }
        self.isolated = self.isolated_task == Some(task);
        let held = self.held.goes_on(task).map_err(Failure::from);
        if let Err(failure) = held.and_then(|()| self.order.goes_on(task)) {
            self.found.fail(failure);
        }
        self.strand = self.order.strand(task);
        self.begin_step();
    }

    pub fn order(&self) -> &O {
        &self.order
    }

    /// The findings of a run that has ended or was cut short. `accesses` is the number of accesses
    /// that were checked one at a time.
    pub fn finish(mut self, accesses: u64) -> Result<Findings, Failure> {
        self.found.statistics.accesses += accesses;
        self.found.lock_cycle = self.held.has_cycle();
        let elsewhere: usize = self.elsewhere.values().map(ByLockset::used_bytes).sum();
        let location_bytes = elsewhere
            + self.elsewhere.capacity() * size_of::<(Location, ByLockset)>()
            + self.isolated_cells.capacity() * size_of::<(Location, [Stamp; 4])>()
            + self.readers.used_bytes();
        self.found.finish(&self.order, location_bytes)
    }

    /// Counts an event that need not be followed: no access and no other event depends on it.
    #[inline]
    pub fn count(&mut self, event: &Event) {
        self.found.statistics.event(event);
    }

    /// Counts checks of ranges that need not be made, and their locations.
    pub fn count_ranges(&mut self, ranges: u64, locations: u64) {
        self.found.statistics.count_ranges(ranges, locations);
    }

    /// The racing locations so far.
    pub fn racing(&self) -> &LocationSet {
        self.found.racing()
    }

    /// Why the detector could not go on, if it failed. Then nothing is established.
    pub fn failure(&self) -> Option<&Failure> {
        self.found.failure.as_ref()
    }

    /// Whether two parallel isolated blocks conflicted so far.
    pub fn isolated_conflict(&self) -> bool {
        self.found.isolated_conflict
    }

    /// Whether only what was observed in this run ordered some conflict so far.
    pub fn synchronised(&self) -> bool {
        self.found.synchronised
    }

    /// The locks that are held, and all locksets so far.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// The writer and the readers that a cell remembers, unless its history is elsewhere.
    pub fn remembered(&self, cell: u64) -> Option<(Stamp, Vec<Stamp>)> {
        let [writer, readers] = unpacked(cell);
        (cell != ELSEWHERE).then(|| (writer, self.readers.stamps(readers).collect()))
    }

    /// Starts over for another run, with fresh cells, and keeps the memory.
    pub fn clear(&mut self) {
        self.order.clear();
        self.isolated_cells.clear();
        self.elsewhere.clear();
        self.readers.clear();
        self.found.clear();
        self.held.clear();
        self.preceding = Preceding::new();
        (self.isolated_task, self.isolated) = (None, false);
        (self.stamp, self.memorised) = (NOBODY, true);
    }

    /// An access that the fast path did not decide. `location` gives its location.
    #[inline]
    pub fn undecided(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        slot: usize,
        location: impl Fn() -> Location,
    ) {
        let before = *cell;
        let outcome = self.access(kind, cell, location);
        let after = *cell;
        self.memorise(kind, slot % SLOTS, Change { before, after }, outcome);
    }

    /// Notes for the rest of the step what an access made of a cell.
    #[inline]
    fn memorise(&mut self, kind: AccessKind, slot: usize, change: Change, outcome: Outcome) {
        let Some(fast) = self.fast() else { return };
        match outcome {
            Outcome::OfItsOwn => return,
            Outcome::Beside(reader) => fast.beside[slot] = reader,
            Outcome::Alike if O::DEPTH_FIRST => return,
            Outcome::Alike => {}
        }
        if !O::DEPTH_FIRST {
            fast.changed[kind as usize][slot] = change;
        }
        self.memorised = true;
    }

    /// An access by the rules of the history.
    #[inline]
    fn access(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        location: impl Fn() -> Location,
    ) -> Outcome {
        if self.is_locked() || *cell == ELSEWHERE {
            self.access_elsewhere(kind, cell, location());
            return Outcome::OfItsOwn;
        }
        self.access_unlocked(kind, cell, location)
    }

    /// An access without locks to a location that was never accessed under locks.
    #[inline]
    fn access_unlocked(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        location: impl Fn() -> Location,
    ) -> Outcome {
        let before = *cell;
        if StampSets::is_set(unpacked(before)[1]) || self.order.knows_more(self.strand) {
            return self.access_readers(kind, cell, &location);
        }
        let (stamp, strand, order) = (self.stamp, self.strand, &mut self.order);
        let now = Now {
            stamp,
            kind,
            isolated: false,
        };
        let done = WriteCoversReads::transition(unpacked(before), now, |earlier| {
            is_parallel(order, strand, stamp, earlier)
        });
        *cell = packed(done.cell);
        if !done.races.is_empty() {
            let location = location();
            self.found.race(location);
            self.tell(kind, location, done.races, &unpacked(before), Meeting::Race);
            return Outcome::OfItsOwn;
        }
        let [_, reader] = done.cell;
        let left_alone = kind == AccessKind::Read && done.recorded.is_none();
        if left_alone && !self.order.stands_for_now(self.strand, reader) {
            return self.add_reader(cell);
        }
        match left_alone {
            true => Outcome::Beside(reader),
            false => Outcome::Alike,
        }
    }

    /// The end of an object: a write of its locations, from `first` on, by the running step under
    /// its locks. If no access under a lock is remembered, the write is remembered without locks. A
    /// later access is wrong whatever locks its task holds, and freeing a big object under a lock
    /// then costs the same as without one.
    pub fn end_of_object(&mut self, cells: &mut [u64], first: Location, piece: u64) {
        if !self.is_locked() {
            self.range_of_pieces(AccessKind::Write, cells, 1, first, piece);
            return;
        }
        for (offset, cell) in cells.iter_mut().enumerate() {
            let location = first.offset(offset as u64 * piece);
            if *cell == ELSEWHERE {
                self.access_elsewhere(AccessKind::Write, cell, location);
            } else {
                self.access_unlocked(AccessKind::Write, cell, || location);
            }
        }
    }

    /// Marks cells of an object that has ended, so that no fast path decides the next access of
    /// them: only a writer is left, and it is the end of the object, made as `end`, where nothing
    /// is remembered. This loses and adds no race. After the end, whatever is parallel to the
    /// reader of a cell is parallel to its writer, or the location races already. A cell whose
    /// history is elsewhere stays.
    pub fn mark_ended(cells: &mut [u64], end: Stamp) {
        for cell in cells {
            if *cell != ELSEWHERE {
                let [writer, _] = unpacked(*cell);
                let writer = if writer == NOBODY { end } else { writer };
                *cell = packed([writer, NOBODY]);
            }
        }
    }

    #[cold]
    fn tell(
        &mut self,
        kind: AccessKind,
        location: Location,
        fields: Fields,
        cell: &[Stamp],
        meeting: Meeting,
    ) {
        if let Some(conflicts) = &mut self.conflicts {
            // A write may stand for reads too.
            let told_already = |field: &Field| {
                *field == Field::Reader
                    && cell[Field::Reader as usize] == cell[Field::Writer as usize]
            };
            let fields = fields.iter().filter(|field| !told_already(field));
            conflicts.extend(fields.map(|field| Conflict {
                location,
                kind,
                earlier: cell[field as usize],
                locks: LocksetId::NONE,
                meeting,
            }));
        }
    }

    /// Copies the history of a location, as if each access had been to both locations. The caller
    /// copies the cell.
    pub fn copy_history(&mut self, from: Location, to: Location) {
        if let Some(history) = self.elsewhere.get(&from).cloned() {
            self.elsewhere.insert(to, history);
        }
        if let Some(history) = self.isolated_cells.get(&from).copied() {
            self.isolated_cells.insert(to, history);
        }
    }

    /// Forgets the history of a location. The caller clears the cell.
    pub fn forget_history(&mut self, location: Location) {
        self.elsewhere.remove(&location);
        self.isolated_cells.remove(&location);
    }

    /// From here on only races need be complete. That some conflict is no race only because of
    /// locks, or of what was observed, is found, but not every such conflict.
    pub fn be_brief(&mut self) {
        self.in_brief = true;
    }

    /// Starts keeping conflicts, for [`Inline::conflicts`].
    pub fn keep_conflicts(&mut self) {
        self.conflicts = Some(Vec::new());
    }

    #[inline]
    pub fn has_conflicts(&self) -> bool {
        self.conflicts
            .as_ref()
            .is_some_and(|conflicts| !conflicts.is_empty())
    }

    /// Takes the conflicts found since the last call.
    pub fn conflicts(&mut self) -> std::vec::Drain<'_, Conflict> {
        self.conflicts.get_or_insert_default().drain(..)
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.isolated || self.held.now() != LocksetId::NONE
    }

    #[allow(unsafe_code)]
    #[inline]
    fn fast(&mut self) -> Option<&mut FastPath> {
        // SAFETY: valid and used by nobody else now, by the contract of `attach`.
        self.fast.map(|mut fast| unsafe { fast.as_mut() })
    }

    fn follow(&mut self, event: &Event) -> Result<(), Failure> {
        self.found.statistics.event(event);
        match *event {
            Event::Alloc { .. } => return Ok(()),
            Event::IsolatedBegin { task, .. } => self.isolated_task = Some(task),
            Event::IsolatedEnd { .. } => self.isolated_task = None,
            _ => {}
        }
        self.isolated = self.isolated_task == Some(event.task());
        match O::DEPTH_FIRST {
            true => self.held.event(event)?,
            false => self.held.event_in_turn(event)?,
        }
        self.order.event(event)?;
        let before = std::mem::replace(&mut self.strand, self.order.strand(event.task()));
        let gets = matches!(event, Event::PromiseGet { .. });
        // A get of what the task knows leaves all that was found out about its step.
        if !gets || !self.order.is_same_moment(before, self.strand) {
            self.begin_step();
        }
        Ok(())
    }

    #[inline]
    fn begin_step(&mut self) {
        let strand = self.strand;
        self.stamp = self.order.stamp(strand);
        self.readers.begin_step();
        let (stamp, memorised) = (self.stamp, self.memorised);
        let locked = self.is_locked();
        self.memorised = false;
        let mut limits = Limits {
            me: stamp,
            serial_below: self.order.serial_below(strand),
            parallel_above: self.order.parallel_above(strand),
            own: self.order.own(strand),
            settled: packed([stamp; 2]),
            ..FastPath::IDLE.limits
        };
        if !O::DEPTH_FIRST {
            limits.first_set = self.readers.next();
            limits.sets = NO_READER - limits.first_set;
        }
        if locked {
            limits = FastPath::IDLE.limits;
        }
        let Some(fast) = self.fast() else { return };
        limits.era = fast.limits.era + 1;
        fast.limits = limits;
        if memorised {
            fast.beside = FastPath::IDLE.beside;
        }
        if memorised && !O::DEPTH_FIRST {
            fast.changed = FastPath::IDLE.changed;
        }
    }
}

impl<O: Order<Strand = Running>> Inline<Contexts<O>> {
    /// The running step goes on, and remembers its accesses anew from here on.
    pub fn begin_part(&mut self) {
        self.order.begin_part();
        self.begin_step();
    }

    /// The conflicts found since they were taken last: the tags of the earlier access and of the
    /// present one, and how they meet.
    pub fn conflicts_of_sites(&self) -> impl Iterator<Item = ([u32; 2], Meeting)> {
        let tag = |context| self.order.of(context)[1];
        let now = tag(self.stamp);
        let all = self.conflicts.iter().flatten();
        all.map(move |conflict| ([tag(conflict.earlier), now], conflict.meeting))
    }

    /// Sets the context of the running step for the next accesses.
    #[inline]
    pub fn speak_as(&mut self, context: Stamp) {
        self.stamp = context;
        let locked = self.is_locked();
        if let Some(fast) = self.fast()
            && !locked
        {
            fast.limits.settled = packed([context; 2]);
        }
    }

    /// An access of these cells, from `first` on. Each cell stands for `piece` consecutive
    /// locations. [Conflicts](Inline::keep_conflicts) must be kept, and the earlier ones taken.
    pub fn few(&mut self, kind: AccessKind, cells: &mut [u64], first: Location, piece: u64) {
        // The latest cell before and after. An equal cell becomes the same.
        let mut latest = None;
        for (offset, cell) in cells.iter_mut().enumerate() {
            let before = *cell;
            if let Some((same, after)) = latest
                && same == before
            {
                *cell = after;
                continue;
            }
            let slot = slot_of(unpacked(before)[1]);
            let decided = self.fast().and_then(|fast| fast.decide(kind, before, slot));
            if let Some(after) = decided {
                *cell = after;
            } else {
                let outcome = self.access(kind, cell, || first.offset(offset as u64 * piece));
                if let Outcome::Beside(reader) = outcome {
                    let change = Change {
                        before,
                        after: *cell,
                    };
                    self.memorise(kind, slot_of(reader), change, outcome);
                }
            }
            // Conflicts are noted for each location, and each location has its own history
            // elsewhere.
            let own_affair = self.has_conflicts() || before == ELSEWHERE || *cell == ELSEWHERE;
            latest = (!own_affair).then_some((before, *cell));
        }
    }

    /// The new cell, if everything that `cell` remembers precedes the running step by structure.
    /// The step must have made a context.
    #[allow(unsafe_code)]
    #[inline]
    pub fn begins_anew(&mut self, kind: AccessKind, cell: u64) -> Option<u64> {
        if self.is_locked() {
            return None;
        }
        // SAFETY: valid and used by nobody else now, by the contract of `attach`.
        let fast = unsafe { self.fast?.as_ref() };
        let (order, strand, preceding) = (&mut self.order, self.strand, &mut self.preceding);
        fast.begin_anew(kind, cell, |stamp| {
            stamp < fast.limits.serial_below || preceding.contains(stamp, order, strand)
        })
    }

    pub fn contexts(&mut self) -> &mut Contexts<O> {
        &mut self.order
    }
}

impl Inline<Contexts<OneAtATime>> {
    /// Later steps may [learn](Inline::learn_of) of the running one, which is about to end.
    pub fn note_step(&mut self) {
        if let Err(failure) = self.order.inner().note_step() {
            self.found.fail(failure);
        }
    }

    /// The running step learns of the step of an earlier context, if that was noted.
    pub fn learn_of(&mut self, earlier: Stamp) {
        let [step, _] = self.order.of(earlier);
        if let Err(failure) = self.order.inner().learn_of_step(step) {
            self.found.fail(failure);
        }
        self.begin_part();
    }
}
