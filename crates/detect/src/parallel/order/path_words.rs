//! Paths in the structure tree, packed into words: how [labels](super::labels) are written.
//!
//! A node of a path is a value: twice its place among its siblings, plus one if it is a task. A
//! value is a code of one to four *units* of four bits.
//!
//! ```text
//! 0vvv                   below 8
//! 10vv vvvv              below 64
//! 110v vvvv vvvv         below 512
//! 1110 vvvv vvvv vvvv    below 4096
//! 1111                   others: the value itself comes first in the next word
//! ```
//!
//! Codes are in the order of the values, and no code begins with another one. So two paths are
//! compared by their bits: in the first unit that differs they have different codes. The lowest bit
//! of a code tells a task.

/// The number of a row.
pub(super) type Row = u32;

/// The units of a word.
pub(super) const UNITS: u32 = 16;
const UNIT_BITS: u32 = 4;
/// Units that every code but the last kind fits into.
pub(super) const LONGEST: u32 = 4;
/// Values from here on have a word of their own.
pub(super) const LONG_FROM: u32 = 1 << 12;
/// The units of a long value in its word.
const UNITS_OF_LONG: u32 = 8;
pub(super) const LONG_MARK: u64 = 0b1111;
/// A part of a path that lies in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word {
    bits: u64,
    /// A bit for each unit, the first one highest: whether a code begins there.
    starts: u16,
    used: u8,
    /// Whether it begins with a long value.
    is_long: bool,
}

impl Word {
    pub(super) const EMPTY: Word = Word {
        bits: 0,
        starts: 0,
        used: 0,
        is_long: false,
    };

    pub(super) fn used(self) -> u32 {
        self.used.into()
    }

    pub(super) fn with_code(self, code: u64, units: u32) -> Word {
        let used = self.used() + units;
        debug_assert!(used <= UNITS);
        Word {
            bits: self.bits | code << ((UNITS - used) * UNIT_BITS),
            starts: self.starts | 1 << (UNITS - 1 - self.used()),
            used: used as u8,
            ..self
        }
    }

    /// The word with a value at its end. The value is not a long one.
    pub(super) fn with(self, value: u32) -> Word {
        let bits = u64::from(value);
        match value {
            0..8 => self.with_code(bits, 1),
            8..64 => self.with_code(0b10 << 6 | bits, 2),
            64..512 => self.with_code(0b110 << 9 | bits, 3),
            _ => self.with_code(0b1110 << 12 | bits, LONGEST),
        }
    }

    /// A word that begins with a long value.
    pub(super) fn of_long(value: u32) -> Word {
        let word = Word {
            is_long: true,
            ..Word::EMPTY
        };
        word.with_code(value.into(), UNITS_OF_LONG)
    }

    /// Whether the code that begins at this unit is that of a task.
    #[inline]
    fn is_task(self, start: u32) -> bool {
        let unit = |place: u32| self.bits >> ((UNITS - 1 - place) * UNIT_BITS);
        if self.is_long && start == 0 {
            return unit(UNITS_OF_LONG - 1) & 1 == 1;
        }
        let longer = ((unit(start) as u8) << 4).leading_ones();
        unit(start + longer) & 1 == 1
    }

    /// The codes before this unit.
    fn before(self, unit: u32) -> Word {
        let rest = u64::MAX.checked_shr(unit * UNIT_BITS).unwrap_or(0);
        let starts = u16::MAX.checked_shr(unit).unwrap_or(0);
        Word {
            bits: self.bits & !rest,
            starts: self.starts & !starts,
            used: unit as u8,
            is_long: self.is_long && unit > 0,
        }
    }

    /// Where two words part: the unit at which the codes begin that differ, and whether the left
    /// one is that of a task. None if they are the same, or one begins with the other.
    #[inline]
    fn parts_from(self, other: Word) -> Option<(u32, bool)> {
        let used = self.used.min(other.used);
        let both = !u64::MAX
            .checked_shr(u32::from(used) * UNIT_BITS)
            .unwrap_or(0);
        let differ = (self.bits ^ other.bits) & both;
        if differ == 0 {
            return None;
        }
        let unit = differ.leading_zeros() / UNIT_BITS;
        let starts = self.starts >> (UNITS - 1 - unit);
        let start = unit - starts.trailing_zeros();
        let left = match self.bits < other.bits {
            true => self,
            false => other,
        };
        Some((start, left.is_task(start)))
    }
}

/// A row: a word, the row above it, and how many rows are above.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) word: Word,
    pub(super) above: Row,
    pub(super) depth: u32,
    /// Whether it is that of an inner node which stands for several steps below it.
    pub(super) is_inner: bool,
}

/// Where two paths part.
pub(super) struct Fork {
    /// The node at which they part.
    pub(super) node: Path,
    /// Whether the left one of the two children is a task.
    pub(super) left_is_task: bool,
}

impl Path {
    pub(super) fn new(word: Word, above: Row, depth: u32) -> Path {
        Path {
            word,
            above,
            depth,
            is_inner: false,
        }
    }

    #[inline]
    pub(super) fn to_words(self) -> [u32; 5] {
        let Word { bits, starts, .. } = self.word;
        let flags = u32::from(self.word.is_long) | u32::from(self.is_inner) << 1;
        let rest = u32::from(starts) | flags << 16 | u32::from(self.word.used) << 24;
        let [low, high] = [bits as u32, (bits >> 32) as u32];
        [low, high, self.above, self.depth, rest]
    }

    #[inline]
    pub(super) fn from_words([low, high, above, depth, rest]: [u32; 5]) -> Path {
        let word = Word {
            bits: u64::from(high) << 32 | u64::from(low),
            starts: rest as u16,
            used: (rest >> 24) as u8,
            is_long: rest >> 16 & 1 != 0,
        };
        Path {
            word,
            above,
            depth,
            is_inner: rest >> 16 & 2 != 0,
        }
    }

    /// Whether the path ends no further down than another one, if one goes through the other.
    #[inline]
    pub(super) fn goes_no_deeper_than(self, other: Path) -> bool {
        (self.depth, self.word.used) <= (other.depth, other.word.used)
    }

    /// A number by which paths are told apart quickly.
    pub(super) fn mix(self) -> u32 {
        let bits = self.word.bits ^ u64::from(self.above) << 7;
        (bits ^ bits >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) as u32 >> 20
    }

    /// Where two paths part that have the same row above. None if they are the same, or one goes
    /// through the other.
    #[inline]
    pub(super) fn parts_from(self, other: Path) -> Option<Fork> {
        debug_assert_eq!(self.above, other.above);
        let (start, left_is_task) = self.word.parts_from(other.word)?;
        let node = Path {
            word: self.word.before(start),
            is_inner: true,
            ..self
        };
        Some(Fork { node, left_is_task })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_the_order_of_their_values_and_tell_tasks() {
        let values = [0, 1, 6, 7, 8, 9, 62, 63, 64, 65, 511, 512, 513, 4094, 4095];
        for pair in values.windows(2) {
            let [small, large] = [pair[0], pair[1]].map(|value| Word::EMPTY.with(value));
            assert!(small.bits < large.bits, "{pair:?}");
        }
        for value in values {
            let word = Word::EMPTY.with(3).with(value);
            assert_eq!(word.is_task(1), value & 1 == 1, "{value}");
        }
        for value in [LONG_FROM, LONG_FROM + 1, u32::MAX - 1, u32::MAX] {
            assert_eq!(Word::of_long(value).is_task(0), value & 1 == 1, "{value}");
        }
    }
}
