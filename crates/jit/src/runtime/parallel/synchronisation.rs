//! Promises and locks in a parallel run.
//!
//! [`super::promise`] has the rules of promises, and [`super::lock`] those of locks. Strands that
//! wait for locks are in queues under a mutex.

use super::super::context::Context;
use super::super::locks::number;
use super::super::promises::location;
use super::super::switch::Passed;
use super::crew::Parked;
use super::lock::{LockWord, Taken};
use super::promise::Mark;
use super::strand::{Awaits, Held, Strand};
use super::{Parallel, Runtime};
use crate::atomics::AtomicU64;
use crate::checker::Checker;
use crate::heap::layout::{LOCK_STATE, PROMISE_MARK, PROMISE_VALUE};
use finishline_ir::machine::TrapKind;
use finishline_model::{Event, LockMode, SiteId};
use std::hint::spin_loop;
use std::ptr::NonNull;
use std::sync::PoisonError;

/// # Safety
///
/// There must be a live promise at the address.
unsafe fn mark_of<'p>(promise: *mut u8) -> &'p Mark {
    // SAFETY: every promise has a mark, which is only touched by atomic operations or loads of
    // compiled code.
    unsafe { &*promise.offset(PROMISE_MARK as isize).cast() }
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
    let task = runtime.running();
    if mark.of_set().is_none() {
        runtime.tell(&Event::PromiseSet {
            task,
            promise: location,
            site,
        });
    }
    let mut waiting: *mut Strand = match mark.set(place, value, i64::from(site.0) + 1) {
        Ok(waiting) => waiting,
        Err(set) => {
            let first = SiteId(set as u32 - 1);
            runtime.fail(TrapKind::SetTwice { first }, site);
        }
    };
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
    let mut strand = place;
    // SAFETY: the strand is the worker's own until it is in the list.
    let link = |next| unsafe { strand.as_mut() }.next = next;
    match mark.wait(place, link) {
        true => runtime.go_on(),
        false => runtime.resume(place),
    }
}

/// How often a task looks at a lock before it waits.
const LOOKS: u32 = 100;

/// # Safety
///
/// There must be a live lock at the address.
unsafe fn word_of<'l>(lock: *const u8) -> &'l LockWord {
    // SAFETY: every lock has a state, which is only touched by atomic operations.
    unsafe { &*lock.wrapping_offset(LOCK_STATE as isize).cast() }
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
    let word = unsafe { word_of(lock) };
    let worker = runtime.schedule.number;
    let mut taken = match std::mem::take(&mut runtime.schedule.strand_mut().granted) {
        true => Some(Taken::FromOther),
        false => word.take(worker),
    };
    for _ in 0..LOOKS {
        if taken.is_some() {
            break;
        }
        spin_loop();
        taken = word.take(worker);
    }
    let address = lock.expose_provenance();
    let Some(taken) = taken.or_else(|| runtime.queue_up(word, address, site)) else {
        return runtime.go_on();
    };
    if taken == Taken::FromOther {
        runtime.checker.meets_others();
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
    /// Suspends the running strand until the lock is handed to it. If the lock has become free
    /// meanwhile, the strand holds it, and goes on.
    fn queue_up(&mut self, word: &LockWord, address: usize, site: SiteId) -> Option<Taken> {
        let crew = self.schedule.crew;
        let queues = crew.waiting_for_locks.lock();
        let mut queues = queues.unwrap_or_else(PoisonError::into_inner);
        let taken = word.take_or_wait(self.schedule.number);
        if taken.is_some() {
            return taken;
        }
        let strand = self.suspend(Awaits::Lock(address), site);
        queues.entry(address).or_default().push_back(Parked(strand));
        None
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
    let (word, id) = unsafe { (word_of(lock), number(lock)) };
    let task = runtime.running();
    let held = &mut runtime.schedule.strand_mut().held;
    let place = held
        .iter()
        .position(|held| held.lock == id && held.holder == task);
    let Some(place) = place else {
        let held = !word.is_free();
        runtime.fail(TrapKind::ReleaseNotHeld { held }, site);
    };
    held.remove(place);
    runtime.tell(&Event::Unlock { task, lock: id });
    if !word.give_up(runtime.schedule.number) {
        runtime.hand_on(word, lock.expose_provenance());
    }
}

impl<C: Checker> Runtime<'_, C, Parallel<'_>> {
    /// Gives a lock to the strand that has waited longest.
    fn hand_on(&mut self, word: &LockWord, address: usize) {
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
        word.hand_on(left);
        drop(queues);
        // SAFETY: whoever takes a strand from the queue has it for itself.
        unsafe { strand.as_mut() }.granted = true;
        self.schedule.ready(strand);
    }
}
