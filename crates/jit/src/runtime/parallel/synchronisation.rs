//! Promises and locks in a parallel run.
//!
//! **Promises.** The mark is 0 while a promise is empty, positive when it is set, and negative
//! while strands wait: then its lower bits are the address of the latest one. A strand that waits
//! puts itself in front by a compare-and-swap. `set` takes the whole list by another one. The value
//! is written before the mark is released, and compiled code reads the mark before the value.
//!
//! **Locks.** The second word of a lock says whether it is free, held, or held and waited for. A
//! lock that nobody waits for is taken and given up by one compare-and-swap. Queues are under a
//! mutex, and so is the change to *waited for*, and every change from it.

use super::super::context::Context;
use super::super::locks::number;
use super::super::promises::location;
use super::super::switch::Passed;
use super::crew::Parked;
use super::strand::{Awaits, Held, Strand};
use super::{Parallel, Runtime};
use crate::checker::Checker;
use crate::heap::layout::{LOCK_STATE, PROMISE_MARK, PROMISE_VALUE};
use finishline_ir::machine::TrapKind;
use finishline_model::{Event, LockMode, SiteId};
use std::hint::spin_loop;
use std::ptr::{NonNull, with_exposed_provenance_mut};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// # Safety
///
/// There must be a live promise at the address.
unsafe fn mark_of<'p>(promise: *mut u8) -> &'p AtomicI64 {
    // SAFETY: every promise has a mark, which is only touched by atomic operations or loads of
    // compiled code.
    unsafe { AtomicI64::from_ptr(promise.offset(PROMISE_MARK as isize).cast()) }
}

/// The mark of a promise that strands wait for, this one in front.
fn waited_for_by(strand: NonNull<Strand>) -> i64 {
    i64::MIN | strand.as_ptr().expose_provenance() as i64
}

/// The strand in front of those that wait, by the mark.
fn front(mark: i64) -> *mut Strand {
    match mark < 0 {
        true => with_exposed_provenance_mut((mark & i64::MAX) as usize),
        false => std::ptr::null_mut(),
    }
}

/// Gives a promise its value.
pub(super) unsafe extern "C" fn set_promise<C: Checker>(
    context: *mut Context,
    promise: *mut u8,
    value: u64,
    site: u32,
) {
    let site = SiteId(site);
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Parallel>::of(context) };
    if promise.is_null() {
        runtime.fail(TrapKind::NullUse, site);
    }
    // SAFETY: compiled code passes a promise.
    let (mark, place, location) = unsafe {
        let place = promise.offset(PROMISE_VALUE as isize).cast();
        (
            mark_of(promise),
            AtomicU64::from_ptr(place),
            location(promise.expose_provenance()),
        )
    };
    let set = i64::from(site.0) + 1;
    let mut before = mark.load(Ordering::Relaxed);
    let task = runtime.running();
    if before <= 0 {
        runtime.tell(&Event::PromiseSet {
            task,
            promise: location,
            site,
        });
    }
    loop {
        if before > 0 {
            let first = SiteId(before as u32 - 1);
            runtime.fail(TrapKind::SetTwice { first }, site);
        }
        // If another task sets it at the same time, the program fails, whatever the value.
        place.store(value, Ordering::Relaxed);
        match mark.compare_exchange_weak(before, set, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => before = now,
        }
    }
    let mut waiting = front(before);
    while let Some(strand) = NonNull::new(waiting) {
        // SAFETY: the strands of the list belong to the task that has taken it. Once it is ready, a
        // strand belongs to somebody else.
        waiting = unsafe { strand.as_ref() }.next;
        runtime.schedule.ready(strand);
    }
}

/// Waits for the value of a promise.
pub(super) unsafe extern "C" fn await_promise<C: Checker>(
    context: *mut Context,
    promise: *mut u8,
    site: u32,
) -> Passed {
    // SAFETY: compiled code passes its context and a promise.
    let (runtime, mark) = unsafe { (Runtime::<C, Parallel>::of(context), mark_of(promise)) };
    let awaits = Awaits::Promise(promise.expose_provenance());
    let place = runtime.suspend(awaits, SiteId(site));
    let mut before = mark.load(Ordering::Acquire);
    while before <= 0 {
        let mut strand = place;
        // SAFETY: the strand is the worker's own until it is in the list.
        unsafe { strand.as_mut() }.next = front(before);
        let new = waited_for_by(place);
        match mark.compare_exchange_weak(before, new, Ordering::Release, Ordering::Acquire) {
            Ok(_) => return runtime.go_on(),
            Err(now) => before = now,
        }
    }
    runtime.resume(place)
}

/// The states of a lock.
const FREE: u64 = 0;
const HELD: u64 = 1;
const WAITED_FOR: u64 = 2;

