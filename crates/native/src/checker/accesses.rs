//! Accesses: from the program to the detector, and from the detector's conflicts to named pairs.

use super::journal::recorded;
use super::kept;
use super::sites::{Situation, length};
use super::{Checker, Detection, GIVEN_BACK, Journal, Site, ThreadState};
use crate::facts::calls::CallStack;
use crate::facts::heap::HeapBlock;
use crate::facts::races::{ConflictingAccess, ConflictingPairs, Manner, Names, Object, OrderedBy};
use crate::facts::structure::Position;
use crate::facts::synchronisation::{Operation, Told};
use finishline_detect::Failure;
use finishline_detect::history::Meeting;
use finishline_detect::inline::{Conflict, ELSEWHERE, is_ended};
use finishline_model::{AccessKind, Event, LockId, ObjectId, TaskId};
use finishline_trace::process::Call;
use std::ops::Range;

/// Where an access happens: the place in the program, and the stack pointer.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    pub place: u64,
    pub stack_pointer: u64,
}

/// A range of so many bytes may be looked at as a variable is.
const SHORT: usize = 128;

/// Ranges of more cells are worth going through by blocks.
const FEW: usize = 64;

impl Checker {
    /// An access of a variable of 16 bytes at most.
    #[inline(always)]
    pub fn access(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) {
        if self.glance.is_alone() {
            return;
        }
        self.glance.count_access();
        if !self.stays(kind, address, bytes) && !self.becomes_as_before(address, bytes, here.place)
        {
            self.access_variable(kind, address, bytes, here);
        }
    }

    /// Whether the only cell of a variable is like one that this access has changed before: then it
    /// becomes the same.
    #[inline(always)]
    fn becomes_as_before(&mut self, address: u64, bytes: usize, place: u64) -> bool {
        // A recording is told of each access that changes what is remembered.
        if !matches!(self.journal, Journal::Off) || self.thread.thread_locals.contains(&address) {
            return false;
        }
        let Some([cell]) = self.detection.shadow.whole_cells(address, bytes) else {
            return false;
        };
        let path = *self.calls.stack().path();
        let became = self.glance.became(place, path, *cell);
        if let Some(after) = became {
            *cell = after;
        }
        became.is_some()
    }

    /// Continues [`Checker::access`], for an access that was counted, and whose cell, if it is the
    /// only one, does not stay.
    #[inline(always)]
    pub fn access_variable(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) {
        self.thread.spin.accesses(address);
        self.note_access(kind, address, bytes, here, false);
        if !self.begins_anew(kind, address, bytes, here) && !self.stays(kind, address, bytes) {
            self.access_slowly(kind, address, bytes, here, Manner::Plain);
        }
    }

    /// Whether all cells of a variable stay as they are. Cells that the variable covers in part
    /// need not be divided to see that.
    #[inline(always)]
    fn stays(&self, kind: AccessKind, address: u64, bytes: usize) -> bool {
        let stays = |cell| self.glance.stays(kind, cell);
        self.detection.shadow.all_of_variable(address, bytes, stays)
    }

    /// Whether the same was remembered of all these bytes, and precedes the running step: then a
    /// context for this access takes its place.
    #[inline]
    fn begins_anew(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) -> bool {
        self.asks_by_access(address);
        // It must be looked at what was left and entered, before the calls get their numbers.
        if self.glimpses() || self.detection.failure.is_some() {
            return false;
        }
        self.note_situation();
        let Detection {
            detector,
            shadow,
            sites,
            ..
        } = &mut self.detection;
        let Some(cells) = shadow.whole_cells(address, bytes) else {
            return false;
        };
        let first = cells[0];
        if is_ended(first) || !cells.iter().all(|cell| *cell == first) {
            return false;
        }
        let site = Site {
            kind,
            at: Position {
                place: here.place,
                calls: self.calls.node(),
            },
            bytes: length(bytes),
            manner: Manner::Plain,
        };
        // If there is no room for one, the slow way says so.
        let Ok(context) = sites.context(site, detector.contexts()) else {
            return false;
        };
        detector.speak_as(context);
        let Some(after) = detector.begins_anew(kind, first) else {
            return false;
        };
        self.thread.lowest = self.thread.lowest.min(here.stack_pointer);
        cells.fill(after);
        let path = *self.calls.stack().path();
        self.glance.remember(here.place, path, [first, after]);
        true
    }

