//! Accesses: how they get to the detector, and how what it finds gets its names.

use super::{Checker, MEMO, Site};
use crate::calls::Calls;
use crate::heap::Heap;
use crate::races::{Access, Object};
use crate::shadow::PAGE;
use crate::structure::Position;
use crate::synchronisation::{Operation, Told};
use finishline_detect::Failure;
use finishline_detect::history::Meeting;
use finishline_detect::inline::SLOTS;
use finishline_model::{AccessKind, Event, TaskId};
use std::ops::Range;

/// Where an access happens: the place in the program, and the stack pointer.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    pub place: u64,
    pub stack_pointer: u64,
}

/// As many cells as an access of one variable has at most.
const FEW: usize = 16;

impl Checker {
    /// Places share those of the detector's memo.
    #[inline]
    fn slot(place: u64) -> usize {
        place as usize % SLOTS
    }

    #[inline(always)]
    pub fn access(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) {
        if self.alone {
            return;
        }
        self.accesses += 1;
        if !self.repeats(kind, address, bytes, Self::slot(here.place)) {
            self.access_slowly(kind, address, bytes, here, false);
        }
    }

    /// Whether the cells stay as they are. Cells that an access is not whole ones of need not be divided to see that.
    #[inline(always)]
    fn repeats(&self, kind: AccessKind, address: u64, bytes: usize, slot: usize) -> bool {
        let settled = |cell: &u64| self.fast.decide(kind, *cell, slot) == Some(*cell);
        let cells = self.shadow.around(address, bytes);
        cells.is_some_and(|cells| cells.iter().all(settled))
    }

    /// An atomic operation: atomic accesses don't race with each other, and what they order is followed.
    pub fn atomic(&mut self, operation: &Operation, bytes: usize, here: Here) {
        self.atomic_accesses += 1;
        let kind = match operation.after {
            Some(_) => AccessKind::Write,
            None => AccessKind::Read,
        };
        if !self.alone {
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
            if self.alone && matches!(event, Told::Release { .. } | Told::Acquire(_)) {
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
            let next = (at | (PAGE as u64 - 1)).saturating_add(1).min(end);
            let piece = (next - at) as usize;
            if let Err(failure) = self.access_page(kind, at, piece, bytes, here, atomic) {
                self.fail(failure);
                return;
            }
            at = next;
        }
        if self.detector.has_conflicts() {
            self.name_conflicts(here, address, bytes, atomic);
        }
    }

    /// An access, or as much of it as lies in one page.
    fn access_page(
        &mut self,
        kind: AccessKind,
        address: u64,
        piece: usize,
        bytes: usize,
        here: Here,
        atomic: bool,
    ) -> Result<(), Failure> {
        let slot = Self::slot(here.place);
        let cells = self.shadow.cells(address, piece, &mut self.detector)?;
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
        let memo = &mut self.contexts[(here.place ^ here.place >> 8) as usize % MEMO];
        if memo.0 != Some(site) || memo.1 < self.detector.contexts().begun() {
            let next = self.sites.len() as u32;
            let number = *self.site_numbers.entry(site).or_insert(next);
            if number == next {
                self.sites.push(site);
            }
            *memo = (Some(site), self.detector.contexts().make(number)?);
        }
        self.detector.speak_as(memo.1);
        self.lowest = self.lowest.min(here.stack_pointer);
        let piece = cells.grain.bytes() as u64;
        match cells.cells {
            many if atomic => self.detector.atomic(kind, many, cells.location, piece),
            few if few.len() <= FEW => {
                self.detector.few(kind, few, slot, cells.location, piece);
            }
            many => self
                .detector
                .range_of_pieces(kind, many, 1, cells.location, piece),
        }
        Ok(())
    }

    /// Gives the conflicts of the access that was just made their names.
    #[cold]
    fn name_conflicts(&mut self, here: Here, address: u64, bytes: usize, atomic: bool) {
        let at = self.position(here.place);
        let task = self.structure.running();
        let conflicts: Vec<_> = self.detector.conflicts().collect();
        for conflict in conflicts {
            let [stamp, tag] = self.detector.contexts().of(conflict.earlier);
            let site = self.sites[tag as usize];
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
