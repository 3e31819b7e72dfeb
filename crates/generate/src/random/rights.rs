//! The rights of tasks to read and write: they make a generated program free of races.
//!
//! A set of locations is a 64-bit mask. While a body is generated, [`Rights`] says what the current
//! task may read and write without any chance of a race. Creating a task gives some rights away.
//! The parent may no longer touch what the child may write, and may no longer write what the child
//! may read. The end of the finish that waits for the child brings the rights back. Where paths
//! meet (`if`, the exits of a loop), only the rights that all paths have remain.
//!
//! Iterations of a loop overlap if tasks outlive them. Then a gift would be made in each iteration
//! and never come back. So inside a loop a task gets only what is new in each iteration:
//! [`Scope::givable`](super::Scope).
//!
//! Invariant: `write ⊆ read`.

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Rights {
    pub read: u64,
    pub write: u64,
}

impl Rights {
    pub(super) fn all_of(mask: u64) -> Rights {
        Rights {
            read: mask,
            write: mask,
        }
    }

    pub(super) fn meet(self, other: Rights) -> Rights {
        Rights {
            read: self.read & other.read,
            write: self.write & other.write,
        }
    }

    pub(super) fn join(self, other: Rights) -> Rights {
        Rights {
            read: self.read | other.read,
            write: self.write | other.write,
        }
    }

    pub(super) fn only(self, mask: u64) -> Rights {
        self.meet(Rights::all_of(mask))
    }

    pub(super) fn without(self, mask: u64) -> Rights {
        self.only(!mask)
    }

    pub(super) fn permit(self, effect: Effect) -> bool {
        effect.reads & !self.read == 0 && effect.writes & !self.write == 0
    }

    /// The rights that remain after a gift, if it can be made.
    pub(super) fn after_giving(self, gift: Effect, givable: u64) -> Option<Rights> {
        let changes_hands = gift.writes | (gift.reads & self.write);
        let possible = self.permit(gift) && changes_hands & !givable == 0;
        possible.then_some(Rights {
            read: self.read & !gift.writes,
            write: self.write & !(gift.reads | gift.writes),
        })
    }

    /// The rights that were given away between `self` and `later`.
    pub(super) fn lost(self, later: Rights) -> Effect {
        Effect {
            reads: self.write & !later.write,
            writes: self.read & !later.read,
        }
    }
}

/// The locations that a piece of program reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Effect {
    pub reads: u64,
    pub writes: u64,
}

impl Effect {
    pub(super) fn only(self, mask: u64) -> Effect {
        Effect {
            reads: self.reads & mask,
            writes: self.writes & mask,
        }
    }

    pub(super) fn join(self, other: Effect) -> Effect {
        Effect {
            reads: self.reads | other.reads,
            writes: self.writes | other.writes,
        }
    }

    pub(super) fn map(self, of: impl Fn(u64) -> u64) -> Effect {
        Effect {
            reads: of(self.reads),
            writes: of(self.writes),
        }
    }
}

/// The lowest `count` bits.
pub(super) fn ones(count: usize) -> u64 {
    1u64.checked_shl(count as u32)
        .map_or(u64::MAX, |bit| bit - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_location_leaves_the_giver_a_read_one_becomes_read_only() {
        let gift = Effect {
            reads: 0b0110,
            writes: 0b0001,
        };
        let mine = Rights {
            read: 0b1111,
            write: 0b1011,
        };
        let after = mine.after_giving(gift, u64::MAX).unwrap();
        assert_eq!(after.read, 0b1110);
        assert_eq!(after.write, 0b1000);
        let back = mine.lost(after);
        assert_eq!((back.reads, back.writes), (0b0011, 0b0001));
    }

    #[test]
    fn nothing_is_given_that_is_not_owned_or_must_be_kept() {
        let mine = Rights {
            read: 0b011,
            write: 0b001,
        };
        let writes = |writes| Effect { reads: 0, writes };
        let reads = |reads| Effect { reads, writes: 0 };
        assert!(mine.after_giving(writes(0b010), u64::MAX).is_none());
        assert!(mine.after_giving(reads(0b100), u64::MAX).is_none());
        assert!(mine.after_giving(writes(0b001), 0b110).is_none());
        assert!(mine.after_giving(reads(0b001), 0b110).is_none());
        // Reading a location that the giver can't write either is harmless in any iteration.
        assert!(mine.after_giving(reads(0b010), 0).is_some());
    }
}
