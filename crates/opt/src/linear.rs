//! Linear values as two sums known before a loop, and the code in front of the loop that computes
//! them.
//!
//! All arithmetic wraps, as in the language, and every step below is exact in it. Constants are
//! kept apart: values that differ by a constant are recognised, and nothing is computed twice.

use crate::edit::{append, constant};
use finishline_ir::{BinaryOp, BlockId, Const, Function, Op, Type, UnaryOp, Value};
use rustc_hash::FxHashMap;

/// A value plus a constant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Sum {
    pub(crate) value: Option<Value>,
    pub(crate) constant: i64,
}

impl Sum {
    pub(crate) const ZERO: Sum = Sum::int(0);

    pub(crate) const fn int(constant: i64) -> Sum {
        Sum {
            value: None,
            constant,
        }
    }

    pub(crate) const fn of(value: Value) -> Sum {
        Sum {
            value: Some(value),
            constant: 0,
        }
    }

    pub(crate) fn as_int(self) -> Option<i64> {
        match self.value {
            None => Some(self.constant),
            Some(_) => None,
        }
    }
}

/// `start + k · step` in iteration k.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Linear {
    pub(crate) start: Sum,
    pub(crate) step: Sum,
}

impl Linear {
    pub(crate) fn invariant(start: Sum) -> Linear {
        Linear {
            start,
            step: Sum::ZERO,
        }
    }

    pub(crate) fn is_invariant(self) -> bool {
        self.step == Sum::ZERO
    }
}

/// A place in front of a loop where sums are computed. It may move on, to blocks that only lead on
/// from each other.
pub(crate) struct Front<'f> {
    pub(crate) function: &'f mut Function,
    pub(crate) block: BlockId,
    computed: FxHashMap<(u8, Sum, Sum), Value>,
}

impl<'f> Front<'f> {
    pub(crate) fn new(function: &'f mut Function, block: BlockId) -> Front<'f> {
        Front {
            function,
            block,
            computed: FxHashMap::default(),
        }
    }

    pub(crate) fn emit(&mut self, op: Op, ty: Type) -> Value {
        append(self.function, self.block, op, ty)
    }

    pub(crate) fn value(&mut self, sum: Sum) -> Value {
        match sum.value {
            None => constant(self.function, self.block, Const::Int(sum.constant)),
            Some(value) if sum.constant == 0 => value,
            Some(value) => self.binary(BinaryOp::Add, Sum::of(value), Sum::int(sum.constant)),
        }
    }

    pub(crate) fn binary(&mut self, op: BinaryOp, a: Sum, b: Sum) -> Value {
        let key = (op as u8, a, b);
        if let Some(value) = self.computed.get(&key) {
            return *value;
        }
        let (left, right) = (self.value(a), self.value(b));
        let value = self.emit(Op::Binary(op, left, right), Type::Int);
        self.computed.insert(key, value);
        value
    }

    pub(crate) fn add(&mut self, a: Sum, b: Sum) -> Sum {
        let value = match (a.value, b.value) {
            (Some(a), Some(b)) => Some(self.binary(BinaryOp::Add, Sum::of(a), Sum::of(b))),
            (one, other) => one.or(other),
        };
        Sum {
            value,
            constant: a.constant.wrapping_add(b.constant),
        }
    }

    pub(crate) fn subtract(&mut self, a: Sum, b: Sum) -> Sum {
        let value = match (a.value, b.value) {
            (a, None) => a,
            (a, Some(b)) => {
                Some(self.binary(BinaryOp::Subtract, a.map_or(Sum::ZERO, Sum::of), Sum::of(b)))
            }
        };
        Sum {
            value,
            constant: a.constant.wrapping_sub(b.constant),
        }
    }

    pub(crate) fn multiply(&mut self, a: Sum, b: Sum) -> Sum {
        match (a.as_int(), b.as_int()) {
            (Some(a), Some(b)) => Sum::int(a.wrapping_mul(b)),
            (Some(0), _) | (_, Some(0)) => Sum::ZERO,
            (Some(1), _) => b,
            (_, Some(1)) => a,
            _ => Sum::of(self.binary(BinaryOp::Multiply, a, b)),
        }
    }

    fn difference(&mut self, a: Linear, b: Linear) -> Linear {
        Linear {
            start: self.subtract(a.start, b.start),
            step: self.subtract(a.step, b.step),
        }
    }

    fn product(&mut self, a: Linear, factor: Sum) -> Linear {
        Linear {
            start: self.multiply(a.start, factor),
            step: self.multiply(a.step, factor),
        }
    }

    /// What an operation on ints computes from linear operands, if they are known and it is one
    /// that keeps them linear.
    pub(crate) fn follow(
        &mut self,
        op: &Op,
        get: impl Fn(Value) -> Option<Linear>,
    ) -> Option<Linear> {
        Some(match op {
            Op::Const(Const::Int(int)) => Linear::invariant(Sum::int(*int)),
            Op::Binary(BinaryOp::Add, a, b) => {
                let (a, b) = (get(*a)?, get(*b)?);
                Linear {
                    start: self.add(a.start, b.start),
                    step: self.add(a.step, b.step),
                }
            }
            Op::Binary(BinaryOp::Subtract, a, b) => self.difference(get(*a)?, get(*b)?),
            Op::Unary(UnaryOp::Negate, a) => {
                self.difference(Linear::invariant(Sum::ZERO), get(*a)?)
            }
            Op::Binary(BinaryOp::Multiply, a, b) => {
                let (a, b) = (get(*a)?, get(*b)?);
                if b.is_invariant() {
                    self.product(a, b.start)
                } else if a.is_invariant() {
                    self.product(b, a.start)
                } else {
                    return None;
                }
            }
            Op::Binary(BinaryOp::ShiftLeft, a, b) => {
                let count = get(*b)?.start.as_int()?;
                let factor = Sum::int(1i64.wrapping_shl(count as u32 & 63));
                self.product(get(*a)?, factor)
            }
            _ => return None,
        })
    }
}
