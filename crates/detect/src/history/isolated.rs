//! The last writer, one reader, and one of each in isolated blocks: 16 bytes a location.
//!
//! [ESP-bags Fig. 6]
//!
//! ```text
//! read             races with a parallel writer, isolated writer
//! write            races with a parallel writer, reader, isolated writer, isolated reader
//! isolated read    races with a parallel writer
//! isolated write   races with a parallel writer, reader
//! ```
//!
//! A write becomes the writer. Any other access replaces the access of its kind, unless that is
//! parallel to it. The history is exact, like [`super::LastWriterOneReader`], for the order by task
//! structure alone. An isolated writer stands for a parallel new one by the same argument by which
//! one reader stands for later ones.
//!
//! DIVERGENCE: beyond the figure it reports *overlaps*: an isolated access that conflicts with a
//! parallel isolated one. Overlaps are no races. But if there are neither overlaps nor races, the
//! order of isolated blocks can't matter. Overlaps are exact by the same argument.

use super::{Field, Fields, History, Now, Transition};
use crate::order::Stamp;
use finishline_model::AccessKind;

#[derive(Debug)]
pub enum Isolated {}

impl History for Isolated {
    type Cell = [Stamp; 4];

    const KNOWS_ISOLATED: bool = true;

    #[inline]
    fn settled(stamp: Stamp, isolated: bool) -> [Stamp; 4] {
        if isolated {
            [0, 0, stamp, stamp]
        } else {
            [stamp, stamp, 0, 0]
        }
    }

    #[inline]
    fn transition(
        mut cell: [Stamp; 4],
        now: Now,
        mut parallel: impl FnMut(Stamp) -> bool,
    ) -> Transition<[Stamp; 4]> {
        use Field::{IsolatedReader, IsolatedWriter, Reader, Writer};
        let mut in_p_bag = |field: Field| parallel(cell[field as usize]);
        let (writer, none) = (Fields::NONE.with(Writer, in_p_bag(Writer)), Fields::NONE);
        let (races, overlaps, recorded) = match (now.kind, now.isolated) {
            // [ESP-bags Fig. 6, read]
            (AccessKind::Read, false) => {
                let races = writer.with(IsolatedWriter, in_p_bag(IsolatedWriter));
                (races, none, (!in_p_bag(Reader)).then_some(Reader))
            }
            // [ESP-bags Fig. 6, write]
            (AccessKind::Write, false) => {
                let races = writer
                    .with(Reader, in_p_bag(Reader))
                    .with(IsolatedWriter, in_p_bag(IsolatedWriter))
                    .with(IsolatedReader, in_p_bag(IsolatedReader));
                (races, none, Some(Writer))
            }
            // [ESP-bags Fig. 6, isolated read]
            (AccessKind::Read, true) => {
                let overlaps = none.with(IsolatedWriter, in_p_bag(IsolatedWriter));
                (
                    writer,
                    overlaps,
                    (!in_p_bag(IsolatedReader)).then_some(IsolatedReader),
                )
            }
            // [ESP-bags Fig. 6, isolated write]
            (AccessKind::Write, true) => {
                let races = writer.with(Reader, in_p_bag(Reader));
                let isolated_writer = in_p_bag(IsolatedWriter);
                let overlaps = none
                    .with(IsolatedWriter, isolated_writer)
                    .with(IsolatedReader, in_p_bag(IsolatedReader));
                (
                    races,
                    overlaps,
                    (!isolated_writer).then_some(IsolatedWriter),
                )
            }
        };
        if let Some(own) = recorded {
            cell[own as usize] = now.stamp;
        }
        Transition {
            cell,
            races,
            overlaps,
            recorded,
        }
    }
}
