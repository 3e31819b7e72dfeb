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
//! Two readers are enough in any schedule, because [two of three](SharedOrder::two_of_three) stand
//! for all. A write may forget readers that it races with: the location is known to race. It may
//! forget the others, because what is parallel to them later is parallel to the write.

use super::super::cell::ThreeStamps;
use super::super::{Meets, Now, SharedHistory, SharedOrder};
use crate::Failure;
use crate::order::{NOBODY, Stamp};
use finishline_model::AccessKind;

#[derive(Debug)]
pub struct TwoReaders;

impl<O: SharedOrder> SharedHistory<O> for TwoReaders {
    /// The writer and the readers.
    type Cell = ThreeStamps;

    fn new() -> Result<Self, Failure> {
        Ok(TwoReaders)
    }

    fn access(
        &self,
        [writer, one, other]: [Stamp; 3],
        now: &mut Now<'_, O>,
    ) -> Result<([Stamp; 3], Meets), Failure> {
        let stamp = now.stamp;
        let mut race = now.parallel(writer);
        let [beside_one, beside_other] = [one, other].map(|reader| now.parallel(reader));
        let after = match now.kind {
            AccessKind::Write => {
                race |= beside_one || beside_other;
                [stamp, NOBODY, NOBODY]
            }
            AccessKind::Read => {
                let [one, other] = match [beside_one, beside_other] {
                    [true, true] => match now.order.two_of_three([one, other, stamp]) {
                        Some(two) => two,
                        None => unreachable!("the order has no joins but those of finishes"),
                    },
                    [true, false] => [one, stamp],
                    [false, true] => [other, stamp],
                    [false, false] => [stamp, NOBODY],
                };
                [writer, one, other]
            }
        };
        let meets = Meets {
            race,
            ..Meets::default()
        };
        Ok((after, meets))
    }
}