    /// What the running task holds and which thread it is on, now.
    #[inline]
    fn situation(&self) -> Situation {
        Situation {
            holding: self.synchronisation.holding(),
            stay: self.thread.stays.innermost(),
        }
    }

    /// Contexts are made in the situation of now. To be called before one is made.
    #[inline]
    pub(super) fn note_situation(&mut self) {
        let situation = self.situation();
        let Detection {
            detector, sites, ..
        } = &mut self.detection;
        if !sites.is_in(situation) {
            detector.begin_part();
            sites.begin_situation(detector.contexts().begun(), situation);
        }
    }

    /// An access of any bytes, one at least.
    pub fn access_range(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) {
        if self.glance.is_alone() {
            return;
        }
        self.glance.count_access();
        let stays = |cell| self.glance.stays(kind, cell);
        if !self.detection.shadow.all(address, bytes, stays) {
            self.thread.spin.accesses(address);
            self.note_access(kind, address, bytes, here, true);
            if bytes > SHORT || !self.begins_anew(kind, address, bytes, here) {
                self.access_slowly(kind, address, bytes, here, Manner::Plain);
            }
        }
    }

    /// An atomic operation: atomic accesses don't race with each other, and what they order is
    /// followed.
    pub fn atomic(&mut self, operation: &Operation, bytes: usize, here: Here) {
        self.note(|| Call::Atomic {
            operation: recorded(operation),
            bytes: bytes as u64,
            place: here.place,
        });
        self.found.atomic_accesses += 1;
        self.look_around(here.place);
        let kind = match operation.after {
            Some(_) => AccessKind::Write,
            None => AccessKind::Read,
        };
        if !self.glance.is_alone() {
            self.access_slowly(kind, operation.address, bytes, here, Manner::Atomic);
        }
        self.thread.told = self.older_value(operation);
        let moment = self.moment(here.place);
        let mut told = Vec::new();
        self.synchronisation
            .follow(operation, moment, |event| told.push(event));
        self.tell(&told);
    }

    /// Code that is not instrumented has made an atomic operation.
    pub fn unseen(&mut self, operation: &Operation) {
        self.note(|| Call::Unseen(recorded(operation)));
        let moment = self.moment(0);
        self.look_around(0);
        let mut told = Vec::new();
        self.synchronisation
            .follow(operation, moment, |event| told.push(event));
        self.tell(&told);
    }

    /// Code that is not instrumented relies on the value that it has read there.
    pub fn relied_on(&mut self, address: u64) {
        self.note(|| Call::ReliedOn(address));
        self.look_around(0);
        let mut told = Vec::new();
        self.synchronisation
            .relied_on(address, |event| told.push(event));
        self.tell(&told);
    }

    /// The program found that an initialiser has run, in this task or another.
    pub fn done_once(&mut self, address: u64) {
        self.relied_on(address);
        self.published(address);
    }

    /// Which round of the barrier it is.
    pub fn arrives_at_barrier(&mut self, address: u64) -> u64 {
        self.note(|| Call::BarrierArrive(address));
        self.look_around(0);
        let object = self.synchronisation.round_of_barrier(address);
        self.tell(&[Told::Release {
            object,
            continues: true,
        }]);
        u64::from(object.0)
    }

    pub fn leaves_barrier(&mut self, address: u64, round: u64, last: bool) {
        self.note(|| Call::BarrierLeave {
            address,
            round,
            last,
        });
        self.look_around(0);
        if last {
            self.synchronisation.end_round_of_barrier(address);
        }
        self.tell(&[Told::Acquire(ObjectId(round as u32))]);
    }

