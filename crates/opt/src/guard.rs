//! The conditions in front of the fast copy of a loop.
//!
//! A guard is a chain of blocks that computes what the fast copy needs and asks whether it is
//! allowed; a "no" leads to the original loop, which does everything itself, failures included. So
//! a guard may compute only what can't fail: before a reference is used for a length or a load, the
//! chain has branched on its not being null.
//!
//! **Bounds.** An index of the loop's body is `start + k · step` modulo 2⁶⁴ with 0 ≤ k < n, where n
//! ≥ 1 is the number of iterations. Let `last = start + (n − 1) · step`, wrapping. The guard
//! demands n ≤ 2³¹ and |step| ≤ 2³¹, so the true product fits 2⁶², and 0 ≤ start < size and 0 ≤
//! last < size. The true sum of a start in [0, 2⁶³) and a product in [−2⁶², 2⁶²] is in [−2⁶², 2⁶³ +
//! 2⁶²); where it does not fit an int it wraps to a negative one. As `last` is not negative it is
//! the true sum, and every index between, being between two true values on a line, lies in bounds
//! and never wrapped. If the sign of the step is known, one of the four comparisons follows from
//! `start ≤ last`, or `last ≤ start`, which excludes the wrapped case just as well.
//!
//! **Trips.** A count is asked for 1 ≤ n ≤ 2³¹ as it stands. A `while` loop that runs as long as
//! its counter is below a bound runs as often as the range from the counter's first value to the
//! bound, unless the counter passes the largest int and comes out below the bound again; the guard
//! demands that the bound is at least one step away from the end of the ints, so it does not.

use crate::edit::{new_block, target};
use crate::linear::{Front, Linear, Sum};
use finishline_ir::{
    BinaryOp, BlockId, CompareOp, Const, Function, Op, Target, Terminator, Type, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

/// Iterations and steps up to this keep products far from overflow.
const SMALL: i64 = 1 << 31;

/// A guard under construction.
pub(crate) struct Guard<'f> {
    pub(crate) front: Front<'f>,
    first: BlockId,
    /// What must hold for control to go on, not yet asked.
    pending: Vec<Value>,
    /// Every comparison demanded so far.
    demanded: FxHashSet<(u8, Sum, Sum)>,
    /// Where a "no" leads.
    refused: Target,
    /// References that are not null, each with whether that has been asked before the current
    /// block.
    not_null: FxHashMap<Value, bool>,
    lengths: FxHashMap<(Value, u32), Value>,
    /// n − 1.
    last_trip: Option<Sum>,
    /// Some condition can never hold.
    pub(crate) impossible: bool,
}

