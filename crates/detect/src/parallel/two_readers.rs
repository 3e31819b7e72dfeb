//! The last writer and two readers: the history of SPD3 [FastRacer §2.2].
//!
//! ```text
//! read     races with a parallel writer
//!          of the readers, those that precede it are dropped, and it is added;
//!          of three, two are kept that stand for all
//! write    races with a parallel writer and with parallel readers
//!          is the writer, and there are no readers
//! ```
//!
//! Two readers are enough in any schedule, because [two of three](super::TwoOfThree) stand for all.
//! A write may forget readers that it races with: the location is known to race. It may forget the
//! others, because what is parallel to them later is parallel to the write.

use super::{SharedHistory, TwoOfThree};
use crate::order::{NOBODY, Stamp};
use finishline_model::AccessKind;

#[derive(Debug)]
pub struct TwoReaders;

impl<O: TwoOfThree> SharedHistory<O> for TwoReaders {
    /// The writer and the readers.
    type Cell = [Stamp; 3];

    fn access(
        [writer, one, other]: [Stamp; 3],
        kind: AccessKind,
        order: &O,
        strand: &O::Strand,
    ) -> ([Stamp; 3], bool) {
        let now = order.stamp(strand);
        let parallel = |earlier: Stamp| order.parallel(strand, earlier);
        let races = parallel(writer);
        match kind {
            AccessKind::Write => {
                let races = races || parallel(one) || parallel(other);
                ([now, NOBODY, NOBODY], races)
            }
            AccessKind::Read => {
                let readers = match [one, other].map(parallel) {
                    [true, true] => order.two_of_three([one, other, now]),
                    [true, false] => [one, now],
                    [false, true] => [other, now],
                    [false, false] => [now, NOBODY],
                };
                ([writer, readers[0], readers[1]], races)
            }
        }
    }
}
