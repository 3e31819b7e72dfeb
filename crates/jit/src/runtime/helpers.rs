//! The functions of the runtime that compiled code can call: their addresses and signatures.

use super::schedule::{Manner, Schedule};
use super::switch::{self, on_worker_stack};
use super::{checks, locks, memory, numbers, output, promises, tasks, traps};
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
    RecordRead,
    RecordWrite,
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
    BeginStrand,
    PassFinish,
    PassSync,
    LeaveIsolated,
    NewLock,
    Acquire,
    Release,
    BeforeGet,
    NewPromise,
    AwaitPromise,
    SetPromise,
    TellGet,
    CreateTask,
    EndTaken,
    Poll,
    SharedRead,
    SharedWrite,
    SharedRange,
}

impl Helper {
    pub(crate) const COUNT: usize = Helper::ALL.len();

    pub(crate) const ALL: [Helper; 57] = [
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
        Helper::RecordRead,
        Helper::RecordWrite,
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
        Helper::BeginStrand,
        Helper::PassFinish,
        Helper::PassSync,
        Helper::LeaveIsolated,
        Helper::NewLock,
        Helper::Acquire,
        Helper::Release,
        Helper::BeforeGet,
        Helper::NewPromise,
        Helper::AwaitPromise,
        Helper::SetPromise,
        Helper::TellGet,
        Helper::CreateTask,
        Helper::EndTaken,
        Helper::Poll,
        Helper::SharedRead,
        Helper::SharedWrite,
        Helper::SharedRange,
    ];

    /// Its address in a run with this kind of checker and schedule.
    pub(crate) fn address<C: Checker, S: Schedule>(self) -> usize {
        /// The address of a function, or of one that calls it on the worker's stack.
        macro_rules! address {
            ($($function:ident)::+) => {{
                on_worker_stack!(from_strand calls $($function)::+);
                match S::MANNER.has_strands() {
                    true => from_strand::<C, S> as *const () as usize,
                    false => $($function)::+::<C, S> as *const () as usize,
                }
            }};
        }
        match self {
            Helper::NullUse => address!(traps::null_use),
            Helper::OutOfBounds => address!(traps::out_of_bounds),
            Helper::DivisionByZero => address!(traps::division_by_zero),
            Helper::DivisionOverflow => address!(traps::division_overflow),
            Helper::ZeroStep => address!(traps::zero_step),
            Helper::CallDepth => address!(traps::call_depth),
            Helper::CallMemory => address!(traps::call_memory),
            Helper::AssertFailed => address!(traps::assert_failed),
            Helper::AddText => address!(output::add_text),
            Helper::AddValue => address!(output::add_value),
            Helper::EndLine => address!(output::end_line),
            Helper::NewStruct => address!(memory::new_struct),
            Helper::NewArray => address!(memory::new_array),
            Helper::BeginTask => address!(tasks::begin_task),
            Helper::EndTask => address!(tasks::end_task),
            Helper::BeginFinish => address!(tasks::begin_finish),
            Helper::EndFinish => address!(tasks::end_finish),
            Helper::Sync => address!(tasks::sync),
            Helper::BeginIsolated => address!(tasks::begin_isolated),
            Helper::EndIsolated => address!(tasks::end_isolated),
            Helper::UndecidedRead => checks::undecided_read::<C, S>(),
            Helper::UndecidedWrite => checks::undecided_write::<C, S>(),
            Helper::RecordRead => checks::record_read::<C, S>(),
            Helper::RecordWrite => checks::record_write::<C, S>(),
            Helper::CheckRange => checks::check_range::<C, S>(),
            Helper::Poll => checks::poll::<C, S>(),
            Helper::SharedRead => checks::shared_read::<C, S>(),
            Helper::SharedWrite => checks::shared_write::<C, S>(),
            Helper::SharedRange => checks::shared_range::<C, S>(),
            Helper::NewLock => address!(memory::new_lock),
            Helper::BeforeGet => address!(locks::before_get),
            Helper::NewPromise => address!(memory::new_promise),
            Helper::TellGet => address!(promises::tell_get),
            Helper::BeginStrand
            | Helper::PassFinish
            | Helper::PassSync
            | Helper::LeaveIsolated
            | Helper::Acquire
            | Helper::Release
            | Helper::AwaitPromise
            | Helper::SetPromise => S::address::<C>(self),
            Helper::CreateTask | Helper::EndTaken => match S::MANNER {
                Manner::Parallel => S::address::<C>(self),
                // Nothing is at 0, and no program is compiled that calls it.
                Manner::DepthFirst | Manner::Cooperative => 0,
            },
            Helper::TellAccess => address!(checks::tell_access),
            Helper::TellRange => address!(checks::tell_range),
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
            | Helper::EndIsolated
            | Helper::LeaveIsolated
            | Helper::BeforeGet => (&[I64, I32], None),
            Helper::OutOfBounds => (&[I64, I32, I64, I64, I32, I32], None),
            Helper::CallMemory => (&[I64, I32, I64, I64], None),
            Helper::AddText => (&[I64, I64, I64], None),
            Helper::BeginTask => (&[I64, I32, I64, I64], None),
            Helper::AddValue => (&[I64, I32, I64], None),
            Helper::EndLine | Helper::EndTaken | Helper::Poll => (&[I64], None),
            Helper::CreateTask => (&[I64, I32, I64], Some(I64)),
            Helper::NewStruct | Helper::NewPromise => (&[I64, I32, I32, I32], Some(I64)),
            Helper::NewLock => (&[I64, I32, I32], Some(I64)),
            Helper::Acquire => (&[I64, I64, I32], Some(I64)),
            Helper::NewArray => (&[I64, I32, I64, I64, I32, I32], Some(I64)),
            Helper::BeginFinish => (&[I64, I32, I32, I64], None),
            Helper::EndFinish => (&[I64, I32, I32], None),
            Helper::BeginStrand => (&[I64, I32, I64], None),
            Helper::PassFinish => (&[I64, I32, I32], Some(I64)),
            Helper::PassSync => (&[I64, I32], Some(I64)),
            Helper::SetPromise => (&[I64, I64, I64, I32], None),
            Helper::Release | Helper::AwaitPromise | Helper::TellGet => (&[I64, I64, I32], None),
            Helper::UndecidedRead
            | Helper::UndecidedWrite
            | Helper::RecordRead
            | Helper::RecordWrite
            | Helper::TellAccess => (&[I64; 4], None),
            Helper::SharedRead | Helper::SharedWrite => (&[I64; 5], None),
            Helper::CheckRange | Helper::SharedRange | Helper::TellRange => (&[I64; 6], None),
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
            Helper::UndecidedRead
            | Helper::UndecidedWrite
            | Helper::RecordRead
            | Helper::RecordWrite
            | Helper::CheckRange
            | Helper::SharedRead
            | Helper::SharedWrite
            | Helper::SharedRange
            | Helper::Poll => CallConv::PreserveAll,
            _ => CallConv::SystemV,
        });
        signature
            .params
            .extend(parameters.iter().map(|ty| AbiParam::new(*ty)));
        signature.returns.extend(result.map(AbiParam::new));
        signature
    }
}
