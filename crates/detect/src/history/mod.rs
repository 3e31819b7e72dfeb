//! Histories: what is remembered of earlier accesses to a location, and which of them race with a
//! new access.
//!
//! A history is a **pure transition** on a small `Copy` cell. A serial run stores the new cell,
//! ranges apply the transition in a loop, the second pass uses it for a few locations, and tests
//! enumerate it. A cell of zeros is a location without accesses. To add a history, add a file here
//! and a row in [`crate::detectors`].

use crate::order::Stamp;
use crate::table::Zeroed;
use finishline_model::AccessKind;

mod by_lockset;
mod isolated;
mod last_writer_one_reader;
mod observed_order;
mod stamp_sets;
mod write_covers_reads;

pub use by_lockset::{Around, ByLockset, Meeting};
pub use isolated::Isolated;
pub use last_writer_one_reader::LastWriterOneReader;
pub use observed_order::ObservedOrder;
pub use stamp_sets::StampSets;
pub use write_covers_reads::WriteCoversReads;

/// One remembered access of a cell. The discriminant is its index in the cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Field {
    Writer = 0,
    Reader = 1,
    IsolatedWriter = 2,
    IsolatedReader = 3,
}

impl Field {
    pub const ALL: [Field; 4] = [
        Field::Writer,
        Field::Reader,
        Field::IsolatedWriter,
        Field::IsolatedReader,
    ];
}

/// A set of fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fields(u8);

impl Fields {
    pub const NONE: Fields = Fields(0);

    #[inline]
    #[must_use]
    pub const fn with(self, field: Field, present: bool) -> Fields {
        Fields(self.0 | (present as u8) << field as u8)
    }

    #[inline]
    pub const fn contains(self, field: Field) -> bool {
        self.0 & 1 << field as u8 != 0
    }

    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Field> {
        Field::ALL
            .into_iter()
            .filter(move |&field| self.contains(field))
    }
}

/// An access as a history sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Now {
    pub stamp: Stamp,
    pub kind: AccessKind,
    /// Inside an isolated block.
    pub isolated: bool,
}

/// The effect of one access on a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transition<Cell> {
    pub cell: Cell,
    /// The remembered accesses that race with this one.
    pub races: Fields,
    /// The remembered accesses that conflict with this one in parallel isolated blocks. They are no
    /// races, but the result may depend on which block runs first.
    pub overlaps: Fields,
    /// The field that now stands for this access.
    pub recorded: Option<Field>,
}

pub trait History {
    /// The stamps of its fields, in the order of [`Field`].
    type Cell: Zeroed + Eq + std::fmt::Debug + AsRef<[Stamp]>;

    /// Whether the history has rules for isolated accesses.
    const KNOWS_ISOLATED: bool;

    /// The cell on which neither a read nor a write by `stamp` changes or finds anything, whatever
    /// the order says of other stamps. `isolated` says whether the accesses are in isolated blocks.
    /// This is the fast path of a repeated access, by one comparison.
    fn settled(stamp: Stamp, isolated: bool) -> Self::Cell;

    /// The effect of the access `now` on a cell. `parallel` says whether a remembered stamp may run
    /// in parallel with this access. It is false for `NOBODY` and for `now.stamp`.
    fn transition(
        cell: Self::Cell,
        now: Now,
        parallel: impl FnMut(Stamp) -> bool,
    ) -> Transition<Self::Cell>;
}

