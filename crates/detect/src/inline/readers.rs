//! Cells that remember several readers, and accesses that are ordered by more than structure.
//!
//! The reader of a cell is then a word of [`StampSets`](crate::history::StampSets). The rules are
//! those of the history, with all readers in the place of the one:
//!
//! ```text
//! read     races with a parallel writer; becomes a reader unless one of them stands for it
//! write    races with a parallel writer and each parallel reader; becomes the writer and the only
//!          reader
//! ```
//!
//! A stamp that is parallel by structure and yet precedes the access has been *excused*: the answer
//! holds for the observed order only.

use super::{Inline, packed, unpacked};
use crate::history::{Field, Fields, Meeting};
use crate::order::{NOBODY, Order, Stamp};
use finishline_model::{AccessKind, Location};

impl<O: Order> Inline<O> {
    /// Remembers the running step's read beside the readers that the cell has. Tells the word for
    /// them.
    #[cold]
    pub(super) fn add_reader(&mut self, cell: &mut u64) -> Option<Stamp> {
        let [writer, readers] = unpacked(*cell);
        match self.readers.with(readers, self.stamp, &mut self.order) {
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

    /// An access that conflicts with an earlier one, which is remembered as given. Whether they
    /// race.
    fn meets(
        &mut self,
        kind: AccessKind,
        location: Location,
        earlier: Stamp,
        field: Field,
    ) -> bool {
        if earlier == NOBODY || !self.order.structurally_parallel(earlier) {
            return false;
        }
        let meeting = match self.order.parallel(earlier) {
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
    /// structure. Tells the word for its readers if the running step is one of them now.
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
                // After a write the two are one.
                if readers != writer && !self.readers.is_harmless(readers) {
                    self.race_with_readers(readers, location);
                }
                *cell = packed([self.stamp; 2]);
                None
            }
        }
    }

    /// A write where these have read.
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