    /// Code that is not instrumented has written a value there that later readers rely on.
    pub fn published(&mut self, address: u64) {
        self.note(|| Call::Published(address));
        self.look_around(0);
        let mut told = Vec::new();
        self.synchronisation
            .published(address, |event| told.push(event));
        self.tell(&told);
    }

    pub(super) fn tell(&mut self, told: &[Told]) {
        let task = self.structure.running();
        for event in told {
            // What is released or acquired now precedes everything later anyway.
            if self.glance.is_alone() && !matches!(event, Told::Lock(..) | Told::Unlock(_)) {
                continue;
            }
            self.event(match *event {
                Told::Lock(lock, mode) => Event::Lock { task, lock, mode },
                Told::Unlock(lock) => Event::Unlock { task, lock },
                Told::Release { object, continues } => Event::Release {
                    task,
                    object,
                    continues,
                },
                Told::Acquire(object) => Event::Acquire { task, object },
                Told::Relay {
                    from,
                    to,
                    continues,
                } => Event::Relay {
                    task,
                    from,
                    to,
                    continues,
                },
            });
        }
    }

    /// A block is no more: a write of all of it.
    pub(super) fn end_of_block(&mut self, block: HeapBlock, place: u64) {
        if self.glance.is_alone() {
            return;
        }
        let here = Here {
            place,
            // The heap has nothing to do with the stack.
            stack_pointer: u64::MAX,
        };
        let bytes = block.bytes as usize;
        self.access_slowly(AccessKind::Write, block.start, bytes, here, Manner::Free);
    }

    #[cold]
    #[inline(never)]
    fn access_slowly(
        &mut self,
        kind: AccessKind,
        address: u64,
        bytes: usize,
        here: Here,
        manner: Manner,
    ) {
        self.asks_by_access(address);
        if self.detection.failure.is_some() {
            return;
        }
        self.look_around_at_access(here.place);
        self.note_situation();
        let end = address.saturating_add(bytes as u64);
        let mut at = address;
        while at < end {
            match self.access_cells(kind, at..end, bytes, here, manner) {
                Ok(next) => at = next,
                Err(failure) => return self.fail(failure),
            }
        }
        if !self.detection.perhaps_kept.is_empty() {
            let ranges = std::mem::take(&mut self.detection.perhaps_kept);
            self.uses_of_kept(ranges, (kind, bytes, manner), here);
        }
        if self.detection.detector.has_conflicts() && !self.conflicts_are_known(address) {
            self.name_conflicts(here, address, bytes, manner);
        }
    }

    /// Whether the conflicts of the access that was just made are no races, and like some that have
    /// been named. Then they are passed over.
    fn conflicts_are_known(&mut self, address: u64) -> bool {
        let Detection {
            detector,
            known_orders: Some(known),
            learnt_of_threads: false,
            ..
        } = &mut self.detection
        else {
            return false;
        };
        // What a thread keeps is a matter of its own.
        if self.thread.thread_locals.contains(&address) {
            return false;
        }
        let all_known = detector.conflicts_of_sites().all(|(sites, meeting)| {
            matches!(meeting, Meeting::Overlap(_) | Meeting::Excused) && known.has(sites)
        });
        if all_known {
            detector.conflicts();
        }
        all_known
    }

