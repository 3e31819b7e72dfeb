//! The values an instruction or terminator uses.

use crate::module::{Op, Operand, PrintPart, Terminator, Value};

impl Op {
    /// Calls `visit` with every operand, in order; a value used twice is visited twice.
    pub fn for_each_use(&self, mut visit: impl FnMut(Value)) {
        let mut all = |values: &[Value]| values.iter().for_each(|value| visit(*value));
        match self {
            Op::Const(_)
            | Op::NewStruct { .. }
            | Op::Globals
            | Op::CallRoom(_)
            | Op::FinishBegin(_)
            | Op::FinishEnd(_)
            | Op::Sync
            | Op::IsolatedBegin
            | Op::IsolatedEnd => {}
            Op::Unary(_, a) | Op::Convert(a, _) | Op::NonNull(a) => all(&[*a]),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => all(&[*a, *b]),
            Op::Math(_, operands) => all(operands),
            Op::RangeCount {
                start, end, step, ..
            } => all(&[*start, *end, *step]),
            Op::NewArray { sizes, .. } => all(sizes),
            Op::Index { array, indices } => {
                all(&[*array]);
                all(indices);
            }
            Op::Length { array, .. } => all(&[*array]),
            Op::Check {
                base,
                first,
                count,
                stride,
                ..
            } => {
                all(&[*base]);
                for operand in [first, count, stride] {
                    all(operand.value().as_slice());
                }
            }
            Op::Load { base, offset, .. } => {
                all(&[*base]);
                all(offset.value().as_slice());
            }
            Op::Store {
                base,
                offset,
                value,
                ..
            } => {
                all(&[*base]);
                all(offset.value().as_slice());
                all(&[*value]);
            }
            Op::Call { arguments, .. } | Op::Spawn { arguments, .. } => all(arguments),
            Op::Print(parts) => all(&values_of(parts)),
            Op::Assert { condition, message } => {
                all(&[*condition]);
                all(&values_of(message));
            }
        }
    }
}

fn values_of(parts: &[PrintPart]) -> Vec<Value> {
    let value = |part: &PrintPart| match part {
        PrintPart::Value(value) => Some(*value),
        PrintPart::Text(_) => None,
    };
    parts.iter().filter_map(value).collect()
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
}
