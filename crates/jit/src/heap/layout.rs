//! How an object lies in memory: the contract between the heap and compiled code.
//!
//! A reference points at the first byte of the data; null is 0. Everything else is found from
//! there:
//!
//! ```text
//!  array:   [ size of dimension k at −24 − 8(k+1) ] [ header ] [ elements ]  [ cells of c bytes ]
//!  struct:  [ cell of field k at −24 − c(k+1) ]      [ header ]  [ fields, 8 bytes each ]
//! ```
//!
//! Cells belong to the race detector; without one there are none. A cell has c = 8 or 16 bytes. The
//! cells of a struct lie before it, so their places depend on the field alone. The cells of an
//! array lie behind its elements, of which there may be any number, and the header says where.
//! Some detectors have a word for the whole object, too: right before the cells of an array, and
//! between the cells and the header of a struct. Everything is aligned to 8 bytes. A new object is
//! zero, except for its header and sizes.

use finishline_ir::Type;

/// A place of 8 bytes: a field, a size, a part of the header, and an element that is no `bool` or
/// `byte`.
pub(crate) const WORD_BYTES: usize = 8;
/// What the detector remembers of one location: a cell of so many bytes, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cells {
    None,
    /// Of a run on one worker.
    Word,
    /// Of a run on several, with a word for the object.
    WordInPhases,
    /// Of a run on several.
    TwoWords,
}

impl Cells {
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Cells::None => 0,
            Cells::Word | Cells::WordInPhases => WORD_BYTES,
            Cells::TwoWords => 2 * WORD_BYTES,
        }
    }

    /// What the word for the whole object takes.
    pub(super) const fn phase_bytes(self) -> usize {
        match self {
            Cells::WordInPhases => WORD_BYTES,
            Cells::None | Cells::Word | Cells::TwoWords => 0,
        }
    }

    /// Where the cell of a field or of a global variable is, from the reference.
    pub(crate) const fn of_field(self, field: u32) -> i32 {
        let before = HEADER_BYTES + self.phase_bytes();
        -(before as i32) - self.bytes() as i32 * (field as i32 + 1)
    }
}
/// Where the word for a whole struct is, from the reference, and that for an array, from its cells.
pub(crate) const PHASE_OF_STRUCT: i32 = -(HEADER_BYTES as i32) - WORD_BYTES as i32;
pub(crate) const PHASE_OF_ARRAY: i32 = -(WORD_BYTES as i32);
pub(crate) const HEADER_BYTES: usize = 24;

// The header, from a reference. It does not say what the object is: compiled code knows, and the
// collector is told by the span.
pub(crate) const FIRST_LOCATION_OFFSET: i32 = -8;
/// Where the cells of an array begin: an address, or 0 without cells and in structs.
pub(crate) const CELLS_OFFSET: i32 = -16;
/// How many locations the object has.
pub(crate) const COUNT_OFFSET: i32 = -24;

/// Where a field of a struct or a global variable is, from the reference.
pub(crate) const fn field_offset(field: u32) -> i32 {
    field as i32 * WORD_BYTES as i32
}

/// Where the size of a dimension of an array is, from the reference.
pub(crate) const fn size_offset(dimension: u32) -> i32 {
    -(HEADER_BYTES as i32) - WORD_BYTES as i32 * (dimension as i32 + 1)
}

/// Where a promise has its value, and its mark: 0 while it is empty, the number of the site that
/// set it, counted from 1, or less than 0 while tasks wait for it.
pub(crate) const PROMISE_VALUE: i32 = field_offset(0);
pub(crate) const PROMISE_MARK: i32 = field_offset(1);
/// Where a lock has its number. It is an object like a promise of an int.
pub(crate) const LOCK_NUMBER: i32 = field_offset(0);
/// Of a lock in a parallel run: whether it is held.
pub(crate) const LOCK_STATE: i32 = field_offset(1);

/// Bytes from the start of an array to its elements.
pub(super) const fn array_prefix(dimensions: usize) -> usize {
    HEADER_BYTES.saturating_add(dimensions.saturating_mul(WORD_BYTES))
}

