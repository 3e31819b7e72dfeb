//! The functions of the runtime that compiled code can call: their addresses and signatures.

use super::{checks, memory, numbers, output, tasks, traps};
use crate::checker::Checker;
use cranelift_codegen::ir::types::{F64, I32, I64};
use cranelift_codegen::ir::{AbiParam, Signature, Type};
use cranelift_codegen::isa::CallConv;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Helper {
    NullUse,
    OutOfBounds,
    DivisionByZero,
    DivisionOverflow,
    ZeroStep,
    CallDepth,
    CallMemory,
    AssertFailed,
    AddText,
    AddValue,
    EndLine,
    NewStruct,
    NewArray,
    BeginTask,
    EndTask,
    BeginFinish,
    EndFinish,
    Sync,
    BeginIsolated,
    EndIsolated,
    UndecidedRead,
    UndecidedWrite,
    CheckRange,
    TellAccess,
    TellRange,
    RangeCount,
    Remainder,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Exp,
    Log,
    Pow,
    Atan2,
}

impl Helper {
    pub(crate) const COUNT: usize = Helper::ALL.len();

    pub(crate) const ALL: [Helper; 37] = [
        Helper::NullUse,
        Helper::OutOfBounds,
        Helper::DivisionByZero,
        Helper::DivisionOverflow,
        Helper::ZeroStep,
        Helper::CallDepth,
        Helper::CallMemory,
        Helper::AssertFailed,
        Helper::AddText,
        Helper::AddValue,
        Helper::EndLine,
        Helper::NewStruct,
        Helper::NewArray,
        Helper::BeginTask,
        Helper::EndTask,
        Helper::BeginFinish,
        Helper::EndFinish,
        Helper::Sync,
        Helper::BeginIsolated,
        Helper::EndIsolated,
        Helper::UndecidedRead,
        Helper::UndecidedWrite,
        Helper::CheckRange,
        Helper::TellAccess,
        Helper::TellRange,
        Helper::RangeCount,
        Helper::Remainder,
        Helper::Sin,
        Helper::Cos,
        Helper::Tan,
        Helper::Asin,
        Helper::Acos,
        Helper::Atan,
        Helper::Exp,
        Helper::Log,
        Helper::Pow,
        Helper::Atan2,
    ];

    /// Its address in a run with this kind of checker.
    pub(crate) fn address<C: Checker>(self) -> usize {
        match self {
            Helper::NullUse => traps::null_use::<C> as *const () as usize,
            Helper::OutOfBounds => traps::out_of_bounds::<C> as *const () as usize,
            Helper::DivisionByZero => traps::division_by_zero::<C> as *const () as usize,
            Helper::DivisionOverflow => traps::division_overflow::<C> as *const () as usize,
            Helper::ZeroStep => traps::zero_step::<C> as *const () as usize,
            Helper::CallDepth => traps::call_depth::<C> as *const () as usize,
            Helper::CallMemory => traps::call_memory::<C> as *const () as usize,
            Helper::AssertFailed => traps::assert_failed::<C> as *const () as usize,
            Helper::AddText => output::add_text::<C> as *const () as usize,
            Helper::AddValue => output::add_value::<C> as *const () as usize,
            Helper::EndLine => output::end_line::<C> as *const () as usize,
            Helper::NewStruct => memory::new_struct::<C> as *const () as usize,
            Helper::NewArray => memory::new_array::<C> as *const () as usize,
            Helper::BeginTask => tasks::begin_task::<C> as *const () as usize,
            Helper::EndTask => tasks::end_task::<C> as *const () as usize,
            Helper::BeginFinish => tasks::begin_finish::<C> as *const () as usize,
            Helper::EndFinish => tasks::end_finish::<C> as *const () as usize,
            Helper::Sync => tasks::sync::<C> as *const () as usize,
            Helper::BeginIsolated => tasks::begin_isolated::<C> as *const () as usize,
            Helper::EndIsolated => tasks::end_isolated::<C> as *const () as usize,
            Helper::UndecidedRead => checks::undecided_read::<C> as *const () as usize,
            Helper::UndecidedWrite => checks::undecided_write::<C> as *const () as usize,
            Helper::CheckRange => checks::check_range::<C> as *const () as usize,
            Helper::TellAccess => checks::tell_access::<C> as *const () as usize,
            Helper::TellRange => checks::tell_range::<C> as *const () as usize,
            Helper::RangeCount => numbers::range_count as *const () as usize,
            Helper::Remainder => numbers::remainder as *const () as usize,
            Helper::Sin => numbers::sin as *const () as usize,
            Helper::Cos => numbers::cos as *const () as usize,
            Helper::Tan => numbers::tan as *const () as usize,
            Helper::Asin => numbers::asin as *const () as usize,
            Helper::Acos => numbers::acos as *const () as usize,
            Helper::Atan => numbers::atan as *const () as usize,
            Helper::Exp => numbers::exp as *const () as usize,
            Helper::Log => numbers::log as *const () as usize,
            Helper::Pow => numbers::pow as *const () as usize,
            Helper::Atan2 => numbers::atan2 as *const () as usize,
        }
    }

    /// The first parameter of most is the context.
    pub(crate) fn signature(self) -> Signature {
        let (parameters, result): (&[Type], Option<Type>) = match self {
            Helper::NullUse
            | Helper::DivisionByZero
            | Helper::DivisionOverflow
            | Helper::ZeroStep
            | Helper::CallDepth
            | Helper::AssertFailed
            | Helper::EndTask
            | Helper::Sync
            | Helper::BeginIsolated
            | Helper::EndIsolated => (&[I64, I32], None),
            Helper::OutOfBounds => (&[I64, I32, I64, I64, I32, I32], None),
            Helper::CallMemory => (&[I64, I32, I64, I64], None),
            Helper::AddText => (&[I64, I64, I64], None),
            Helper::BeginTask => (&[I64, I32, I64, I64], None),
            Helper::AddValue => (&[I64, I32, I64], None),
            Helper::EndLine => (&[I64], None),
            Helper::NewStruct => (&[I64, I32, I32, I32], Some(I64)),
            Helper::NewArray => (&[I64, I32, I64, I64, I32, I32], Some(I64)),
            Helper::BeginFinish => (&[I64, I32, I32, I64], None),
            Helper::EndFinish => (&[I64, I32, I32], None),
            Helper::UndecidedRead | Helper::UndecidedWrite | Helper::TellAccess => {
                (&[I64; 4], None)
            }
            Helper::CheckRange | Helper::TellRange => (&[I64; 6], None),
            Helper::RangeCount => (&[I64, I64, I64, I32], Some(I64)),
            Helper::Sin
            | Helper::Cos
            | Helper::Tan
            | Helper::Asin
            | Helper::Acos
            | Helper::Atan
            | Helper::Exp
            | Helper::Log => (&[F64], Some(F64)),
            Helper::Remainder | Helper::Pow | Helper::Atan2 => (&[F64, F64], Some(F64)),
        };
        let mut signature = Signature::new(match self {
            Helper::UndecidedRead | Helper::UndecidedWrite => CallConv::PreserveAll,
            _ => CallConv::SystemV,
        });
        signature
            .params
            .extend(parameters.iter().map(|ty| AbiParam::new(*ty)));
        signature.returns.extend(result.map(AbiParam::new));
        signature
    }
}
