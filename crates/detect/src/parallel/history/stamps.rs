//! Sets of stamps that fit into half a word: nobody, one stamp, or the number of a row with a stamp
//! and the other ones. Rows never change, so a half means the same for all workers, for good.

use super::super::rows::Rows;
use crate::order::{NOBODY, Stamp};
use crate::table::TableError;

/// Nobody, a stamp, or with the highest bit the number of a row.
pub(super) type Half = u32;

const SET: u32 = 1 << 31;
/// The last number is [`super::super::NO_STAMP`].
const MOST_ROWS: usize = (1 << 31) - 1;

pub(super) struct Stamps {
    rows: Rows<2>,
}

impl Stamps {
    pub(super) fn new() -> Result<Self, TableError> {
        let rows = Rows::reserve("sets of steps", MOST_ROWS)?;
        Ok(Stamps { rows })
    }

    /// The stamps of a half, the latest first.
    #[inline]
    pub(super) fn of(&self, half: Half) -> impl Iterator<Item = Stamp> {
        let mut left = half;
        std::iter::from_fn(move || {
            let stamp;
            (stamp, left) = match left & SET {
                0 => (left, NOBODY),
                _ => {
                    let [stamp, others] = self.rows.get(left & !SET);
                    (stamp, others)
                }
            };
            (stamp != NOBODY).then_some(stamp)
        })
    }

    /// Whether a half has one stamp or none.
    #[inline]
    pub(super) fn is_small(half: Half) -> bool {
        half & SET == 0
    }

    /// The half with another stamp.
    pub(super) fn with(&self, half: Half, stamp: Stamp) -> Result<Half, TableError> {
        match half {
            NOBODY => Ok(stamp),
            _ => Ok(SET | self.rows.add([stamp, half])?),
        }
    }

    /// The half of these stamps, the latest first.
    pub(super) fn collect(&self, stamps: &[Stamp]) -> Result<Half, TableError> {
        let mut oldest_first = stamps.iter().rev();
        oldest_first.try_fold(NOBODY, |half, stamp| self.with(half, *stamp))
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.rows.used_bytes()
    }
}
