//! The last writer and one reader: 8 bytes a location, exact without isolated blocks.
//!
//! [ESP-bags Fig. 4]
//!
//! ```text
//! read     races with a parallel writer; becomes the reader unless the reader is parallel
//! write    races with a parallel writer or reader; becomes the writer
//! ```
//!
//! *Exact* means: over a depth-first run a location is reported iff two of its accesses race by
//! task structure, also if the run goes on after a race. One reader is enough because in serial
//! order e₁ ∥ e₂ and e₂ ∥ e₃ imply e₁ ∥ e₃. So a new reader that is parallel to the remembered one
//! races only with later accesses that the remembered one races with, too. The last writer is
//! enough because an overwritten writer has raced with it or precedes it. In the latter case it
//! also precedes everything that the last writer precedes. Pairs are not complete: later parallel
//! readers and overwritten writers are lost.

use super::{Field, Fields, History, Now, Transition};
use crate::order::Stamp;
use finishline_model::AccessKind;

#[derive(Debug)]
pub enum LastWriterOneReader {}

impl History for LastWriterOneReader {
    type Cell = [Stamp; 2];

    const KNOWS_ISOLATED: bool = false;

    #[inline]
    fn settled(stamp: Stamp, _isolated: bool) -> [Stamp; 2] {
        [stamp; 2]
    }

    #[inline]
    fn transition(
        cell: [Stamp; 2],
        now: Now,
        mut parallel: impl FnMut(Stamp) -> bool,
    ) -> Transition<[Stamp; 2]> {
        let [writer, reader] = cell;
        let races = Fields::NONE.with(Field::Writer, parallel(writer));
        let reader_is_parallel = parallel(reader);
        let (cell, races, recorded) = match now.kind {
            // [ESP-bags Fig. 4, read]
            AccessKind::Read if reader_is_parallel => (cell, races, None),
            AccessKind::Read => ([writer, now.stamp], races, Some(Field::Reader)),
            // [ESP-bags Fig. 4, write]
            AccessKind::Write => (
                [now.stamp, reader],
                races.with(Field::Reader, reader_is_parallel),
                Some(Field::Writer),
            ),
        };
        Transition {
            cell,
            races,
            overlaps: Fields::NONE,
            recorded,
        }
    }
}
