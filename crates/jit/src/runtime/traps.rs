//! Failures that compiled code finds: each carries its values and never returns.

use super::Runtime;
use super::context::Context;
use super::schedule::Schedule;
use crate::checker::Checker;
use finishline_ir::machine::TrapKind;
use finishline_model::SiteId;

pub(super) unsafe extern "C" fn null_use<C: Checker, S: Schedule>(
    context: *mut Context,
    site: u32,
) {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, S>::of(context) }.fail(TrapKind::NullUse, SiteId(site))
}

pub(super) unsafe extern "C" fn out_of_bounds<C: Checker, S: Schedule>(
    context: *mut Context,
    site: u32,
    index: i64,
    size: u64,
    dimension: u32,
    dimensions: u32,
) {
    let kind = TrapKind::OutOfBounds {
        index,
        size,
        dimension,
        dimensions,
    };
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, S>::of(context) }.fail(kind, SiteId(site))
}

pub(super) unsafe extern "C" fn division_by_zero<C: Checker, S: Schedule>(
    context: *mut Context,
    site: u32,
) {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, S>::of(context) }.fail(TrapKind::DivisionByZero, SiteId(site))
}

pub(super) unsafe extern "C" fn division_overflow<C: Checker, S: Schedule>(
    context: *mut Context,
    site: u32,
) {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, S>::of(context) }.fail(TrapKind::DivisionOverflow, SiteId(site))
}

pub(super) unsafe extern "C" fn zero_step<C: Checker, S: Schedule>(
    context: *mut Context,
    site: u32,
) {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, S>::of(context) }.fail(TrapKind::ZeroStep, SiteId(site))
}

pub(super) unsafe extern "C" fn call_depth<C: Checker, S: Schedule>(
    context: *mut Context,
    site: u32,
) {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    let limit = runtime.limits.call_depth;
    runtime.fail(TrapKind::CallDepth { limit }, SiteId(site))
}

/// A frame of `request` bytes does not fit on top of the live frames. Returns if there is room now.
pub(super) unsafe extern "C" fn call_memory<C: Checker, S: Schedule>(
    context: *mut Context,
    site: u32,
    request: u64,
    stack: u64,
) {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    S::make_room(runtime, request, stack, SiteId(site));
}

/// The message is the line in the making.
pub(super) unsafe extern "C" fn assert_failed<C: Checker, S: Schedule>(
    context: *mut Context,
    site: u32,
) {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    let line = std::mem::take(&mut runtime.line);
    let message = String::from_utf8_lossy(&line).into_owned();
    drop(line);
    runtime.fail(TrapKind::AssertFailed { message }, SiteId(site))
}
