//! The one checker of the process, and who may use it.
//!
//! **Who may use the checker.** [`OWNER`] tells, and is all that decides it:
//!
//! | `OWNER` | who may use the checker | who may change `OWNER` |
//! |---|---|---|
//! | a thread pointer | nobody yet | that thread: to [`IN_USE`], or to [`NOBODY`] |
//! | [`IN_USE`] | the closure that put it there | the same, when it has returned |
//! | [`NOBODY`] | nobody yet | any thread, by compare-and-exchange |
//!
//! A reference to the checker is made only while `OWNER` is [`IN_USE`], and is lent to a closure:
//! [`with_checker`] goes there from the thread's own pointer, [`with_unowned_checker`] and
//! [`with_checker_for_good`] from [`NOBODY`]. So there is at most one reference at a time, also if
//! the runtime, while it has one, calls a function of the C library that calls the runtime: that
//! call finds no owner, and its events are not the program's.
//!
//! **Which thread.** The owner is the thread that initialised the checker, or the
//! one to which whoever decides about turns has handed it over. It is known by the pointer that it
//! has now, its own or a [borrowed](super::loan) one. A thread whose pointer is borrowed waits in
//! the kernel.
//!
//! **Memory order.** A thread that finds its own pointer in `OWNER` has put it there itself, or has
//! it from the thread that used the checker before. Storing a pointer releases and loading it
//! acquires, so the owner sees all that the one before did to the checker.

use crate::checker::{Checker, Glance, GlanceHandle};
use crate::facts::calls::Calls;
use std::arch::asm;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

struct CheckerSlot(UnsafeCell<Option<Checker>>);

// SAFETY: it is used while `OWNER` is `IN_USE`, by who put that there; see above.
unsafe impl Sync for CheckerSlot {}

static CHECKER: CheckerSlot = CheckerSlot(UnsafeCell::new(None));

/// The memory of the checker's glance.
pub(crate) struct GlanceSlot(UnsafeCell<Glance>);

// SAFETY: the checker uses it while `OWNER` is `IN_USE`, and a thread's accesses use it while
// `OWNER` is that thread's pointer.
unsafe impl Sync for GlanceSlot {}

pub(crate) static GLANCE: GlanceSlot = GlanceSlot(UnsafeCell::new(Glance::NOTHING));

/// The thread pointer of the owner, [`IN_USE`] or [`NOBODY`].
pub(crate) static OWNER: AtomicUsize = AtomicUsize::new(NOBODY);

const NOBODY: usize = 0;
/// No thread pointer, as these are aligned.
const IN_USE: usize = 1;

/// Nothing is checked any more.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

#[inline]
pub(crate) fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the first word of a thread's control block is its own address.
    unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

/// Whether this thread is the checked one, and the checker is not in use.
#[inline]
pub(crate) fn is_checked() -> bool {
    OWNER.load(Ordering::Acquire) == thread_pointer()
}

/// Lends the checker to `does`, if this thread owns it and it is not in use.
#[inline(always)]
pub(crate) fn with_checker<T>(does: impl FnOnce(&mut Checker) -> T) -> Option<T> {
    if !is_checked() {
        return None;
    }
    // Nobody else changes it while it is this thread's pointer, so a store will do.
    OWNER.store(IN_USE, Ordering::Relaxed);
    // SAFETY: `OWNER` was this thread's pointer, so there is a checker and nobody had a reference
    // to it. From here to the store below it is `IN_USE`, so nobody gets another one.
    let done = does(unsafe { (*CHECKER.0.get()).as_mut().unwrap_unchecked() });
    OWNER.store(thread_pointer(), Ordering::Release);
    Some(done)
}

/// Lends the calls in progress to `does`, if this thread is the checked one: as [`with_checker`],
/// for the two functions that are called most often.
///
/// # Safety
///
/// `does` must call nothing but methods of [`Calls`], which call nothing outside the runtime. Then
/// nothing else of this thread can ask for the checker meanwhile, and `OWNER` need not say so. The
/// exception is an instrumented signal handler that interrupts one of these methods: programs with
/// such handlers are not supported.
#[inline(always)]
pub(crate) unsafe fn with_calls(does: impl FnOnce(&mut Calls)) {
    if is_checked() {
        // SAFETY: there is a checker, nobody has a reference to it, and no other thread can get one
        // as long as `OWNER` is this thread's pointer. This thread does not, by contract.
        does(unsafe { &mut (*CHECKER.0.get()).as_mut().unwrap_unchecked().calls });
    }
}