/// Every cell × access × relation, against the rules written out as tables.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::NOBODY;
    use AccessKind::{Read, Write};
    use Field::{IsolatedReader, IsolatedWriter, Reader, Writer};

    const NOW: Stamp = 1;
    /// Two earlier tasks. So fields can be different or equal.
    const EARLIER: [Stamp; 2] = [2, 3];

    /// [ESP-bags Fig. 6]: the fields that an access races with, and the field that may record it.
    fn figure_6(kind: AccessKind, isolated: bool) -> (&'static [Field], Field) {
        match (kind, isolated) {
            (Read, true) => (&[Writer], IsolatedReader),
            (Write, true) => (&[Writer, Reader], IsolatedWriter),
            (Read, false) => (&[Writer, IsolatedWriter], Reader),
            (Write, false) => (&[Writer, Reader, IsolatedWriter, IsolatedReader], Writer),
        }
    }

    /// The isolated fields that an isolated access conflicts with.
    fn overlapping(kind: AccessKind, isolated: bool) -> &'static [Field] {
        match (kind, isolated) {
            (_, false) => &[],
            (Read, true) => &[IsolatedWriter],
            (Write, true) => &[IsolatedWriter, IsolatedReader],
        }
    }

    fn fields_of(fields: &[Field], holds: impl Fn(Field) -> bool) -> Fields {
        fields
            .iter()
            .fold(Fields::NONE, |set, &field| set.with(field, holds(field)))
    }

    /// Calls `test` with every cell of `N` stamps, every access, and every relation of the earlier
    /// tasks to it.
    fn every_case<const N: usize>(
        blocks: &[bool],
        mut test: impl FnMut([Stamp; N], Now, &dyn Fn(Stamp) -> bool),
    ) {
        const STAMPS: [Stamp; 4] = [NOBODY, NOW, EARLIER[0], EARLIER[1]];
        for code in 0..STAMPS.len().pow(N as u32) {
            let cell = std::array::from_fn(|field| STAMPS[code >> (2 * field) & 3]);
            for relation in 0..4 {
                let parallel = |stamp: Stamp| {
                    let task = EARLIER.iter().position(|&earlier| earlier == stamp);
                    task.is_some_and(|task| relation >> task & 1 == 1)
                };
                for &isolated in blocks {
                    for kind in [Read, Write] {
                        test(
                            cell,
                            Now {
                                stamp: NOW,
                                kind,
                                isolated,
                            },
                            &parallel,
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn isolated_follows_figure_6() {
        let mut cases = 0;
        every_case::<4>(&[false, true], |cell, now, parallel| {
            let (racing, own) = figure_6(now.kind, now.isolated);
            let in_p_bag = |field: Field| parallel(cell[field as usize]);
            let done = Isolated::transition(cell, now, parallel);
            assert_eq!(done.races, fields_of(racing, in_p_bag), "{cell:?} {now:?}");
            assert_eq!(
                done.overlaps,
                fields_of(overlapping(now.kind, now.isolated), in_p_bag)
            );
            let records = own == Writer || !in_p_bag(own);
            let mut expected = cell;
            if records {
                expected[own as usize] = NOW;
            }
            assert_eq!(done.cell, expected, "{cell:?} {now:?}");
            assert_eq!(done.recorded, records.then_some(own));
            cases += 1;
        });
        assert_eq!(cases, 256 * 4 * 4);
    }

    /// [ESP-bags Fig. 4] is Fig. 6 with the isolated fields empty.
    #[test]
    fn last_writer_one_reader_is_isolated_without_isolated_blocks() {
        let mut cases = 0;
        every_case::<2>(&[false], |[writer, reader], now, parallel| {
            let small = LastWriterOneReader::transition([writer, reader], now, parallel);
            let big = Isolated::transition([writer, reader, NOBODY, NOBODY], now, parallel);
            assert_eq!(big.cell, [small.cell[0], small.cell[1], NOBODY, NOBODY]);
            assert_eq!((big.races, big.recorded), (small.races, small.recorded));
            assert_eq!((big.overlaps, small.overlaps), (Fields::NONE, Fields::NONE));
            cases += 1;
        });
        assert_eq!(cases, 16 * 4 * 2);
    }

    /// The history is [ESP-bags Fig. 4] except for the reader after a write.
    #[test]
    fn a_write_covers_reads_and_else_follows_figure_4() {
        let mut cases = 0;
        every_case::<2>(&[false], |cell, now, parallel| {
            let figure = LastWriterOneReader::transition(cell, now, parallel);
            let covering = WriteCoversReads::transition(cell, now, parallel);
            assert_eq!(
                (covering.races, covering.recorded),
                (figure.races, figure.recorded)
            );
            match now.kind {
                Read => assert_eq!(covering.cell, figure.cell),
                Write => assert_eq!(covering.cell, [NOW, NOW]),
            }
            cases += 1;
        });
        assert_eq!(cases, 16 * 4 * 2);
    }

    #[test]
    fn a_settled_cell_is_left_alone_whatever_the_order() {
        let mut hits = 0;
        every_case::<4>(&[false, true], |cell, now, parallel| {
            if cell == Isolated::settled(NOW, now.isolated) {
                let done = Isolated::transition(cell, now, parallel);
                assert_eq!(
                    (done.cell, done.races, done.overlaps),
                    (cell, Fields::NONE, Fields::NONE)
                );
                hits += 1;
            }
        });
        every_case::<2>(&[false], |cell, now, parallel| {
            if cell == LastWriterOneReader::settled(NOW, now.isolated) {
                let done = LastWriterOneReader::transition(cell, now, parallel);
                assert_eq!((done.cell, done.races), (cell, Fields::NONE));
                hits += 1;
            }
        });
        assert_eq!(hits, 4 * 4 + 4 * 2);
    }
}