    /// The part of an access whose cells lie together. Returns where that part ends.
    fn access_cells(
        &mut self,
        kind: AccessKind,
        range: Range<u64>,
        bytes: usize,
        here: Here,
        manner: Manner,
    ) -> Result<u64, Failure> {
        // What is forgotten at once needs no cells to be remembered in.
        let passes = manner == Manner::Free && bytes as u64 >= GIVEN_BACK;
        let Detection {
            detector,
            shadow,
            sites,
            perhaps_kept,
            ..
        } = &mut self.detection;
        if passes && let Some(next) = shadow.without_cells(range.start) {
            return Ok(next);
        }
        let cells = shadow.cells(range.start, range.end - range.start, detector)?;
        let end = range.start + cells.bytes();
        let stays = |cell: &u64| self.glance.stays(kind, *cell);
        if manner == Manner::Plain && cells.cells.iter().all(stays) {
            return Ok(end);
        }
        let piece = cells.grain.bytes() as u64;
        if manner != Manner::Free {
            perhaps_kept.extend(kept::perhaps_kept(cells.cells, range.start, piece));
        }
        // Not by a method: the cells are borrowed from the shadow.
        let at = Position {
            place: here.place,
            calls: self.calls.node(),
        };
        let site = Site {
            kind,
            at,
            bytes: length(bytes),
            manner,
        };
        let context = sites.context(site, detector.contexts())?;
        detector.speak_as(context);
        self.thread.lowest = self.thread.lowest.min(here.stack_pointer);
        match cells.cells {
            [cell] if manner == Manner::Plain => {
                let before = *cell;
                detector.few(kind, std::slice::from_mut(cell), cells.location, piece);
                let has_own = |cell| cell == ELSEWHERE || is_ended(cell);
                if !detector.has_conflicts() && !has_own(before) && !has_own(*cell) {
                    let path = *self.calls.stack().path();
                    self.glance.remember(here.place, path, [before, *cell]);
                }
            }
            many if manner == Manner::Atomic => {
                detector.atomic(kind, many, cells.location, piece);
            }
            many if manner == Manner::Free => {
                detector.end_of_object(many, cells.location, piece);
            }
            few if few.len() <= FEW => {
                detector.few(kind, few, cells.location, piece);
            }
            many => detector.range_of_pieces(kind, many, 1, cells.location, piece),
        }
        let whole_word = piece < 8 && end - range.start == 8;
        // Conflicts are still to be named, byte by byte.
        if kind == AccessKind::Write && whole_word && !detector.has_conflicts() {
            shadow.merge(range.start);
        }
        Ok(end)
    }

    /// Names the conflicts of the access that was just made.
    #[cold]
    fn name_conflicts(&mut self, here: Here, address: u64, bytes: usize, manner: Manner) {
        let at = self.position(here.place);
        let task = self.structure.running();
        let conflicts: Vec<_> = self.detection.detector.conflicts().collect();
        let now = self.situation();
        // The steps that kept for the thread what is read now.
        let mut kept = Vec::new();
        let known = self.found.races.worth_telling();
        for conflict in conflicts {
            let contexts = self.detection.detector.contexts();
            let [stamp, number] = contexts.of(conflict.earlier);
            let site = self.detection.sites.site(number);
            let situation = self.detection.sites.situation(conflict.earlier);
            let first = ConflictingAccess {
                kind: site.kind,
                manner: site.manner,
                bytes: site.bytes,
                at: site.at,
                task: self.detection.tasks[stamp as usize],
                holding: situation.holding,
            };
            let second = ConflictingAccess {
                kind: conflict.kind,
                manner,
                bytes: length(bytes),
                at,
                task,
                holding: now.holding,
            };
            let cell = self.detection.shadow.cell_at(conflict.location);
            // How a lock's own word changes is the lock's affair.
            if matches!(conflict.meeting, Meeting::Overlap(_))
                && manner == Manner::Atomic
                && self.synchronisation.is_lock(address)
            {
                continue;
            }
            let is_of_thread = self.thread.thread_locals.contains(&cell.start);
            let reads = conflict.kind == AccessKind::Read || manner == Manner::Atomic;
            let by_thread = match conflict.meeting {
                _ if is_of_thread => situation.stay.thread == now.stay.thread,
                Meeting::Race => now.stay.excuses(situation.stay),
                Meeting::Excused | Meeting::Overlap(_) => false,
            };
            if by_thread && site.kind == AccessKind::Write && reads {
                kept.push(conflict.earlier);
            }
            if by_thread && is_of_thread {
                continue;
            }
            if conflict.meeting == Meeting::Excused && self.detection.learnt_of_threads {
                self.found.through_threads += 1;
            }
            // Taken out for the time that the rest is asked for names.
            let mut pairs = std::mem::take(self.pairs(conflict.meeting, by_thread));
            pairs.add(first, second, cell.clone(), conflict.meeting, || {
                self.names(&conflict, [first, second], cell.start)
            });
            *self.pairs(conflict.meeting, by_thread) = pairs;
        }
        for earlier in kept {
            self.detection.detector.learn_of(earlier);
            self.detection.learnt_of_threads = true;
        }
        if self.found.races.worth_telling() > known {
            // The call asks no more questions.
            (self.host.new_race)(self);
        }
    }

