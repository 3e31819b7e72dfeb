//! Accesses: how they get to the detector, and how what it finds gets its names.

use super::{Checker, MEMO, Site};
use crate::calls::Calls;
use crate::heap::Heap;
use crate::races::{Access, Object};
use crate::structure::Position;
use crate::synchronisation::{Operation, Told};
use finishline_detect::Failure;
use finishline_detect::history::Meeting;
use finishline_model::{AccessKind, Event, TaskId};
use std::ops::Range;

/// Where an access happens: the place in the program, and the stack pointer.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    pub place: u64,
    pub stack_pointer: u64,
}

/// Where the latest context of a place is remembered.
#[inline]
fn memo_of(place: u64) -> usize {
    (place ^ place >> 8) as usize % MEMO
}

/// Ranges of more cells are worth going through by blocks.
const FEW: usize = 64;

impl Checker {
    /// An access of a variable of 16 bytes at most.
    #[inline(always)]
    pub fn access(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) {
        if !self.glance.alone {
            self.glance.accesses += 1;
            self.access_variable(kind, address, bytes, here);
        }
    }

    /// The same when it has been counted.
    #[inline(always)]
    pub fn access_variable(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) {
        // Cells that it is not whole ones of need not be divided to see that they stay as they are.
        let stays = |cell| self.glance.fast.stays(kind, cell);
        if !self.shadow.all_of_variable(address, bytes, stays)
            && !self.begins_anew(kind, address, bytes, here)
        {
            self.access_slowly(kind, address, bytes, here, false);
        }
    }

    /// Whether all that was remembered of a variable precedes the running step, which has done the same with others from here before: then
    /// it takes its place.
    #[inline]
    fn begins_anew(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) -> bool {
        if self.private.contains(&address) {
            return true;
        }
        let Some(cells) = self.shadow.whole_cells(address, bytes) else {
            return false;
        };
        let site = Site {
            kind,
            at: Position {
                place: here.place,
                calls: self.calls.node(),
            },
            bytes: bytes as u32,
            atomic: false,
        };
        let (latest, context) = self.contexts[memo_of(here.place)];
        if latest != Some(site) || context < self.detector.contexts().begun() {
            return false;
        }
        self.detector.speak_as(context);
        let first = cells[0];
        let Some(after) = self.glance.fast.decide_without_memo(kind, first) else {
            return false;
        };
        let all_equal = cells.iter().all(|cell| *cell == first);
        if all_equal {
            self.lowest = self.lowest.min(here.stack_pointer);
            cells.fill(after);
        }
        all_equal
    }

    /// An access of any bytes, one at least.
    pub fn access_range(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) {
        if self.glance.alone {
            return;
        }
        self.glance.accesses += 1;
        let stays = |cell| self.glance.fast.stays(kind, cell);
        if !self.shadow.all(address, bytes, stays) {
            self.access_slowly(kind, address, bytes, here, false);
        }
    }

    /// An atomic operation: atomic accesses don't race with each other, and what they order is followed.
    pub fn atomic(&mut self, operation: &Operation, bytes: usize, here: Here) {
        self.atomic_accesses += 1;
        let kind = match operation.after {
            Some(_) => AccessKind::Write,
            None => AccessKind::Read,
        };
        if !self.glance.alone {
            self.access_slowly(kind, operation.address, bytes, here, true);
        }
        let mut told = Vec::new();
        self.synchronisation
            .follow(operation, |event| told.push(event));
        self.tell(&told);
    }

    pub fn fence(&mut self, acquires: bool, releases: bool) {
        let mut told = Vec::new();
        self.synchronisation
            .fence(acquires, releases, |event| told.push(event));
        self.tell(&told);
    }

    /// Code that is not instrumented has put a value there on which whoever reads it relies.
    pub fn published(&mut self, address: u64) {
        let mut told = Vec::new();
        self.synchronisation
            .published(address, |event| told.push(event));
        self.tell(&told);
    }