/// Lends the checker to `does`, if there is one that nobody owns or uses.
pub(crate) fn with_unowned_checker<T>(does: impl FnOnce(&mut Checker) -> T) -> Option<T> {
    if !claim(NOBODY) {
        return None;
    }
    // SAFETY: `OWNER` is `IN_USE`, by this call.
    let done = (unsafe { (*CHECKER.0.get()).as_mut() }).map(does);
    OWNER.store(NOBODY, Ordering::Release);
    done
}

/// Makes this the checker of the process and the calling thread its owner, if there is none yet.
/// `prepare` is the first to use it.
pub(crate) fn install(checker: Checker, prepare: impl FnOnce(&mut Checker)) -> bool {
    if !claim(NOBODY) {
        return false;
    }
    // SAFETY: `OWNER` is `IN_USE`, by this call.
    prepare(unsafe { (*CHECKER.0.get()).insert(checker) });
    OWNER.store(NOBODY, Ordering::Release);
    take_over();
    true
}

/// Ends checking, and lends the checker to `does` if there is one. Nobody gets it afterwards.
/// Returns whether this thread could have it: no other one owned or used it.
pub(crate) fn with_checker_for_good(does: impl FnOnce(&mut Checker)) -> bool {
    GIVEN_UP.store(true, Ordering::Release);
    if !claim(thread_pointer()) && !claim(NOBODY) {
        return false;
    }
    // SAFETY: `OWNER` is `IN_USE`, by this call, and stays so.
    if let Some(checker) = unsafe { (*CHECKER.0.get()).as_mut() } {
        does(checker);
    }
    true
}

/// The checker's way to the glance.
pub(crate) fn glance() -> GlanceHandle {
    // SAFETY: a static is valid for ever, and never null. Accesses of the program use it only while
    // their thread owns the checker, hence not while a method of the checker runs.
    unsafe { GlanceHandle::new(NonNull::new_unchecked(GLANCE.0.get())) }
}

/// Puts the checker in use, if `OWNER` has this value.
fn claim(owner: usize) -> bool {
    let (now, then) = (Ordering::Acquire, Ordering::Relaxed);
    OWNER.compare_exchange(owner, IN_USE, now, then).is_ok()
}

/// If this thread is the checked one, it leaves the checker to another one.
pub(crate) fn hand_over() {
    if is_checked() {
        OWNER.store(NOBODY, Ordering::Release);
    }
}

/// Makes the thread of this control block the checked one, unless there is one, or none any more.
pub(crate) fn hand_over_to(pointer: usize) {
    if !has_given_up() {
        let (now, then) = (Ordering::Release, Ordering::Relaxed);
        let _ = OWNER.compare_exchange(NOBODY, pointer, now, then);
    }
}

/// If the thread with the pointer `from` is the checked one, it is from now on known by `to`. Only
/// that thread itself may say so, right before it has that pointer.
pub(super) fn follow(from: usize, to: usize) {
    if OWNER.load(Ordering::Relaxed) == from {
        OWNER.store(to, Ordering::Release);
    }
}

/// Makes this thread the checked one, unless there is one, or none any more.
pub(crate) fn take_over() {
    hand_over_to(thread_pointer());
}

pub(crate) fn has_given_up() -> bool {
    GIVEN_UP.load(Ordering::Acquire)
}

/// Ends checking. If a thread is the checked one, it is this one.
pub(crate) fn give_up() {
    GIVEN_UP.store(true, Ordering::Release);
    hand_over();
}

/// The checked thread, while it is ignored, and how many times it was asked to be.
static IGNORED: (AtomicUsize, AtomicU64) = (AtomicUsize::new(0), AtomicU64::new(0));

/// Nothing of the checked thread is told until it has been asked for as often as this.
pub(crate) fn ignore() {
    let (thread, times) = &IGNORED;
    let this = thread_pointer();
    if is_checked() {
        thread.store(this, Ordering::Relaxed);
        hand_over();
    }
    if thread.load(Ordering::Relaxed) == this {
        times.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn ignore_no_more() {
    let (thread, times) = &IGNORED;
    let this = thread_pointer();
    if thread.load(Ordering::Relaxed) == this && times.fetch_sub(1, Ordering::Relaxed) == 1 {
        thread.store(0, Ordering::Relaxed);
        take_over();
    }
}