/// The extent of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    /// Bytes from its start to the data.
    pub(super) prefix: usize,
    /// Bytes from the data to the cells behind it, if there are any.
    pub(super) cells: Option<usize>,
    /// All of it.
    pub(super) bytes: usize,
}

/// Data takes a word even if there is none: a reference then lies inside its object and not at the
/// start of the next.
const LEAST_DATA: usize = WORD_BYTES;
/// What the smallest object takes.
pub(super) const SMALLEST_OBJECT: usize = HEADER_BYTES + LEAST_DATA;

impl Extent {
    /// Of a struct or the globals. `None` if it does not fit in the address space, here and below.
    pub(super) fn of_fields(fields: usize, cells: Cells) -> Option<Extent> {
        let data = fields.checked_mul(WORD_BYTES)?;
        let header = HEADER_BYTES + cells.phase_bytes();
        let prefix = fields.checked_mul(cells.bytes())?.checked_add(header)?;
        Some(Extent {
            prefix,
            cells: None,
            bytes: prefix.checked_add(data.max(LEAST_DATA))?,
        })
    }

    pub(super) fn of_array(
        element: Type,
        dimensions: usize,
        count: u64,
        cells: Cells,
    ) -> Option<Extent> {
        let count = usize::try_from(count).ok()?;
        let prefix = array_prefix(dimensions);
        let data = count
            .checked_mul(element.size() as usize)?
            .checked_next_multiple_of(WORD_BYTES)?
            .max(LEAST_DATA)
            .checked_add(cells.phase_bytes())?;
        let end = prefix.checked_add(data)?;
        Some(Extent {
            prefix,
            cells: (cells != Cells::None).then_some(data),
            bytes: end.checked_add(count.checked_mul(cells.bytes())?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_what_the_picture_says() {
        let extent = |prefix, cells, bytes| {
            Some(Extent {
                prefix,
                cells,
                bytes,
            })
        };
        assert_eq!(Extent::of_fields(3, Cells::None), extent(24, None, 48));
        assert_eq!(Extent::of_fields(3, Cells::Word), extent(48, None, 72));
        assert_eq!(Extent::of_fields(0, Cells::Word), extent(24, None, 32));
        let array = Extent::of_array;
        assert_eq!(array(Type::Int, 1, 5, Cells::None), extent(32, None, 72));
        assert_eq!(
            array(Type::Ref, 2, 6, Cells::Word),
            extent(40, Some(48), 136)
        );
        assert_eq!(
            array(Type::Byte, 1, 9, Cells::Word),
            extent(32, Some(16), 120)
        );
        assert_eq!(array(Type::Bool, 1, 9, Cells::None), extent(32, None, 48));
        assert_eq!(
            array(Type::Float, 1, 0, Cells::Word),
            extent(32, Some(8), 40)
        );
        assert_eq!(Extent::of_fields(3, Cells::TwoWords), extent(72, None, 96));
        assert_eq!(
            array(Type::Byte, 1, 9, Cells::TwoWords),
            extent(32, Some(16), 192)
        );
        let phased = Cells::WordInPhases;
        assert_eq!(Extent::of_fields(3, phased), extent(56, None, 80));
        assert_eq!(array(Type::Byte, 1, 9, phased), extent(32, Some(24), 128));
        assert_eq!(phased.of_field(0), PHASE_OF_STRUCT - 8);
        assert_eq!(SMALLEST_OBJECT, 32);
    }

    #[test]
    fn what_has_no_room_in_the_address_space_has_no_extent() {
        for (element, count) in [
            (Type::Int, u64::MAX / 8),
            (Type::Int, u64::MAX / 16),
            (Type::Byte, u64::MAX),
            (Type::Byte, u64::MAX / 9),
        ] {
            assert_eq!(Extent::of_array(element, 1, count, Cells::Word), None);
        }
        assert_eq!(
            Extent::of_array(Type::Int, usize::MAX, 0, Cells::None),
            None
        );
        assert_eq!(Extent::of_fields(usize::MAX / 8, Cells::Word), None);
    }
}
