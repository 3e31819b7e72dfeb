//! `set` and `get` of promises.
//!
//! The mark of a promise is 0 while it is empty. A set promise has the number of the site that set
//! it, counted from 1. While strands wait for it, the mark is negative and has the last of their
//! queue.

use super::Runtime;
use super::context::Context;
use super::cooperative::Cooperative;
use super::memory::header_word;
use super::schedule::Schedule;
use super::strands::{Awaits, StrandId};
use super::switch::Passed;
use crate::checker::Checker;
use crate::heap::layout::{FIRST_LOCATION_OFFSET, PROMISE_MARK, PROMISE_VALUE};
use finishline_ir::machine::TrapKind;
use finishline_model::{Event, Location, SiteId};

/// The mark of a promise that strands wait for, this one the last.
pub(super) fn waited_for_by(last: StrandId) -> i64 {
    i64::MIN | i64::from(last.0)
}

/// The last strand that waits for a promise with this mark.
pub(super) fn last_waiter(mark: i64) -> Option<StrandId> {
    (mark < 0).then_some(StrandId(mark as u32))
}

/// The first location of a promise.
///
/// # Safety
///
/// There must be a live promise at the address.
pub(super) unsafe fn location(promise: usize) -> Location {
    let promise = std::ptr::with_exposed_provenance(promise);
    // SAFETY: a promise is an object.
    Location(unsafe { header_word(promise, FIRST_LOCATION_OFFSET) })
}

/// # Safety
///
/// There must be a live promise at the address, here and below.
unsafe fn mark_of(promise: *mut u8) -> i64 {
    // SAFETY: every promise has a mark.
    unsafe { promise.offset(PROMISE_MARK as isize).cast::<i64>().read() }
}

unsafe fn set_mark(promise: *mut u8, mark: i64) {
    // SAFETY: as above.
    unsafe {
        promise
            .offset(PROMISE_MARK as isize)
            .cast::<i64>()
            .write(mark)
    };
}

/// Gives a promise its value.
pub(super) unsafe extern "C" fn set_promise<C: Checker>(
    context: *mut Context,
    promise: *mut u8,
    value: u64,
    site: u32,
) -> Passed {
    let site = SiteId(site);
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Cooperative>::of(context) };
    if promise.is_null() {
        runtime.fail(TrapKind::NullUse, site);
    }
    // SAFETY: compiled code passes a promise.
    let mark = unsafe { mark_of(promise) };
    if mark > 0 {
        let first = SiteId(mark as u32 - 1);
        runtime.fail(TrapKind::SetTwice { first }, site);
    }
    // SAFETY: as above.
    let location = unsafe {
        promise
            .offset(PROMISE_VALUE as isize)
            .cast::<u64>()
            .write(value);
        set_mark(promise, i64::from(site.0) + 1);
        location(promise.expose_provenance())
    };
    let event = Event::PromiseSet {
        task: runtime.running(),
        promise: location,
        site,
    };
    runtime.tell(&event);
    if let Some(last) = last_waiter(mark) {
        runtime.wake(last);
    }
    Passed::not_yet(context)
}

/// Waits for the value of an empty promise.
pub(super) unsafe extern "C" fn await_promise<C: Checker>(
    context: *mut Context,
    promise: *mut u8,
    site: u32,
) -> Passed {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Cooperative>::of(context) };
    let strand = runtime.schedule.running_strand();
    // SAFETY: compiled code passes a promise.
    unsafe {
        let mark = runtime.schedule.enqueue(mark_of(promise), strand);
        set_mark(promise, mark);
    }
    runtime.wait(Awaits::Promise(promise.expose_provenance()), SiteId(site));
    Passed::not_yet(context)
}

/// Tells that a task gets the value of a promise.
pub(super) unsafe extern "C" fn tell_get<C: Checker, S: Schedule>(
    context: *mut Context,
    promise: *mut u8,
    site: u32,
) {
    // SAFETY: compiled code passes its context and a promise.
    let (runtime, promise) = unsafe {
        let promise = location(promise.expose_provenance());
        (Runtime::<C, S>::of(context), promise)
    };
    let event = Event::PromiseGet {
        task: runtime.running(),
        promise,
        site: SiteId(site),
    };
    runtime.tell(&event);
}
