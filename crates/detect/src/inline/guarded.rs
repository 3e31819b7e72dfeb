//! Accesses under locks, atomic ones among them, and accesses to locations that had such ones: by the history in the side table.

use super::{Conflict, ELSEWHERE, Inline, packed, unpacked};
use crate::Failure;
use crate::history::{Around, ByLockset, Meeting};
use crate::locks::LocksetId;
use crate::order::Order;
use crate::table::TableError;
use finishline_model::{AccessKind, Location, LockId};

impl<O: Order> Inline<O> {
    /// An atomic access of the locations from `first` on, with their cells, which stand for `piece` consecutive ones each.
    pub fn atomic(&mut self, kind: AccessKind, cells: &mut [u64], first: Location, piece: u64) {
        match self.held.atomic() {
            Ok(locks) => {
                for (offset, cell) in cells.iter_mut().enumerate() {
                    let location = first.offset(offset as u64 * piece);
                    self.access_elsewhere(kind, locks, cell, location);
                }
            }
            Err(full) => self.found.fail(full.into()),
        }
        self.found.statistics.count_check(cells.len() as u64);
    }

    /// An access under locks, or to a location that was accessed under some.
    #[cold]
    pub(super) fn access_elsewhere(
        &mut self,
        kind: AccessKind,
        locks: LocksetId,
        cell: &mut u64,
        location: Location,
    ) {
        if let Err(failure) = self.follow_elsewhere(kind, locks, cell, location) {
            self.found.fail(failure);
        }
    }

    fn follow_elsewhere(
        &mut self,
        kind: AccessKind,
        locks: LocksetId,
        cell: &mut u64,
        location: Location,
    ) -> Result<(), Failure> {
        if *cell != ELSEWHERE {
            let [writer, readers] = unpacked(*cell);
            let more = self.elsewhere.len() + 1;
            let refused =
                |_| TableError::refused::<(Location, ByLockset)>("accesses under locks", more);
            self.elsewhere.try_reserve(1).map_err(refused)?;
            // In the place of what may be left of an object that was there before.
            self.elsewhere
                .insert(location, ByLockset::of(writer, readers)?);
            *cell = ELSEWHERE;
        }
        let Some(remembered) = self.elsewhere.get_mut(&location) else {
            return Ok(());
        };
        let (found, conflicts) = (&mut self.found, &mut self.conflicts);
        let around = Around {
            order: &mut self.order,
            sets: &mut self.readers,
            locksets: self.held.sets(),
        };
        remembered.access(
            kind,
            locks,
            self.stamp,
            around,
            |meeting, earlier, _, locks| {
                let excluded_by = match meeting {
                    Meeting::Race => {
                        found.race(location);
                        None
                    }
                    Meeting::Overlap(LockId::ISOLATED) => {
                        found.isolated_conflict = true;
                        Some(LockId::ISOLATED)
                    }
                    Meeting::Overlap(lock) => {
                        found.overlap = true;
                        Some(lock)
                    }
                    Meeting::Excused => {
                        found.synchronised = true;
                        return;
                    }
                };
                if let Some(conflicts) = conflicts {
                    conflicts.push(Conflict {
                        location,
                        kind,
                        earlier,
                        locks,
                        excluded_by,
                    });
                }
            },
        )?;
        if let Some(writer) = remembered.settled() {
            self.elsewhere.remove(&location);
            *cell = packed([writer; 2]);
        }
        Ok(())
    }
}
