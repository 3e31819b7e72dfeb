//! The values an instruction or terminator uses.
//!
//! Each visitor exists for reading and for renaming; both come from one list of operands.

use crate::module::{Op, Operand, PrintPart, Terminator, Value};

/// Calls `$visit` with a reference to every operand of an operation. `$iter` is `iter` or
/// `iter_mut`, as the operation is shared or not.
macro_rules! visit_operands {
    ($op:expr, $visit:ident, $iter:ident) => {
        match $op {
            Op::Const(_)
            | Op::NewStruct { .. }
            | Op::NewLock { .. }
            | Op::NewPromise { .. }
            | Op::Globals
            | Op::CallRoom(_)
            | Op::FinishBegin(_)
            | Op::FinishEnd(_)
            | Op::Sync
            | Op::IsolatedBegin
            | Op::IsolatedEnd => {}
            Op::Unary(_, a)
            | Op::Convert(a, _)
            | Op::NonNull(a)
            | Op::Acquire(a)
            | Op::Release(a)
            | Op::PromiseGet(a) => $visit(a),
            Op::PromiseSet { promise, value, .. } => {
                $visit(promise);
                $visit(value);
            }
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => {
                $visit(a);
                $visit(b);
            }
            Op::Math(_, operands) => operands.$iter().for_each(&mut $visit),
            Op::RangeCount {
                start, end, step, ..
            } => {
                $visit(start);
                $visit(end);
                $visit(step);
            }
            Op::NewArray { sizes, .. } => sizes.$iter().for_each(&mut $visit),
            Op::Index { array, indices } => {
                $visit(array);
                indices.$iter().for_each(&mut $visit);
            }
            Op::Length { array, .. } | Op::SizeOrZero { array, .. } => $visit(array),
            Op::Check {
                base,
                first,
                count,
                stride,
                ..
            } => {
                $visit(base);
                for operand in [first, count, stride] {
                    if let Operand::Value(value) = operand {
                        $visit(value);
                    }
                }
            }
            Op::Load { base, offset, .. } => {
                $visit(base);
                if let Operand::Value(offset) = offset {
                    $visit(offset);
                }
            }
            Op::Store {
                base,
                offset,
                value,
                ..
            } => {
                $visit(base);
                if let Operand::Value(offset) = offset {
                    $visit(offset);
                }
                $visit(value);
            }
            Op::Call { arguments, .. } | Op::Spawn { arguments, .. } => {
                arguments.$iter().for_each(&mut $visit);
            }
            Op::Print(parts) => visit_parts!(parts, $visit, $iter),
            Op::Assert { condition, message } => {
                $visit(condition);
                visit_parts!(message, $visit, $iter);
            }
        }
    };
}

macro_rules! visit_parts {
    ($parts:expr, $visit:ident, $iter:ident) => {
        for part in $parts.$iter() {
            if let PrintPart::Value(value) = part {
                $visit(value);
            }
        }
    };
}

impl Op {
    /// Calls `visit` with every operand, in order; a value used twice is visited twice.
    pub fn for_each_use(&self, mut visit: impl FnMut(Value)) {
        let mut visit = |value: &Value| visit(*value);
        visit_operands!(self, visit, iter);
    }

    /// Calls `visit` with every operand, in the same order, to rename it.
    pub fn for_each_use_mut(&mut self, mut visit: impl FnMut(&mut Value)) {
        visit_operands!(self, visit, iter_mut);
    }
}

impl Operand {
    pub fn value(self) -> Option<Value> {
        match self {
            Operand::Value(value) => Some(value),
            Operand::Constant(_) => None,
        }
    }
}

impl Terminator {
    /// Calls `visit` with every operand, those of the targets last.
    pub fn for_each_use(&self, mut visit: impl FnMut(Value)) {
        match self {
            Terminator::Branch { condition, .. } => visit(*condition),
            Terminator::Return(Some(value)) => visit(*value),
            Terminator::Jump(_) | Terminator::Return(None) => {}
        }
        self.targets()
            .flat_map(|target| &target.arguments)
            .for_each(|value| visit(*value));
    }

    /// Calls `visit` with every operand, in the same order, to rename it.
    pub fn for_each_use_mut(&mut self, mut visit: impl FnMut(&mut Value)) {
        match self {
            Terminator::Branch { condition, .. } => visit(condition),
            Terminator::Return(Some(value)) => visit(value),
            Terminator::Jump(_) | Terminator::Return(None) => {}
        }
        self.targets_mut()
            .flat_map(|target| &mut target.arguments)
            .for_each(visit);
    }
}