impl<'f> Guard<'f> {
    pub(crate) fn new(function: &'f mut Function, refused: Target) -> Guard<'f> {
        let first = new_block(function);
        Guard {
            front: Front::new(function, first),
            first,
            pending: Vec::new(),
            demanded: FxHashSet::default(),
            refused,
            not_null: FxHashMap::default(),
            lengths: FxHashMap::default(),
            last_trip: None,
            impossible: false,
        }
    }

    /// Ends the guard: if all holds control goes to `allowed`. The block the guard begins with.
    pub(crate) fn finish(mut self, allowed: Target) -> BlockId {
        self.ask(allowed);
        self.first
    }

    /// Branches on what is pending.
    fn ask(&mut self, allowed: Target) {
        let all = std::mem::take(&mut self.pending);
        let both = |a, b| self.front.emit(Op::Binary(BinaryOp::And, a, b), Type::Bool);
        let all = all.into_iter().reduce(both);
        let terminator = match all {
            Some(condition) => Terminator::Branch {
                condition,
                then: allowed,
                otherwise: self.refused.clone(),
            },
            None => Terminator::Jump(allowed),
        };
        self.front.function.blocks[self.front.block.index()].terminator = terminator;
    }

    /// Demands a comparison of ints.
    pub(crate) fn require(&mut self, compare: CompareOp, a: Sum, b: Sum) {
        if let (Some(a), Some(b)) = (a.as_int(), b.as_int()) {
            self.impossible |= !match compare {
                CompareOp::Equal => a == b,
                CompareOp::NotEqual => a != b,
                CompareOp::Less => a < b,
                CompareOp::LessEqual => a <= b,
                CompareOp::Greater => a > b,
                CompareOp::GreaterEqual => a >= b,
            };
            return;
        }
        if !self.demanded.insert((compare as u8, a, b)) {
            return;
        }
        let (a, b) = (self.front.value(a), self.front.value(b));
        let holds = self.front.emit(Op::Compare(compare, a, b), Type::Bool);
        self.pending.push(holds);
    }

    /// Notes what is known without asking.
    pub(crate) fn is_not_null(&mut self, reference: Value) {
        self.not_null.insert(reference, true);
    }

    pub(crate) fn require_not_null(&mut self, reference: Value) {
        if let Entry::Vacant(unasked) = self.not_null.entry(reference) {
            unasked.insert(false);
            let null = self.front.emit(Op::Const(Const::Null), Type::Ref);
            let holds = self.front.emit(
                Op::Compare(CompareOp::NotEqual, reference, null),
                Type::Bool,
            );
            self.pending.push(holds);
        }
    }

    /// From here on the reference may be used.
    fn use_reference(&mut self, reference: Value) {
        self.require_not_null(reference);
        if self.not_null[&reference] {
            return;
        }
        self.settle();
    }

    /// From here on all that was demanded holds.
    pub(crate) fn settle(&mut self) {
        if !self.pending.is_empty() {
            let next = new_block(self.front.function);
            self.ask(target(next, Vec::new()));
            self.front.block = next;
            self.not_null.values_mut().for_each(|asked| *asked = true);
        }
    }

    pub(crate) fn length(&mut self, array: Value, dimension: u32) -> Value {
        if let Some(length) = self.lengths.get(&(array, dimension)) {
            return *length;
        }
        self.use_reference(array);
        let length = self.front.emit(Op::Length { array, dimension }, Type::Int);
        self.lengths.insert((array, dimension), length);
        length
    }

    /// Reads a location behind everything that was demanded so far, its bounds among it.
    pub(crate) fn load(&mut self, op: Op, base: Value, ty: Type) -> Value {
        self.require_not_null(base);
        self.settle();
        self.front.emit(op, ty)
    }

    /// Demands that there are iterations, and not too many. `count` is unsigned. The first question
    /// is the loop's own, so that the copy need not ask it again.
    pub(crate) fn trips(&mut self, count: Sum) {
        self.require(CompareOp::NotEqual, count, Sum::ZERO);
        self.require(CompareOp::GreaterEqual, count, Sum::ZERO);
        self.require(CompareOp::LessEqual, count, Sum::int(SMALL));
        let last = self.front.subtract(count, Sum::int(1));
        self.last_trip = Some(last);
    }

    /// The iterations of a loop that goes on while its counter has not passed a bound. `step` is
    /// not 0.
    pub(crate) fn trips_to_bound(&mut self, start: Sum, step: i64, bound: Sum, inclusive: bool) {
        // Past the bound, or past the last value that it lets through, by less than a step.
        let (compare, limit) = if step > 0 {
            (CompareOp::LessEqual, i64::MAX.wrapping_sub(step))
        } else {
            (CompareOp::GreaterEqual, i64::MIN.wrapping_sub(step))
        };
        self.require(compare, bound, Sum::int(limit));
        let (start, end, step) = (
            self.front.value(start),
            self.front.value(bound),
            self.front.value(Sum::int(step)),
        );
        let count = self.front.emit(
            Op::RangeCount {
                start,
                end,
                step,
                inclusive,
            },
            Type::Int,
        );
        self.trips(Sum::of(count));
    }

    /// Demands that an index is in bounds in every iteration. One that changes needs the trips
    /// first.
    pub(crate) fn require_in_bounds(&mut self, index: Linear, size: Sum) {
        let Linear { start, step } = index;
        if index.is_invariant() {
            self.require(CompareOp::GreaterEqual, start, Sum::ZERO);
            self.require(CompareOp::Less, start, size);
            return;
        }
        let Some(last_trip) = self.last_trip else {
            self.impossible = true;
            return;
        };
        let reach = self.front.multiply(last_trip, step);
        let last = self.front.add(start, reach);
        let Some(known_step) = step.as_int() else {
            let shifted = self.front.add(step, Sum::int(SMALL));
            let high_bits = self
                .front
                .binary(BinaryOp::ShiftRightLogical, shifted, Sum::int(32));
            self.require(CompareOp::Equal, Sum::of(high_bits), Sum::ZERO);
            for end in [start, last] {
                self.require(CompareOp::GreaterEqual, end, Sum::ZERO);
                self.require(CompareOp::Less, end, size);
            }
            return;
        };
        self.impossible |= known_step.unsigned_abs() > SMALL as u64;
        let (low, high) = if known_step > 0 {
            (start, last)
        } else {
            (last, start)
        };
        self.require(CompareOp::GreaterEqual, low, Sum::ZERO);
        // From a small constant no such step gets past the largest int.
        if known_step < 0 || low.as_int().is_none_or(|low| low > SMALL) {
            self.require(CompareOp::LessEqual, low, high);
        }
        self.require(CompareOp::Less, high, size);
    }
}