    pub(super) fn tell(&mut self, told: &[Told]) {
        let task = self.structure.running();
        for event in told {
            // What is released or acquired now precedes everything later anyway.
            if self.glance.alone && matches!(event, Told::Release { .. } | Told::Acquire(_)) {
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
            });
        }
    }

    #[cold]
    #[inline(never)]
    fn access_slowly(
        &mut self,
        kind: AccessKind,
        address: u64,
        bytes: usize,
        here: Here,
        atomic: bool,
    ) {
        if self.private.contains(&address) || self.failure.is_some() {
            return;
        }
        let end = address.saturating_add(bytes as u64);
        let mut at = address;
        while at < end {
            match self.access_cells(kind, at..end, bytes, here, atomic) {
                Ok(next) => at = next,
                Err(failure) => return self.fail(failure),
            }
        }
        if self.detector.has_conflicts() {
            self.name_conflicts(here, address, bytes, atomic);
        }
    }

    /// An access, or as much of it as is of cells that lie together. Tells up to where.
    fn access_cells(
        &mut self,
        kind: AccessKind,
        range: Range<u64>,
        bytes: usize,
        here: Here,
        atomic: bool,
    ) -> Result<u64, Failure> {
        let left = range.end - range.start;
        let cells = self.shadow.cells(range.start, left, &mut self.detector)?;
        let end = range.start + cells.bytes();
        let stays = |cell: &u64| self.glance.fast.stays(kind, *cell);
        if !atomic && cells.cells.iter().all(stays) {
            return Ok(end);
        }
        // Not by a method: the cells are borrowed from the shadow.
        let at = Position {
            place: here.place,
            calls: self.calls.node(),
        };
        let site = Site {
            kind,
            at,
            bytes: bytes as u32,
            atomic,
        };
        let begun = self.detector.contexts().begun();
        let memo = &mut self.contexts[memo_of(here.place)];
        if memo.0 != Some(site) || memo.1 < begun {
            let next = self.sites.len() as u32;
            let number = *self.site_numbers.entry(site).or_insert(next);
            if number == next {
                self.sites.push((site, 0));
            }
            let latest = &mut self.sites[number as usize].1;
            if *latest < begun {
                *latest = self.detector.contexts().make(number)?;
            }
            *memo = (Some(site), *latest);
        }
        self.detector.speak_as(memo.1);
        self.lowest = self.lowest.min(here.stack_pointer);
        let piece = cells.grain.bytes() as u64;
        match cells.cells {
            many if atomic => self.detector.atomic(kind, many, cells.location, piece),
            few if few.len() <= FEW => {
                self.detector.few(kind, few, cells.location, piece);
            }
            many => self
                .detector
                .range_of_pieces(kind, many, 1, cells.location, piece),
        }
        let whole_word = piece < 8 && end - range.start == 8;
        // Conflicts are still to be named, byte by byte.
        if kind == AccessKind::Write && whole_word && !self.detector.has_conflicts() {
            self.shadow.merge(range.start);
        }
        Ok(end)
    }

    /// Gives the conflicts of the access that was just made their names.
    #[cold]
    fn name_conflicts(&mut self, here: Here, address: u64, bytes: usize, atomic: bool) {
        let at = self.position(here.place);
        let task = self.structure.running();
        let conflicts: Vec<_> = self.detector.conflicts().collect();
        let known = self.races.iter().count();
        for conflict in conflicts {
            let [stamp, tag] = self.detector.contexts().of(conflict.earlier);
            let (site, _) = self.sites[tag as usize];
            let first = Access {
                kind: site.kind,
                atomic: site.atomic,
                bytes: site.bytes,
                at: site.at,
                task: self.tasks[stamp as usize],
            };
            let second = Access {
                kind: conflict.kind,
                atomic,
                bytes: bytes as u32,
                at,
                task,
            };
            let cell = self.shadow.cell_at(conflict.location);
            let races = match conflict.meeting {
                Meeting::Race if self.belongs_to_thread(&first, &second, cell.start) => continue,
                Meeting::Race => &mut self.races,
                // How a lock's own word changes is the lock's affair.
                Meeting::Overlap(_) if atomic && self.synchronisation.is_lock(address) => continue,
                Meeting::Overlap(_) | Meeting::Excused => &mut self.overlaps,
            };
            races.add(first, second, cell.clone(), conflict.meeting, || {
                object_at(
                    cell.start,
                    &self.heap,
                    &self.calls,
                    &self.stack,
                    &self.frames,
                )
            });
        }
        if self.races.iter().count() > known {
            (self.new_race)(self);
        }
    }

    /// Whether two accesses are of memory that each thread has its own of.
    fn belongs_to_thread(&mut self, first: &Access, second: &Access, address: u64) -> bool {
        if self.heap.is_private(address) {
            return true;
        }
        if self.races.contains(first, second) {
            return false;
        }
        let Some(block) = self.heap.around(address) else {
            return false;
        };
        let block = block.start..block.start + block.bytes;
        let private = (self.is_private)(self, &block);
        if private {
            self.heap.set_private(block.start);
        }
        private
    }
}

/// What an address belongs to.
fn object_at(
    address: u64,
    heap: &Heap,
    calls: &Calls,
    stack: &Range<u64>,
    frames: &[(u64, TaskId)],
) -> Object {
    if stack.contains(&address) {
        let call = calls.owner_of(address);
        let place = call.and_then(|call| calls.position_in(call));
        // Of the tasks whose frames begin above, the innermost.
        let owner = frames.iter().rev().find(|(entry, _)| *entry > address);
        return Object::Stack {
            place: place.unwrap_or(0),
            task: owner.map_or(TaskId::MAIN, |(_, task)| *task),
        };
    }
    match heap.around(address) {
        Some(block) => Object::Heap {
            start: block.start,
            bytes: block.bytes,
            allocated: block.allocated,
            task: block.task,
        },
        None => Object::Other,
    }
}
