//! The change of values from one iteration of a loop to the next.
//!
//! An int is *linear* in a loop if it is `start + k · step` in the body of the k-th iteration,
//! counted from 0, for two values known before the loop. The arithmetic is the wrapping one of the
//! language. Sums and differences of linear values and their products with invariants are linear
//! without any condition, because integers modulo 2⁶⁴ are a ring. An *invariant* has no step. A
//! load or a length can be an invariant too. It may then be made before the loop, if its reference
//! is known not to be null there and nothing in the loop can change the location.
//!
//! The number of iterations is known before the loop in two cases ([`Trips`]). The header leaves
//! the loop when a count has gone down to 0, as in the `for` loops of the front end. Or it leaves
//! the loop when a linear value passes a bound, as in most `while` loops.
//!
//! One walk over the loop in reverse postorder finds all classes. This file emits nothing.

use crate::changes::Changes;
use crate::edit::{Definition, Definitions};
use crate::effects::{is_pure, region};
use finishline_ir::dominators::Dominators;
use finishline_ir::loops::{LoopId, Loops};
use finishline_ir::{
    BinaryOp, BlockId, CompareOp, Const, Function, Op, Operand, Terminator, Type, UnaryOp, Value,
};
use rustc_hash::FxHashMap;

/// What is known about a function when one of its loops is looked at. Blocks and values added since
/// are outside every loop.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) function: &'a Function,
    pub(crate) definitions: &'a Definitions,
    pub(crate) dominators: &'a Dominators,
    pub(crate) loops: &'a Loops,
    pub(crate) id: LoopId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Varying,
    Linear,
    Invariant,
}

/// A header parameter that grows by an invariant, or shrinks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    /// Which parameter.
    pub(crate) at: usize,
    pub(crate) step: Value,
    pub(crate) shrinks: bool,
}

/// How often the body runs at most, given that the values used here are at hand before the loop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trips {
    /// As often as the header parameter says on entry, as an unsigned number.
    Count { at: usize },
    /// While the counter compares like that with the bound. The step is a constant in the direction
    /// of the bound.
    Bound {
        counter: Counter,
        step: i64,
        bound: Value,
        inclusive: bool,
    },
}

pub(crate) struct Evolution {
    /// Of the values defined in the loop; those not listed are varying.
    classes: FxHashMap<Value, Class>,
    pub(crate) counters: FxHashMap<Value, Counter>,
    pub(crate) trips: Option<Trips>,
}

impl Evolution {
    pub(crate) fn of(context: Context<'_>, changes: &Changes) -> Evolution {
        let function = context.function;
        let this = context.loops.get(context.id);
        let mut evolution = Evolution {
            classes: FxHashMap::default(),
            counters: FxHashMap::default(),
            trips: None,
        };
        for (at, parameter) in function.block(this.header).parameters.iter().enumerate() {
            if let Some(counter) = evolution.counter(context, at, *parameter) {
                evolution.counters.insert(*parameter, counter);
                evolution.classes.insert(*parameter, Class::Linear);
            }
        }
        for &block in &this.blocks {
            for instruction in &function.block(block).instructions {
                if let Some(result) = instruction.result {
                    let class =
                        evolution.classify(context, changes, block, &instruction.op, result);
                    if class != Class::Varying {
                        evolution.classes.insert(result, class);
                    }
                }
            }
        }
        evolution.trips = evolution.trips(context);
        evolution
    }

    pub(crate) fn class(&self, context: Context<'_>, value: Value) -> Class {
        if is_outside(context, value) {
            Class::Invariant
        } else {
            self.classes.get(&value).copied().unwrap_or(Class::Varying)
        }
    }

    fn counter(&self, context: Context<'_>, at: usize, parameter: Value) -> Option<Counter> {
        let Context {
            function,
            definitions,
            ..
        } = context;
        let this = context.loops.get(context.id);
        if function.ty(parameter) != Type::Int {
            return None;
        }
        let mut found: Option<(Value, Value, bool)> = None;
        for latch in &this.latches {
            for target in function.block(*latch).terminator.targets() {
                if target.block != this.header {
                    continue;
                }
                let next = target.arguments[at];
                let (step, shrinks) = match definitions.op(function, next)? {
                    Op::Binary(BinaryOp::Add, a, b) if *a == parameter => (*b, false),
                    Op::Binary(BinaryOp::Add, a, b) if *b == parameter => (*a, false),
                    Op::Binary(BinaryOp::Subtract, a, b) if *a == parameter => (*b, true),
                    _ => return None,
                };
                let agrees = found.is_none_or(|(_, s, d)| (s, d) == (step, shrinks));
                if !agrees || !is_outside(context, step) {
                    return None;
                }
                found = Some((next, step, shrinks));
            }
        }
        found.map(|(_, step, shrinks)| Counter { at, step, shrinks })
    }

