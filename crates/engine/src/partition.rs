//! One of several parts of a piece of work, each of which a process of its own can do.
//!
//! An exploration is divided by the pieces of its search ([`explore`](crate::explore)), in turn.
//! The judgement of a trace ([`recorded`](crate::recorded)) is divided by locations: whether a
//! location races depends on the tasks and on the accesses to it, not on accesses elsewhere.

use finishline_model::Location;

/// A part, from 0, and how many there are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Part {
    pub number: usize,
    pub of: usize,
}

/// So many neighbours stay together: most accesses to several locations are to neighbours.
const NEIGHBOURS: u64 = 64;

impl Part {
    pub fn has_piece(self, piece: usize) -> bool {
        piece % self.of == self.number
    }

    pub fn has_location(self, location: Location) -> bool {
        // Rows of a matrix may be as long as there are parts.
        let mixed = (location.0 / NEIGHBOURS).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        mixed as usize % self.of == self.number
    }
}
