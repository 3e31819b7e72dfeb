//! The last writer and one reader, where a write covers the reads before it: 8 bytes a location,
//! exact without isolated blocks, and made for a fast path.
//!
//! ```text
//! read     races with a parallel writer; becomes the reader unless the reader is parallel
//! write    races with a parallel writer or reader; becomes the writer and the reader
//! ```
//!
//! DIVERGENCE: [ESP-bags Fig. 4] leaves the reader alone on a write, as
//! [`super::LastWriterOneReader`] does. Here the writer takes its place. The set of racing
//! **locations** is the same. Let r be the reader that write w replaces. If r is parallel to w the
//! location is reported at w. Otherwise r precedes w, and every later access a that is parallel to
//! r is parallel to w too, as r would precede a if w did; so whatever would have raced with r races
//! with w. And w, remembered as a reader, accuses nobody in vain: a write parallel to it races with
//! the writer w as well. Which of the accesses races is not the same, so the pass that names pairs
//! keeps to the figure.
//!
//! What is gained: **if the reader of a cell is the running task, a read by it changes and finds
//! nothing.** For then no other task has written since it last read or wrote the location, and at
//! that time the writer preceded it (it still does) or the race was reported. So one 32-bit
//! comparison decides most reads, and after a write the cell is settled, for reads and writes, at
//! once.

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
        // After a write the two are one, and one look-up is enough.
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
