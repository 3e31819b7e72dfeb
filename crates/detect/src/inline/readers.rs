//! Cells with several readers, and accesses that are ordered by more than structure.
//!
//! The reader of such a cell is a word of [`StampSets`](crate::history::StampSets). The rules are
//! those of the history, with all readers in place of one:
//!
//! ```text
//! read     races with a parallel writer; becomes a reader unless one of them stands for it
//! write    races with a parallel writer and each parallel reader; becomes the writer and the only
//!          reader
//! ```
//!
//! A stamp that is parallel by structure but precedes the access has been *excused*: the answer
//! holds only for the observed order.

use super::{Inline, Outcome, packed, unpacked};
use crate::history::{Field, Fields, Meeting};
use crate::order::{NOBODY, Order, Stamp};
use finishline_model::{AccessKind, Location};

impl<O: Order> Inline<O> {
    /// Adds the running step's read to the readers of the cell.
    #[cold]
    pub(super) fn add_reader(&mut self, cell: &mut u64) -> Outcome {
        let [writer, readers] = unpacked(*cell);
        match self
            .readers
            .with(readers, self.stamp, &mut self.order, self.strand)
        {
            Ok(readers) => {
                *cell = packed([writer, readers]);
                Outcome::Beside(readers)
            }
            Err(full) => {
                self.found.fail(full.into());
                Outcome::OfItsOwn
            }
        }
    }

    /// Handles an access that conflicts with a remembered earlier one. Returns how they meet, if
    /// they are parallel by structure.
    fn meets(
        &mut self,
        kind: AccessKind,
        location: &impl Fn() -> Location,
        earlier: Stamp,
        field: Field,
    ) -> Option<Meeting> {
        if earlier == NOBODY || !self.order.structurally_parallel(self.strand, earlier) {
            return None;
        }
        let location = location();
        let meeting = match self.order.parallel(self.strand, earlier) {
            true => Meeting::Race,
            false => Meeting::Excused,
        };
        match meeting {
            Meeting::Race => self.found.race(location),
            _ => self.found.synchronised = true,
        }
        let mut cell = [NOBODY; 2];
        cell[field as usize] = earlier;
        self.tell(
            kind,
            location,
            Fields::NONE.with(field, true),
            &cell,
            meeting,
        );
        Some(meeting)
    }

    /// An access to a cell with several readers, or after something was ordered by more than
    /// structure.
    #[cold]
    pub(super) fn access_readers(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        location: &impl Fn() -> Location,
    ) -> Outcome {
        let [writer, readers] = unpacked(*cell);
        let met = self.meets(kind, location, writer, Field::Writer).is_some();
        let outcome = match kind {
            AccessKind::Read => self.add_reader(cell),
            AccessKind::Write => {
                *cell = packed([self.stamp; 2]);
                // After a write the two fields are equal.
                let known = readers == writer || self.readers.is_harmless(readers);
                match known || !self.meets_readers(readers, location) {
                    true => Outcome::Alike,
                    false => Outcome::OfItsOwn,
                }
            }
        };
        match met {
            true => Outcome::OfItsOwn,
            false => outcome,
        }
    }

    /// A write to a location that these stamps have read. Returns whether any of them is parallel
    /// by structure.
    fn meets_readers(&mut self, readers: u32, location: &impl Fn() -> Location) -> bool {
        let (mut met, mut races) = (false, false);
        let mut left = readers;
        while left != NOBODY {
            let reader;
            (reader, left) = self.readers.split(left);
            let meeting = self.meets(AccessKind::Write, location, reader, Field::Reader);
            met |= meeting.is_some();
            races |= meeting == Some(Meeting::Race);
        }
        if !races {
            self.readers.note_harmless(readers);
        }
        met
    }
}
