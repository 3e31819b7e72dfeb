//! Atomic operations on 16 bytes, one at a time.
//!
//! Few programs have any, so one lock for all of them is fast enough. The arguments take all
//! registers, so the place of an operation is read from its frame.

use super::{acquires, atomic, looked, releases};
use crate::facts::synchronisation::{How, Operation};
use crate::process::frame_pointer;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

static BUSY: AtomicBool = AtomicBool::new(false);

/// What kind of operation it is, and by which order.
struct PairOperation {
    reads: bool,
    how: How,
    order: u32,
    /// The order if nothing is written.
    failed: u32,
}

/// Replaces the value by what `change` makes of it, if it makes something, and tells it. The value
/// before.
fn perform(
    at: *mut u128,
    kind: &PairOperation,
    place: u64,
    change: impl FnOnce(u128) -> Option<u128>,
) -> u128 {
    while BUSY.swap(true, Acquire) {
        std::hint::spin_loop();
    }
    // SAFETY: the program's own operation. All that are instrumented come here, one at a time.
    let before = unsafe { at.read_unaligned() };
    let after = change(before);
    if let Some(after) = after {
        // SAFETY: as above.
        unsafe { at.write_unaligned(after) };
    }
    BUSY.store(false, Release);
    let order = if after.is_some() {
        kind.order
    } else {
        kind.failed
    };
    let operation = Operation {
        address: at as u64,
        before: kind.reads.then_some(folded(before)),
        after: after.map(folded),
        how: kind.how,
        acquires: acquires(order) && kind.reads,
        releases: releases(order) && after.is_some(),
    };
    atomic(&operation, 16, order, place);
    if kind.reads && after.is_none_or(|after| after == before) {
        looked(at as u64, folded(before), place);
    }
    before
}

/// Values are compared with each other and with those next to them.
fn folded(value: u128) -> u64 {
    value as u64 ^ ((value >> 64) as u64).rotate_left(32)
}

/// Where the function that this is inlined into returns to.
#[inline(always)]
fn return_address() -> u64 {
    // SAFETY: the runtime is compiled with frame pointers, so above the caller's frame is the
    // return address.
    unsafe { *((frame_pointer() + 8) as *const u64) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic128_load(at: *mut u128, order: u32) -> u128 {
    let kind = PairOperation {
        reads: true,
        how: How::Replaced,
        order,
        failed: order,
    };
    perform(at, &kind, return_address(), |_| None)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic128_store(at: *mut u128, value: u128, order: u32) {
    let kind = PairOperation {
        reads: false,
        how: How::Replaced,
        order,
        failed: order,
    };
    perform(at, &kind, return_address(), |_| Some(value));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic128_compare_exchange_val(
    at: *mut u128,
    expected: u128,
    new: u128,
    order: u32,
    failed: u32,
) -> u128 {
    let kind = PairOperation {
        reads: true,
        how: How::Replaced,
        order,
        failed,
    };
    perform(at, &kind, return_address(), |before| {
        (before == expected).then_some(new)
    })
}

macro_rules! modify {
    ($($symbol:ident $how:ident $result:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol(at: *mut u128, value: u128, order: u32) -> u128 {
            let result: fn(u128, u128) -> u128 = $result;
            let kind = PairOperation {
                reads: true,
                how: How::$how,
                order,
                failed: order,
            };
            perform(at, &kind, return_address(), |before| Some(result(before, value)))
        }
    )*};
}

modify! {
    __tsan_atomic128_exchange Replaced |_, value| value;
    __tsan_atomic128_fetch_add Counted |before, value| before.wrapping_add(value);
    __tsan_atomic128_fetch_sub Counted |before, value| before.wrapping_sub(value);
    __tsan_atomic128_fetch_and Flagged |before, value| before & value;
    __tsan_atomic128_fetch_or Flagged |before, value| before | value;
    __tsan_atomic128_fetch_xor Flagged |before, value| before ^ value;
    __tsan_atomic128_fetch_nand Flagged |before, value| !(before & value);
}