    /// Where pairs that meet so are kept.
    fn pairs(&mut self, meeting: Meeting, by_thread: bool) -> &mut ConflictingPairs {
        match meeting {
            Meeting::Race if by_thread => &mut self.found.by_thread,
            Meeting::Race => &mut self.found.races,
            Meeting::Overlap(_) | Meeting::Excused => &mut self.found.overlaps,
        }
    }

    /// What a pair is told with, at this address.
    fn names(
        &mut self,
        conflict: &Conflict,
        accesses: [ConflictingAccess; 2],
        address: u64,
    ) -> Names {
        let contexts = self.detection.detector.contexts();
        let [earlier, _] = contexts.of(conflict.earlier);
        let order = contexts.inner();
        let ordered_by = match conflict.meeting {
            Meeting::Race | Meeting::Overlap(LockId::ATOMIC) => None,
            Meeting::Overlap(lock) => Some(OrderedBy::Lock(lock)),
            Meeting::Excused => {
                let object = order.passed_on_by(earlier);
                Some(object.map_or(OrderedBy::Thread, OrderedBy::Object))
            }
        };
        let ordered_by = ordered_by.and_then(|by| {
            let address = match by {
                OrderedBy::Lock(lock) => self.synchronisation.lock(lock).address,
                OrderedBy::Object(object) => self.synchronisation.variable_of(object)?.address,
                OrderedBy::Thread => return Some((by, Object::ThreadLocal)),
            };
            Some((by, self.object_at(address)))
        });
        let locks = accesses.map(|access| {
            let taken = self.synchronisation.holdings().taken(access.holding);
            let named = taken.into_iter().map(|taken| {
                let lock = self.synchronisation.lock(taken.lock);
                (taken, self.object_at(lock.address))
            });
            named.collect()
        });
        Names {
            object: self.object_at(address),
            ordered_by,
            locks,
        }
    }

    /// What an address belongs to.
    fn object_at(&self, address: u64) -> Object {
        let running = ThreadStack {
            thread: &self.thread,
            calls: self.calls.stack(),
        };
        let others = self.threads.others.iter().filter_map(|other| {
            Some(ThreadStack {
                thread: &other.state,
                calls: other.calls.as_ref()?,
            })
        });
        if self.variables.contain(address) {
            return Object::ThreadLocal;
        }
        let mut stacks = std::iter::once(running).chain(others);
        if let Some(stack) = stacks.find(|stack| stack.thread.stack.contains(&address)) {
            return stack.object_at(address);
        }
        match self.heap.around(address) {
            Some(block) => Object::Heap {
                start: block.start,
                bytes: block.bytes,
                allocated: block.allocated,
                task: block.task,
            },
            None => Object::Other,
        }
    }
}

/// The stack of a thread, and the calls whose frames are on it.
struct ThreadStack<'a> {
    thread: &'a ThreadState,
    calls: &'a CallStack,
}

impl ThreadStack<'_> {
    fn object_at(&self, address: u64) -> Object {
        let call = self.calls.owner_of(address);
        let place = call.map(|call| self.calls.position_in(call).unwrap_or(self.thread.place));
        // Of the tasks whose frames begin above, the innermost.
        let tasks = &self.thread.tasks;
        let owner = tasks.iter().rev().find(|task| task.entry > address);
        let owner = owner.or(tasks.first());
        Object::Stack {
            place: place.unwrap_or(0),
            task: owner.map_or(TaskId::MAIN, |owner| owner.task),
        }
    }
}
