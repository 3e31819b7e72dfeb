//! What is known of the process that its checker is not told: the findings and the recording say
//! how far they can be relied on.

use finishline_model::kinds::rayon::Division;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The version of the drop-in's interface, or 0 if no drop-in was used.
static DROP_IN: AtomicU32 = AtomicU32::new(0);
/// How finely parallel iterators were divided.
static DIVISION: AtomicU32 = AtomicU32::new(Division::None.number());
/// Threads that are not followed.
static UNFOLLOWED: AtomicU64 = AtomicU64::new(0);
/// The program is a test, which runs in a thread of its own.
static IS_TEST: AtomicBool = AtomicBool::new(false);

/// A drop-in was used that speaks this version of its interface.
pub(crate) fn set_drop_in(version: u32) {
    DROP_IN.store(version, Ordering::Relaxed);
}

/// The version of the drop-in's interface, if a drop-in was used.
pub(crate) fn drop_in() -> Option<u32> {
    Some(DROP_IN.load(Ordering::Relaxed)).filter(|version| *version != 0)
}

pub(crate) fn set_division(division: Division) {
    DIVISION.fetch_max(division.number(), Ordering::Relaxed);
}

pub(crate) fn division() -> Division {
    Division::from_number(DIVISION.load(Ordering::Relaxed)).unwrap_or_default()
}

pub(crate) fn unfollowed_thread() {
    UNFOLLOWED.fetch_add(1, Ordering::Relaxed);
}

/// How many threads were not followed.
pub(crate) fn unfollowed() -> u64 {
    UNFOLLOWED.load(Ordering::Relaxed)
}

/// Whether nothing happens while the checked thread waits.
pub(crate) fn nobody_else_runs() -> bool {
    unfollowed() == 0
}

pub(super) fn set_test(is_test: bool) {
    IS_TEST.store(is_test, Ordering::Relaxed);
}

pub(crate) fn is_test() -> bool {
    IS_TEST.load(Ordering::Relaxed)
}