/// How often a task looks at a lock before it waits.
const LOOKS: u32 = 100;

/// # Safety
///
/// There must be a live lock at the address.
unsafe fn state_of<'l>(lock: *const u8) -> &'l AtomicU64 {
    let state = lock.cast_mut().wrapping_offset(LOCK_STATE as isize);
    // SAFETY: every lock has a state, which is only touched by these atomic operations.
    unsafe { AtomicU64::from_ptr(state.cast()) }
}

fn take(state: &AtomicU64) -> bool {
    let taken = state.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
    taken.is_ok()
}

/// Holds a lock, or waits and says so.
pub(super) unsafe extern "C" fn acquire<C: Checker>(
    context: *mut Context,
    lock: *const u8,
    site: u32,
) -> Passed {
    let site = SiteId(site);
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Parallel>::of(context) };
    if lock.is_null() {
        runtime.fail(TrapKind::NullUse, site);
    }
    // SAFETY: compiled code passes a lock.
    let state = unsafe { state_of(lock) };
    let granted = std::mem::take(&mut runtime.schedule.strand_mut().granted);
    let mut held = granted || take(state);
    for _ in 0..LOOKS {
        if held {
            break;
        }
        spin_loop();
        held = state.load(Ordering::Relaxed) == FREE && take(state);
    }
    let address = lock.expose_provenance();
    if !held && !runtime.queue_up(state, address, site) {
        return runtime.go_on();
    }
    let holder = runtime.running();
    // SAFETY: compiled code passes a lock.
    let lock = unsafe { number(lock) };
    runtime.schedule.strand_mut().held.push(Held {
        lock,
        holder,
        acquired: site,
    });
    runtime.tell(&Event::Lock {
        task: holder,
        lock,
        mode: LockMode::Exclusive,
    });
    Passed::yes(context)
}

impl<C: Checker> Runtime<'_, C, Parallel<'_>> {
    /// Suspends the running strand until the lock is handed to it. True if the lock has become free
    /// meanwhile: then the strand holds it, and goes on.
    fn queue_up(&mut self, state: &AtomicU64, address: usize, site: SiteId) -> bool {
        let crew = self.schedule.crew;
        let queues = crew.waiting_for_locks.lock();
        let mut queues = queues.unwrap_or_else(PoisonError::into_inner);
        loop {
            if take(state) {
                return true;
            }
            let waited_for =
                state.compare_exchange(HELD, WAITED_FOR, Ordering::Relaxed, Ordering::Relaxed);
            if waited_for.is_ok() || waited_for == Err(WAITED_FOR) {
                break;
            }
        }
        let strand = self.suspend(Awaits::Lock(address), site);
        queues.entry(address).or_default().push_back(Parked(strand));
        false
    }
}

/// Gives up a lock.
pub(super) unsafe extern "C" fn release<C: Checker>(
    context: *mut Context,
    lock: *const u8,
    site: u32,
) {
    let site = SiteId(site);
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Parallel>::of(context) };
    if lock.is_null() {
        runtime.fail(TrapKind::NullUse, site);
    }
    // SAFETY: compiled code passes a lock.
    let (state, id) = unsafe { (state_of(lock), number(lock)) };
    let task = runtime.running();
    let held = &mut runtime.schedule.strand_mut().held;
    let place = held
        .iter()
        .position(|held| held.lock == id && held.holder == task);
    let Some(place) = place else {
        let held = state.load(Ordering::Relaxed) != FREE;
        runtime.fail(TrapKind::ReleaseNotHeld { held }, site);
    };
    held.remove(place);
    runtime.tell(&Event::Unlock { task, lock: id });
    let freed = state.compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed);
    if freed.is_err() {
        runtime.hand_on(state, lock.expose_provenance());
    }
}

impl<C: Checker> Runtime<'_, C, Parallel<'_>> {
    /// Gives a lock to the strand that has waited longest.
    fn hand_on(&mut self, state: &AtomicU64, address: usize) {
        let crew = self.schedule.crew;
        let queues = crew.waiting_for_locks.lock();
        let mut queues = queues.unwrap_or_else(PoisonError::into_inner);
        let next = queues.get_mut(&address).and_then(|queue| queue.pop_front());
        let left = queues.get(&address).is_some_and(|queue| !queue.is_empty());
        if !left {
            queues.remove(&address);
        }
        let Some(Parked(mut strand)) = next else {
            unreachable!("a lock that is waited for has a queue")
        };
        // What the lock protects is passed on by the queue's mutex and by the deque.
        state.store(if left { WAITED_FOR } else { HELD }, Ordering::Relaxed);
        drop(queues);
        // SAFETY: whoever takes a strand from the queue has it for itself.
        unsafe { strand.as_mut() }.granted = true;
        self.schedule.ready(strand);
    }
}
