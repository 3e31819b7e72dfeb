//! The checks of a loop that its guard can make, and the values that the guard needs.
//!
//! The plan looks for bounds and null checks that every iteration makes, whose references are
//! invariant and whose indices are linear. It adds invariant loads and lengths beside them. It
//! follows their operands back to the counters of the loop and to definitions before the loop.

use crate::changes::{Calls, Changes};
use crate::evolution::{
    Class, Context, Evolution, Trips, compared_with_null, header_parameter, is_outside,
    is_unconditional,
};
use finishline_ir::{Op, Type, Value};
use rustc_hash::FxHashSet;

/// What to do about a loop.
pub(crate) struct Plan {
    /// What the guard computes, in the order of the loop.
    pub(crate) needed: Vec<(Value, Source)>,
    /// Bounds checks that become arithmetic: the result, the array, the indices.
    pub(crate) indices: Vec<(Value, Value, Vec<Value>)>,
    /// Invariant loads, lengths and offsets, which the guard makes.
    hoisted: Vec<Value>,
    /// References the guard asks about, as the loop names them.
    pub(crate) not_null: Vec<Value>,
    pub(crate) trips: Option<Trips>,
}

/// Where a value that the guard computes comes from.
pub(crate) enum Source {
    Counter {
        at: usize,
        step: Value,
        shrinks: bool,
    },
    Operation {
        op: Op,
        ty: Type,
    },
}

impl Plan {
    pub(crate) fn of(context: Context<'_>, calls: &Calls) -> Option<Plan> {
        let changes = Changes::of(context, calls);
        let evolution = Evolution::of(context, &changes);
        let mut plan = Plan {
            needed: Vec::new(),
            indices: Vec::new(),
            hoisted: Vec::new(),
            not_null: Vec::new(),
            trips: None,
        };
        plan.find_checks(context, &evolution);
        if plan.indices.is_empty() && plan.hoisted.is_empty() && plan.not_null.is_empty() {
            return None;
        }
        plan.find_needed(context, &evolution);
        Some(plan)
    }

    /// The checks that the guard can make once for all iterations.
    fn find_checks(&mut self, context: Context<'_>, evolution: &Evolution) {
        let this = context.loops.get(context.id);
        let class = |value: Value| evolution.class(context, value);
        let mut not_null = FxHashSet::default();
        for &block in &this.blocks {
            if !is_unconditional(context, block) {
                continue;
            }
            for instruction in &context.function.block(block).instructions {
                if let (Some(result), Op::Load { .. } | Op::Length { .. } | Op::Index { .. }) =
                    (instruction.result, &instruction.op)
                    && class(result) == Class::Invariant
                {
                    self.hoisted.push(result);
                }
                let reference = match &instruction.op {
                    Op::NonNull(reference) => *reference,
                    Op::Length { array, .. } => *array,
                    Op::Index { array, indices } => {
                        let all_linear = indices.iter().all(|i| class(*i) != Class::Varying);
                        let some_change = indices.iter().any(|i| class(*i) != Class::Invariant);
                        if let Some(result) = instruction.result
                            && class(*array) == Class::Invariant
                            && all_linear
                            && some_change
                            && block != this.header
                            && evolution.trips.is_some()
                        {
                            self.indices.push((result, *array, indices.clone()));
                        }
                        *array
                    }
                    op => match compared_with_null(context, op) {
                        Some(reference) => reference,
                        None => continue,
                    },
                };
                if class(reference) == Class::Invariant && not_null.insert(reference) {
                    self.not_null.push(reference);
                }
            }
        }
    }

    /// What the checks are made of, back to what is known before the loop.
    fn find_needed(&mut self, context: Context<'_>, evolution: &Evolution) {
        let this = context.loops.get(context.id);
        let mut wanted: FxHashSet<Value> = FxHashSet::default();
        for (_, array, indices) in &self.indices {
            wanted.insert(*array);
            wanted.extend(indices);
        }
        wanted.extend(&self.not_null);
        wanted.extend(&self.hoisted);
        if !self.indices.is_empty() {
            self.trips = evolution.trips;
            if let Some(Trips::Bound { bound, .. }) = self.trips {
                wanted.insert(bound);
            }
        }
        let instructions = this
            .blocks
            .iter()
            .rev()
            .flat_map(|block| context.function.block(*block).instructions.iter().rev());
        for instruction in instructions {
            if let Some(result) = instruction.result
                && wanted.contains(&result)
            {
                instruction.op.for_each_use(|value| {
                    wanted.insert(value);
                });
                let (op, ty) = (instruction.op.clone(), context.function.ty(result));
                self.needed.push((result, Source::Operation { op, ty }));
            }
        }
        for value in wanted {
            if let Some(at) = header_parameter(context, value)
                && let Some(counter) = evolution.counters.get(&value)
            {
                debug_assert!(is_outside(context, counter.step));
                let source = Source::Counter {
                    at,
                    step: counter.step,
                    shrinks: counter.shrinks,
                };
                self.needed.push((value, source));
            }
        }
        self.needed.reverse();
    }
}
