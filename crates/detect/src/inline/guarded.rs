//! Accesses under locks, and accesses to locations that were accessed under locks. Their histories
//! are in a side table. Atomic accesses and isolated blocks count as locks.
//!
//! The history is [`ByLockset`]. A location that was only accessed in isolated blocks and outside
//! of locks has the history [`Isolated`], which is a third of the work. It changes to [`ByLockset`]
//! with an access by a task that holds another lock, that may outlast those beside it, or that is
//! ordered by more than structure.

use super::{Conflict, ELSEWHERE, Inline, is_parallel, packed, unpacked};
use crate::Failure;
use crate::history::{Around, ByLockset, History, Isolated, Meeting, Now};
use crate::locks::LocksetId;
use crate::order::{NOBODY, Order};
use crate::table::{TableError, make_room_in};
use finishline_model::{AccessKind, Location, LockId};

const TABLE: &str = "accesses under locks";

impl<O: Order> Inline<O> {
    /// An atomic access of the locations from `first` on, with their cells. Each cell stands for
    /// `piece` consecutive locations.
    pub fn atomic(&mut self, kind: AccessKind, cells: &mut [u64], first: Location, piece: u64) {
        for (offset, cell) in cells.iter_mut().enumerate() {
            let location = first.offset(offset as u64 * piece);
            let done = self.follow_atomic(kind, cell, location);
            done.unwrap_or_else(|failure| self.found.fail(failure));
        }
        self.found.statistics.count_check(cells.len() as u64);
    }

    fn follow_atomic(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        location: Location,
    ) -> Result<(), Failure> {
        let others = self.locks()?;
        let locks = self.held.with_atomicity(others)?;
        self.guarded(kind, locks, cell, location)
    }

    /// The locks that protect an access made now.
    fn locks(&mut self) -> Result<LocksetId, TableError> {
        let held = self.held.now();
        match self.isolated {
            true => self.held.with(held, LockId::ISOLATED),
            false => Ok(held),
        }
    }

    /// An access under locks, or to a location that was accessed under locks.
    #[cold]
    pub(super) fn access_elsewhere(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        location: Location,
    ) {
        let has_locksets = *cell == ELSEWHERE && !self.is_isolated_so_far(location);
        let done = if !has_locksets
            && self.held.now() == LocksetId::NONE
            && self.order.stands_for_now(self.strand, NOBODY)
        {
            self.isolated(kind, cell, location)
        } else {
            let locks = self.locks().map_err(Failure::from);
            locks.and_then(|locks| self.guarded(kind, locks, cell, location))
        };
        done.unwrap_or_else(|failure| self.found.fail(failure));
    }

    /// Whether the history of a location in the side table is still [`Isolated`].
    fn is_isolated_so_far(&self, location: Location) -> bool {
        !self.isolated_cells.is_empty() && self.isolated_cells.contains_key(&location)
    }

    /// An access by the history [`Isolated`].
    fn isolated(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        location: Location,
    ) -> Result<(), Failure> {
        if *cell != ELSEWHERE {
            let [writer, reader] = unpacked(*cell);
            make_room_in(&mut self.isolated_cells, TABLE)?;
            // Replaces the history of an earlier object at this location, if there is any.
            self.elsewhere.remove(&location);
            self.isolated_cells
                .insert(location, [writer, reader, NOBODY, NOBODY]);
            *cell = ELSEWHERE;
        }
        let Some(full) = self.isolated_cells.get_mut(&location) else {
            return Ok(());
        };
        let (stamp, strand, order) = (self.stamp, self.strand, &mut self.order);
        let now = Now {
            stamp,
            kind,
            isolated: self.isolated,
        };
        let before = *full;
        let done = Isolated::transition(before, now, |earlier| {
            is_parallel(order, strand, stamp, earlier)
        });
        *full = done.cell;
        if !done.overlaps.is_empty() {
            self.found.isolated_conflict = true;
            let meeting = Meeting::Overlap(LockId::ISOLATED);
            self.tell(kind, location, done.overlaps, &before, meeting);
        }
        if !done.races.is_empty() {
            self.found.race(location);
            self.tell(kind, location, done.races, &before, Meeting::Race);
        }
        Ok(())
    }

    /// Begins the history by locksets of a location.
    fn begin_guarded(&mut self, cell: &mut u64, location: Location) -> Result<(), Failure> {
        let isolated = self.isolated_cells.remove(&location);
        let history = match isolated.filter(|_| *cell == ELSEWHERE) {
            Some([writer, reader, isolated_writer, isolated_reader]) => {
                let lock = self.held.with(LocksetId::NONE, LockId::ISOLATED)?;
                let mut history = ByLockset::default();
                history.add(LocksetId::NONE, [writer, reader])?;
                history.add(lock, [isolated_writer, isolated_reader])?;
                history
            }
            None => {
                let mut history = ByLockset::default();
                history.add(LocksetId::NONE, unpacked(*cell))?;
                history
            }
        };
        make_room_in(&mut self.elsewhere, TABLE)?;
        // Replaces the history of an earlier object at this location, if there is any.
        self.elsewhere.insert(location, history);
        *cell = ELSEWHERE;
        Ok(())
    }

    /// An access by the history by locksets.
    fn guarded(
        &mut self,
        kind: AccessKind,
        locks: LocksetId,
        cell: &mut u64,
        location: Location,
    ) -> Result<(), Failure> {
        if *cell != ELSEWHERE || self.is_isolated_so_far(location) {
            self.begin_guarded(cell, location)?;
        }
        let Some(remembered) = self.elsewhere.get_mut(&location) else {
            return Ok(());
        };
        let (found, conflicts) = (&mut self.found, &mut self.conflicts);
        let around = Around {
            order: &mut self.order,
            strand: self.strand,
            sets: &mut self.readers,
            locksets: self.held.sets(),
            in_brief: self.in_brief,
        };
        remembered.access(
            kind,
            locks,
            self.stamp,
            around,
            |meeting, earlier, _, locks| {
                match meeting {
                    Meeting::Race => found.race(location),
                    Meeting::Overlap(LockId::ISOLATED) => found.isolated_conflict = true,
                    Meeting::Overlap(_) => found.overlap = true,
                    Meeting::Excused => found.synchronised = true,
                }
                if let Some(conflicts) = conflicts {
                    conflicts.push(Conflict {
                        location,
                        kind,
                        earlier,
                        locks,
                        meeting,
                    });
                }
            },
        )?;
        if let Some(stamps) = remembered.without_locks() {
            self.elsewhere.remove(&location);
            *cell = packed(stamps);
        }
        Ok(())
    }
}
