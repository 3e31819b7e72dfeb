//! Range checks: a loop that accesses `a[c·i + d]` checks all these elements at once.
//!
//! The paper has no such rule. The loop makes the access in every iteration, and all of it is in
//! one step. So the elements that it accesses, a first one, a number and a distance, can be checked
//! together where the number is known, in front of the loop or behind it, and that is checking them
//! in their step. A detector goes through the cells of a range without going through the program
//! for each. Elements of arrays with several dimensions are linear in each counter, so columns and
//! diagonals are ranges as rows are.
//!
//! In a nest of loops, the innermost one that changes the element makes the range. A loop around it
//! that always has the same number of them in a range has rows: if each begins where the last one
//! would have gone on, which the program asks before the loop, all are one range. Rows that leave
//! elements out, and those of triangles, stay a range each.
//!
//! Ranges of one object that go along with each other, as those of `a[i - 1]` and `a[i + 1]` in a
//! loop over every other i, become one: that of the one shifted by a step begins where the other
//! has its second element, so both together are the other and one more element.

use super::loop_front::LoopFront;
use super::loops::{Candidate, Check};
use crate::linear::Linear;
use finishline_ir::{CompareOp, Operand};

/// A check of the elements along a line.
#[derive(Clone, Copy)]
struct Range {
    check: Check,
    line: Linear,
}

impl Range {
    /// What ranges that go along with each other have in common.
    fn of(&self) -> impl Ord + use<> {
        let Linear { start, step } = self.line;
        (self.check.base, self.check.kind as u8, start.value, step)
    }

    /// Whether another one, which starts later, is the same or shifted by one step.
    fn meets(&self, later: &Range) -> bool {
        let shift = later
            .line
            .start
            .constant
            .checked_sub(self.line.start.constant);
        let by_a_step = |step: i64| shift == Some(0) || shift == step.checked_abs();
        self.of() == later.of() && by_a_step(self.line.step.as_int().unwrap_or(0))
    }
}

/// Adds the checks of elements in each iteration in front of the loop.
pub(super) fn add_in_front(candidates: &[&Candidate], place: &mut LoopFront<'_, '_>) {
    let mut ranges: Vec<Range> = candidates
        .iter()
        .map(|candidate| Range {
            check: candidate.check,
            line: place.line_of(candidate),
        })
        .collect();
    ranges.sort_by_key(|range| (range.of(), range.line.start.constant));
    for together in ranges.chunk_by(Range::meets) {
        let (lowest, highest) = (together[0], together[together.len() - 1]);
        let starts = |range: &Range| range.line.start.constant;
        let shifts = together
            .windows(2)
            .filter(|pair| starts(&pair[0]) != starts(&pair[1]));
        let more = shifts.count() as i64;
        let downwards = lowest.line.step.as_int().is_some_and(|step| step < 0);
        let Range { check, line } = if downwards { highest } else { lowest };
        let (first, step) = (place.value(line.start), place.sum(line.step));
        let count = place.trips_and(more);
        place.add(check.of(first, count, step));
    }
}

/// Adds the check of all rows at once in front of the loop, if they are one range. How many
/// elements the check of each row is still of.
pub(super) fn join_rows(row: &Candidate, place: &mut LoopFront<'_, '_>) -> Operand {
    let line = place.line_of(row);
    let (count, stride) = (
        place.operand(row.check.count),
        place.operand(row.check.stride),
    );
    let (first, step) = (place.value(line.start), place.sum(line.step));
    let length = place.multiply(count, stride);
    let rows = place.trips_and(0);
    let all = place.multiply(count, rows);
    if length == step {
        place.add(row.check.of(first, all, stride));
        return Operand::Constant(0);
    }
    let together = place.compare(CompareOp::Equal, [length, step]);
    let all = place.multiply(all, together);
    place.add(row.check.of(first, all, stride));
    let apart = place.compare(CompareOp::NotEqual, [length, step]);
    place.multiply(count, apart)
}
