//! `acquire` and `release` of locks.
//!
//! A lock has its number. Which locks are held, by whom, and who waits for them, the schedule
//! knows: few are at any time. A release lets the task go on that has waited longest, and then the
//! task that released the lock, as in the interpreter's run.

use super::Runtime;
use super::context::Context;
use super::cooperative::Cooperative;
use super::schedule::Schedule;
use super::strands::{Awaits, StrandId};
use super::switch::Passed;
use crate::checker::Checker;
use crate::heap::layout::LOCK_NUMBER;
use finishline_ir::machine::TrapKind;
use finishline_model::{Event, LockId, LockMode, SiteId, TaskId};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A lock that a task holds.
struct Held {
    lock: LockId,
    holder: TaskId,
    acquired: SiteId,
}

/// The locks that are held, and the strands that wait for them.
#[derive(Default)]
pub(super) struct Locks {
    /// In the order in which they were acquired.
    held: Vec<Held>,
    /// By lock, in the order in which they came to wait.
    waiting: FxHashMap<LockId, VecDeque<StrandId>>,
}

impl Locks {
    pub(super) fn holder(&self, lock: LockId) -> Option<TaskId> {
        let mut held = self.held.iter();
        held.find_map(|held| (held.lock == lock).then_some(held.holder))
    }

    /// Where the task acquired the first of the locks that it holds.
    pub(super) fn first_held(&self, task: TaskId) -> Option<SiteId> {
        let mut held = self.held.iter();
        held.find_map(|held| (held.holder == task).then_some(held.acquired))
    }

    /// The strand that has waited longest for a lock. It waits no more.
    fn next_waiting(&mut self, lock: LockId) -> Option<StrandId> {
        let waiting = self.waiting.get_mut(&lock)?;
        let first = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&lock);
        }
        first
    }
}

impl<C: Checker, S: Schedule> Runtime<'_, C, S> {
    /// Fails if the running task, which is about to wait for others, holds a lock.
    pub(super) fn may_wait(&mut self, site: SiteId) {
        if let Some(acquired) = self.schedule.first_held() {
            self.fail(TrapKind::WaitUnderLock { acquired }, site);
        }
    }

    /// Fails if the running task, which is about to end, holds a lock.
    pub(super) fn may_end(&mut self) {
        if let Some(acquired) = self.schedule.first_held() {
            self.fail(TrapKind::LockNeverReleased { acquired }, acquired);
        }
    }
}

/// The number of a lock.
///
/// # Safety
///
/// There must be a live lock at the address.
pub(super) unsafe fn number(lock: *const u8) -> LockId {
    // SAFETY: every lock has a number.
    LockId(unsafe { lock.offset(LOCK_NUMBER as isize).cast::<u64>().read() } as u32)
}

/// Holds a lock, or waits and says so.
pub(super) unsafe extern "C" fn acquire<C: Checker>(
    context: *mut Context,
    lock: *const u8,
    site: u32,
) -> Passed {
    let site = SiteId(site);
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Cooperative>::of(context) };
    if lock.is_null() {
        runtime.fail(TrapKind::NullUse, site);
    }
    let address = lock.expose_provenance();
    // SAFETY: compiled code passes a lock.
    let lock = unsafe { number(lock) };
    let holder = runtime.running();
    let strand = runtime.schedule.running_strand();
    let locks = &mut runtime.schedule.locks;
    if locks.holder(lock).is_some() {
        locks.waiting.entry(lock).or_default().push_back(strand);
        runtime.wait(Awaits::Lock(address), site);
        return Passed::not_yet(context);
    }
    locks.held.push(Held {
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

/// Gives up a lock.
pub(super) unsafe extern "C" fn release<C: Checker>(
    context: *mut Context,
    lock: *const u8,
    site: u32,
) -> Passed {
    let site = SiteId(site);
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, Cooperative>::of(context) };
    if lock.is_null() {
        runtime.fail(TrapKind::NullUse, site);
    }
    // SAFETY: compiled code passes a lock.
    let lock = unsafe { number(lock) };
    let task = runtime.running();
    let locks = &mut runtime.schedule.locks;
    let held = locks.held.iter().position(|held| held.lock == lock);
    match held {
        Some(place) if locks.held[place].holder == task => {
            locks.held.remove(place);
        }
        _ => {
            let held = held.is_some();
            runtime.fail(TrapKind::ReleaseNotHeld { held }, site);
        }
    }
    let next = locks.next_waiting(lock);
    runtime.tell(&Event::Unlock { task, lock });
    if let Some(next) = next {
        runtime.give_way_to(next);
    }
    Passed::not_yet(context)
}

/// Before a `get`, which may not be made while a lock is held.
pub(super) unsafe extern "C" fn before_get<C: Checker, S: Schedule>(
    context: *mut Context,
    site: u32,
) {
    // SAFETY: compiled code passes its context.
    unsafe { Runtime::<C, S>::of(context) }.may_wait(SiteId(site));
}
