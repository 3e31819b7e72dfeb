//! Range checks: a loop that accesses `a[c·i + d]` checks all these elements at once.
//!
//! The paper has no such rule. The loop makes the access in every iteration, and all of it is in one step. So the elements that it
//! accesses, a first one, a number and a distance, can be checked together where the number is known, in front of the loop or
//! behind it, and that is checking them in their step. A detector goes through the cells of a range without going through the program for each.
//! Elements of arrays with several dimensions are linear in each counter, so columns and diagonals are ranges as rows are; in a nest of
//! loops, the innermost one that changes the element makes the range, and the loops around it one range an iteration, or none where it is
//! the same.

use super::loops::Candidate;
use super::place::Place;
use finishline_ir::Instruction;

/// The check in front of the loop, of an element in each iteration.
pub(super) fn in_front(candidate: &Candidate, place: &mut Place<'_, '_>) -> Instruction {
    let (first, step) = place.first(candidate);
    candidate.check.of(first, place.trips(), step)
}
