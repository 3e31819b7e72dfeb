//! The dependences and effects of an operation.
//!
//! **Memory.** Two accesses may touch one location only if they are of one [`Region`]. The region
//! of a global variable is its number, that of a field its number and type, that of an element its
//! type. This is exact: the offset of a field or a global is always a constant, that of an element
//! never is, and a location has one type for its life.
//!
//! **Other tasks.** Passes assume a run on one worker. There another task can change memory only at
//! an operation that creates tasks, waits, or lets others go on, or in a call. All of these, and
//! the ends of isolated blocks, end what is known about memory ([`ends_memory`]). Hence the values
//! are also right in a parallel run of a program without races.

use crate::edit::Definitions;
use finishline_ir::{BinaryOp, Const, Function, MathFunction, Op, Operand, Type, Value};

/// Computes its result from its operands alone and can't fail: may be run earlier, more often or
/// not at all.
pub(crate) fn is_pure(function: &Function, definitions: &Definitions, op: &Op) -> bool {
    match op {
        Op::Const(_)
        | Op::Unary(..)
        | Op::Compare(..)
        | Op::Convert(..)
        | Op::Math(..)
        | Op::SizeOrZero { .. }
        | Op::Globals => true,
        Op::Binary(BinaryOp::Divide | BinaryOp::Remainder, a, b) => {
            function.ty(*a) == Type::Float
                || match definitions.constant(function, *b) {
                    Some(Const::Int(divisor)) => divisor != 0 && divisor != -1,
                    Some(Const::Byte(divisor)) => divisor != 0,
                    _ => false,
                }
        }
        Op::Binary(..) => true,
        Op::RangeCount { step, .. } => definitions
            .int(function, *step)
            .is_some_and(|step| step != 0),
        _ => false,
    }
}

/// May be dropped if nobody needs the result. A load is never the first to notice null or a bound.
pub(crate) fn is_droppable(function: &Function, definitions: &Definitions, op: &Op) -> bool {
    matches!(op, Op::Load { .. }) || is_pure(function, definitions, op)
}

/// Not worth running where it might not be needed.
pub(crate) fn is_costly(op: &Op) -> bool {
    match op {
        Op::Math(function, _) => !matches!(
            function,
            MathFunction::Abs | MathFunction::Min | MathFunction::Max
        ),
        Op::Binary(BinaryOp::Divide | BinaryOp::Remainder, ..) | Op::RangeCount { .. } => true,
        _ => false,
    }
}

/// Locations that may be the same are of one region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Region {
    Global(i64),
    Field(i64, Type),
    Elements(Type),
}

/// The region of an access to a location of a type.
pub(crate) fn region(
    function: &Function,
    definitions: &Definitions,
    base: Value,
    offset: Operand,
    ty: Type,
) -> Region {
    match offset {
        Operand::Value(_) => Region::Elements(ty),
        Operand::Constant(at) if definitions.op(function, base) == Some(&Op::Globals) => {
            Region::Global(at)
        }
        Operand::Constant(at) => Region::Field(at, ty),
    }
}

/// Memory may be changed by it in a way that no store in this function shows.
pub(crate) fn ends_memory(op: &Op) -> bool {
    matches!(
        op,
        Op::Call { .. }
            | Op::Spawn { .. }
            | Op::FinishBegin(_)
            | Op::FinishEnd(_)
            | Op::Sync
            | Op::IsolatedBegin
            | Op::IsolatedEnd
            | Op::Acquire(_)
            | Op::Release(_)
            | Op::PromiseSet { .. }
            | Op::PromiseGet(_)
    )
}
