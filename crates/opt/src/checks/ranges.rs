//! Range checks: a loop that accesses `a[c·i + d]` checks all these elements at once, before it starts.
//!
//! The paper has no such rule. The loop makes the access in every iteration, ends by its header alone, and all of it is in one step: then the
//! elements it will access are known before the loop, a first one, a number and a distance, and checking them there is checking
//! them in the same step. A detector goes through the cells of a range without going through the program for each.
//! Elements of arrays with several dimensions are linear in each counter, so columns and diagonals are ranges as rows are.

use super::loops::{Candidate, Made, Place};
use finishline_ir::Operand;

/// Whether a check whose first location is linear, all else being invariant, is a range.
pub(super) fn applies(candidate: &Candidate) -> bool {
    candidate.made == Made::Always && candidate.count == Operand::Constant(1)
}

/// The first location, count and stride of the check in front of the loop.
pub(super) fn in_front(
    candidate: &Candidate,
    place: &mut Place<'_, '_>,
) -> (Operand, Operand, Operand) {
    let (first, step) = place.first(candidate);
    (first, place.trips(), step)
}
