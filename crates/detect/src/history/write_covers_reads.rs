//! The last writer and one reader, where a write covers the reads before it: 8 bytes a location,
//! exact without isolated blocks, and made for a fast path.
//!
//! ```text
//! read     races with a parallel writer; becomes the reader unless the reader is parallel
//! write    races with a parallel writer or reader; becomes the writer and the reader
//! ```
//!
//! DIVERGENCE: [ESP-bags Fig. 4] leaves the reader unchanged on a write, and so does
//! [`super::LastWriterOneReader`]. Here the writer replaces it. The set of racing **locations** is
//! the same. Let r be the reader that write w replaces. If r is parallel to w, the location is
//! reported at w. Otherwise r precedes w. Then every later access a that is parallel to r is
//! parallel to w too, because r would precede a if w did. So everything that would have raced with
//! r races with w. And w, remembered as a reader, causes no false report: a write parallel to it
//! races with the writer w as well. The racing pairs may differ, so the pass that names pairs
//! follows the figure.
//!
//! The gain: **if the reader of a cell is the running task, a read by it changes and finds
//! nothing.** In this case no other task has written since the running task last accessed the
//! location. At that time the writer preceded it (and still does) or the race was reported. So one
//! 32-bit comparison decides most reads, and a write settles the cell for reads and writes at once.

use super::{Field, Fields, History, Now, Transition};
use crate::order::Stamp;
use finishline_model::AccessKind;

#[derive(Debug)]
pub enum WriteCoversReads {}

impl History for WriteCoversReads {
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
        // After a write the two fields are equal, and one look-up is enough.
        let reader_is_parallel = if reader == writer {
            !races.is_empty()
        } else {
            parallel(reader)
        };
        let (cell, races, recorded) = match now.kind {
            AccessKind::Read if reader_is_parallel => (cell, races, None),
            AccessKind::Read => ([writer, now.stamp], races, Some(Field::Reader)),
            AccessKind::Write => (
                [now.stamp; 2],
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
