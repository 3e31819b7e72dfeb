//! The last writer and the outermost readers: the history of C-RACER [FastRacer §4].
//!
//! Of the readers since the last write two are kept: the last one in each of the two lists. A later
//! step comes after all readers iff it comes after these two, because a step comes after another
//! one iff it does so in both lists.

use super::super::cell::ThreeStamps;
use super::super::{InTwoLists, Meets, Now, SharedHistory};
use crate::Failure;
use crate::order::{NOBODY, Stamp};
use finishline_model::AccessKind;

#[derive(Debug)]
pub struct OutermostReaders;

impl<O: InTwoLists> SharedHistory<O> for OutermostReaders {
    /// The writer, and the last reader in each list.
    type Cell = ThreeStamps;

    fn new() -> Result<Self, Failure> {
        Ok(OutermostReaders)
    }

    fn access(
        &self,
        [writer, first, second]: [Stamp; 3],
        now: &mut Now<'_, O>,
    ) -> Result<([Stamp; 3], Meets), Failure> {
        let mut race = now.parallel(writer);
        let after = match now.kind {
            AccessKind::Write => {
                race |= now.parallel(first) || now.parallel(second);
                [now.stamp, NOBODY, NOBODY]
            }
            AccessKind::Read => [
                writer,
                now.order.last(0, first, now.stamp),
                now.order.last(1, second, now.stamp),
            ],
        };
        let meets = Meets {
            race,
            ..Meets::default()
        };
        Ok((after, meets))
    }
}