    fn classify(
        &self,
        context: Context<'_>,
        changes: &Changes,
        block: BlockId,
        op: &Op,
        result: Value,
    ) -> Class {
        let Context {
            function,
            definitions,
            ..
        } = context;
        let class = |value: Value| self.class(context, value);
        let mut all_invariant = true;
        op.for_each_use(|value| all_invariant &= class(value) == Class::Invariant);
        if all_invariant {
            let movable = match op {
                Op::Length { .. } | Op::Index { .. } => is_unconditional(context, block),
                Op::Load { base, offset, .. } => {
                    let of = region(function, definitions, *base, *offset, function.ty(result));
                    is_unconditional(context, block)
                        && !changes.may_change(of)
                        && offset_is_checked(context, *base, *offset)
                }
                _ => is_pure(function, definitions, op),
            };
            return if movable {
                Class::Invariant
            } else {
                Class::Varying
            };
        }
        let linear = match op {
            Op::Binary(BinaryOp::Add | BinaryOp::Subtract, a, b) => {
                class(*a) != Class::Varying && class(*b) != Class::Varying
            }
            Op::Binary(BinaryOp::Multiply, a, b) => matches!(
                (class(*a), class(*b)),
                (Class::Linear, Class::Invariant) | (Class::Invariant, Class::Linear)
            ),
            Op::Binary(BinaryOp::ShiftLeft, a, b) => {
                class(*a) == Class::Linear && definitions.int(function, *b).is_some()
            }
            Op::Unary(UnaryOp::Negate, a) => class(*a) == Class::Linear,
            _ => false,
        };
        if linear && function.ty(result) == Type::Int {
            Class::Linear
        } else {
            Class::Varying
        }
    }

    fn trips(&self, context: Context<'_>) -> Option<Trips> {
        let Context {
            function,
            definitions,
            ..
        } = context;
        let this = context.loops.get(context.id);
        let header = function.block(this.header);
        let Terminator::Branch {
            condition,
            then,
            otherwise,
        } = &header.terminator
        else {
            return None;
        };
        let stays = |block| context.loops.contains(context.id, block);
        if stays(otherwise.block) || then.block == this.header {
            return None;
        }
        let Op::Compare(compare, a, b) = definitions.op(function, *condition)? else {
            return None;
        };
        let (compare, tested, bound) = match self.counters.get(a) {
            Some(counter) => (*compare, counter, *b),
            None => (mirrored(*compare), self.counters.get(b)?, *a),
        };
        let step = definitions.int(function, tested.step)?;
        let step = if tested.shrinks {
            step.checked_neg()?
        } else {
            step
        };
        if compare == CompareOp::NotEqual {
            let down_to_zero = step == -1 && definitions.int(function, bound) == Some(0);
            return down_to_zero.then_some(Trips::Count { at: tested.at });
        }
        let inclusive = matches!(compare, CompareOp::LessEqual | CompareOp::GreaterEqual);
        let towards = match compare {
            CompareOp::Less | CompareOp::LessEqual => step > 0,
            CompareOp::Greater | CompareOp::GreaterEqual => step < 0,
            CompareOp::Equal | CompareOp::NotEqual => false,
        };
        (towards && self.class(context, bound) == Class::Invariant).then_some(Trips::Bound {
            counter: *tested,
            step,
            bound,
            inclusive,
        })
    }
}

fn mirrored(compare: CompareOp) -> CompareOp {
    match compare {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessEqual => CompareOp::GreaterEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterEqual => CompareOp::LessEqual,
        same => same,
    }
}

/// Whether a value is defined before the loop, as far as it is of use in it.
pub(crate) fn is_outside(context: Context<'_>, value: Value) -> bool {
    context
        .definitions
        .get(value)
        .is_none_or(|definition| !context.loops.contains(context.id, definition.block()))
}

/// Whether every iteration that goes around passes the block.
pub(crate) fn is_unconditional(context: Context<'_>, block: BlockId) -> bool {
    let latches = &context.loops.get(context.id).latches;
    latches
        .iter()
        .all(|latch| context.dominators.dominates(block, *latch))
}

/// A field or global exists once its object does; an element only behind the bounds check that gave
/// the offset.
fn offset_is_checked(context: Context<'_>, base: Value, offset: Operand) -> bool {
    match offset {
        Operand::Constant(_) => true,
        Operand::Value(offset) => {
            matches!(
                context.definitions.op(context.function, offset),
                Some(Op::Index { array, .. }) if *array == base
            )
        }
    }
}

/// Whether a comparison is of a reference with null; the reference.
pub(crate) fn compared_with_null(context: Context<'_>, op: &Op) -> Option<Value> {
    let Op::Compare(_, a, b) = op else {
        return None;
    };
    let is_null =
        |value| context.definitions.constant(context.function, value) == Some(Const::Null);
    if is_null(*b) {
        Some(*a)
    } else if is_null(*a) {
        Some(*b)
    } else {
        None
    }
}

/// Which parameter of the header a value is.
pub(crate) fn header_parameter(context: Context<'_>, value: Value) -> Option<usize> {
    match context.definitions.get(value)? {
        Definition::Parameter(block, at) if block == context.loops.get(context.id).header => {
            Some(at)
        }
        _ => None,
    }
}
