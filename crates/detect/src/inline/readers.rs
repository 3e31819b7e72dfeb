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

use super::{Inline, packed, unpacked};
use crate::history::{Field, Fields, Meeting};
use crate::order::{NOBODY, Order, Stamp};
use finishline_model::{AccessKind, Location};

impl<O: Order> Inline<O> {
    /// Adds the running step's read to the readers of the cell. Returns the word of the readers.
    #[cold]
    pub(super) fn add_reader(&mut self, cell: &mut u64) -> Option<Stamp> {
        let [writer, readers] = unpacked(*cell);
        match self
            .readers
            .with(readers, self.stamp, &mut self.order, self.strand)
        {
            Ok(readers) => {
                *cell = packed([writer, readers]);
                Some(readers)
            }
            Err(full) => {
                self.found.fail(full.into());
                None
            }
        }
    }

    /// Handles an access that conflicts with a remembered earlier one. Returns whether they race.
    fn meets(
        &mut self,
        kind: AccessKind,
        location: Location,
        earlier: Stamp,
        field: Field,
    ) -> bool {
        if earlier == NOBODY || !self.order.structurally_parallel(self.strand, earlier) {
            return false;
        }
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
        meeting == Meeting::Race
    }

    /// An access to a cell with several readers, or after something was ordered by more than
    /// structure. Returns the word of the readers if the running step is one of them now.
    #[cold]
    pub(super) fn access_readers(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        location: Location,
    ) -> Option<Stamp> {
        let [writer, readers] = unpacked(*cell);
        self.meets(kind, location, writer, Field::Writer);
        match kind {
            AccessKind::Read => self.add_reader(cell),
            AccessKind::Write => {
                // After a write the two fields are equal.
                if readers != writer && !self.readers.is_harmless(readers) {
                    self.race_with_readers(readers, location);
                }
                *cell = packed([self.stamp; 2]);
                None
            }
        }
    }

    /// A write to a location that these stamps have read.
    fn race_with_readers(&mut self, readers: u32, location: Location) {
        let mut races = false;
        let mut left = readers;
        while left != NOBODY {
            let reader;
            (reader, left) = self.readers.split(left);
            races |= self.meets(AccessKind::Write, location, reader, Field::Reader);
        }
        if !races {
            self.readers.note_harmless(readers);
        }
    }
}
