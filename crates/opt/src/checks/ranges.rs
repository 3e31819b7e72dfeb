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
//! Ranges of one object that go along with each other, as those of `a[i - 1]` and `a[i + 1]`,
//! become one. Shifted by k steps, a range of n elements begins inside the other one or right
//! behind it if n is at least k. So both together are the other one and k more elements. For one
//! step a single iteration is enough. For more, the program compares n with k before the loop, and
//! makes a check of each if n is less.

use super::loop_front::LoopFront;
use super::loops::{Candidate, Check};
use crate::linear::Linear;
use finishline_ir::{CompareOp, Operand};
use std::iter::{once, repeat};

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

    /// By how many steps another one, which starts later, is shifted. None if that is not known,
    /// or too far.
    fn shift_to(&self, later: &Range) -> Option<i64> {
        if self.of() != later.of() {
            return None;
        }
        let [here, there] = [self, later].map(|range| range.line.start.constant);
        let shift = there.checked_sub(here)?;
        let step = self.line.step.as_int().unwrap_or(0).checked_abs()?;
        match step {
            _ if shift == 0 => Some(0),
            0 => None,
            step => Some(shift / step).filter(|k| shift % step == 0 && *k <= FURTHEST),
        }
    }
}

/// Steps up to which it is worth while to make one of two ranges.
const FURTHEST: i64 = 16;

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
    for together in ranges.chunk_by(|range, later| range.shift_to(later).is_some()) {
        add_together(together, place);
    }
}

/// Adds one check for ranges that go along with each other, in rising order.
fn add_together(ranges: &[Range], place: &mut LoopFront<'_, '_>) {
    let shifts = ranges.windows(2).map(|pair| pair[0].shift_to(&pair[1]));
    let shifts: Vec<i64> = shifts.map(Option::unwrap_or_default).collect();
    let more: i64 = shifts.iter().sum();
    let furthest = shifts.iter().copied().max().unwrap_or(0);
    let mut distinct = ranges.to_vec();
    distinct.dedup_by_key(|range| range.line.start.constant);
    if ranges[0].line.step.as_int().is_some_and(|step| step < 0) {
        distinct.reverse();
    }
    let trips = place.trips_and(0);
    let (count, apart) = match trips {
        _ if furthest <= 1 => (place.trips_and(more), Operand::Constant(0)),
        Operand::Constant(count) if count >= furthest => {
            (Operand::Constant(count + more), Operand::Constant(0))
        }
        Operand::Constant(_) => (trips, trips),
        Operand::Value(_) => {
            let far = Operand::Constant(furthest);
            let [joined, apart] = [CompareOp::GreaterEqual, CompareOp::Less]
                .map(|compare| place.compare(compare, [trips, far]));
            let more = place.multiply(joined, Operand::Constant(more));
            (place.plus(trips, more), place.multiply(trips, apart))
        }
    };
    let counts = once(count).chain(repeat(apart));
    for (Range { check, line }, count) in distinct.into_iter().zip(counts) {
        if count != Operand::Constant(0) {
            let (first, step) = (place.value(line.start), place.sum(line.step));
            place.add(check.of(first, count, step));
        }
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
