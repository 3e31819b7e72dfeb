//! The first pass: one order and one history over a depth-first run. It finds the exact set of
//! racing locations.
//!
//! Every location has a cell, a few stamps, in a dense table. An access goes through at most three
//! stages:
//!
//! 1. **repeated**: the cell is the one that accesses of this task settle on
//!    ([`History::settled`]); one comparison.
//! 2. **known**: the cell equals one whose transition changed and found nothing earlier in this
//!    step. Within a step neither the stamp nor the order's answers change, so the transition, a
//!    pure function, gives the same again. This makes data cheap that many tasks read: all its
//!    cells name the same parallel reader. There are two such cells for each kind of access, one
//!    whose reader is the task itself and one whose reader is another. Most loops alternate between
//!    data of their own and shared data.
//! 3. **the transition**, with a few look-ups in the order.
//!
//! The run is never stopped. A detector that can't go on notes the [`Failure`] and returns it at
//! the end.

use crate::Failure;
use crate::findings::{Findings, Found};
use crate::history::{Field, History, Now, Transition};
use crate::locations::{LocationSet, MOST_LOCATIONS};
use crate::order::{ESCAPING, LOCKS, NOBODY, Order, Stamp};
use crate::table::Table;
use finishline_model::{Access, AccessKind, Event, Location, Observer};

/// Values that stay the same until the next task event.
#[derive(Debug)]
struct SerialStep<Cell> {
    stamp: Stamp,
    isolated: bool,
    settled: Cell,
    /// By kind of access, and by whether the reader of the cell is the running task.
    known: [[Cell; 2]; 2],
}

impl<Cell: Copy> SerialStep<Cell> {
    fn new<H: History<Cell = Cell>>(stamp: Stamp, isolated: bool) -> Self {
        let settled = H::settled(stamp, isolated);
        SerialStep {
            stamp,
            isolated,
            settled,
            known: [[settled; 2]; 2],
        }
    }
}

#[derive(Debug)]
pub struct Serial<O: Order, H: History> {
    order: O,
    strand: O::Strand,
    cells: Table<H::Cell>,
    step: SerialStep<H::Cell>,
    found: Found,
}

impl<O: Order, H: History> Serial<O, H> {
    pub fn new() -> Result<Self, Failure> {
        Ok(Serial {
            order: O::new()?,
            strand: O::Strand::default(),
            cells: Table::reserve("locations", MOST_LOCATIONS)?,
            step: SerialStep::new::<H>(NOBODY, false),
            found: Found::new()?,
        })
    }

    /// The findings of a run that has ended or was cut short.
    pub fn finish(self) -> Result<Findings, Failure> {
        self.found.finish(&self.order, self.cells.used_bytes())
    }

    /// The racing locations so far.
    pub fn racing(&self) -> &LocationSet {
        self.found.racing()
    }

    /// Whether two parallel isolated blocks conflicted so far.
    pub fn isolated_conflict(&self) -> bool {
        self.found.isolated_conflict
    }

    /// Starts over for another run and keeps the memory.
    pub fn clear(&mut self) {
        self.order.clear();
        self.cells.clear();
        self.step = SerialStep::new::<H>(NOBODY, false);
        self.found.clear();
    }

    fn follow(&mut self, event: &Event) -> Result<(), Failure> {
        self.found.statistics.event(event);
        let mut isolated = self.step.isolated;
        match event {
            Event::IsolatedBegin { .. } if !H::KNOWS_ISOLATED => {
                return Err(Failure::Unsupported("isolated"));
            }
            Event::Lock { .. } | Event::Unlock { .. } => {
                return Err(Failure::Unsupported(LOCKS));
            }
            Event::IsolatedBegin { .. } => isolated = true,
            Event::IsolatedEnd { .. } => isolated = false,
            Event::Alloc { first, count, .. } => {
                self.cells
                    .grow_to(first.0.saturating_add(*count) as usize)?;
                return Ok(());
            }
            _ => {}
        }
        self.order.event(event)?;
        let strand = self.order.strand(event.task());
        if !self.order.stands_for_now(strand, NOBODY) {
            return Err(Failure::Unsupported(ESCAPING));
        }
        (self.strand, self.step) = (
            strand,
            SerialStep::new::<H>(self.order.stamp(strand), isolated),
        );
        Ok(())
    }

    #[inline]
    fn check(&mut self, kind: AccessKind, location: Location) {
        let Some(&cell) = self.cells.get(location.0 as usize) else {
            return self.check_beyond(kind, location);
        };
        let own_read = cell.as_ref()[Field::Reader as usize] == self.step.stamp;
        let known = self.step.known[kind as usize][usize::from(own_read)];
        if cell == self.step.settled || cell == known {
            debug_assert!(self.changes_and_finds_nothing(kind, cell));
        } else {
            self.check_unknown(kind, location, cell);
        }
    }

    /// Whether the transition changes and finds nothing. The first two stages rely on this.
    fn changes_and_finds_nothing(&mut self, kind: AccessKind, cell: H::Cell) -> bool {
        let done = self.transition(kind, cell);
        done.cell == cell
            && done.races.is_empty()
            && (done.overlaps.is_empty() || self.found.isolated_conflict)
    }

    #[inline]
    fn transition(&mut self, kind: AccessKind, cell: H::Cell) -> Transition<H::Cell> {
        let SerialStep {
            stamp, isolated, ..
        } = self.step;
        let now = Now {
            stamp,
            kind,
            isolated,
        };
        // Empty fields and the own stamp are most frequent, and never parallel.
        H::transition(cell, now, |earlier| {
            earlier != NOBODY && earlier != stamp && self.order.parallel(self.strand, earlier)
        })
    }

    #[inline(never)]
    fn check_unknown(&mut self, kind: AccessKind, location: Location, cell: H::Cell) {
        let done = self.transition(kind, cell);
        self.found.isolated_conflict |= !done.overlaps.is_empty();
        if !done.races.is_empty() {
            self.found.race(location);
        } else if done.cell == cell {
            let own_read = cell.as_ref()[Field::Reader as usize] == self.step.stamp;
            self.step.known[kind as usize][usize::from(own_read)] = cell;
        }
        self.cells[location.0 as usize] = done.cell;
    }

    /// Handles a location that no allocation has announced.
    #[cold]
    fn check_beyond(&mut self, kind: AccessKind, location: Location) {
        match self.cells.grow_to((location.0 as usize).saturating_add(1)) {
            Ok(()) => self.check(kind, location),
            Err(full) => self.found.fail(full.into()),
        }
    }
}

impl<O: Order, H: History> Observer for Serial<O, H> {
    fn event(&mut self, event: &Event) {
        if self.found.failure.is_none() {
            self.found.failure = self.follow(event).err();
        }
    }

    #[inline]
    fn access(&mut self, access: &Access) {
        self.found.statistics.access(access);
        for location in access.locations() {
            self.check(access.kind, location);
        }
    }
}
