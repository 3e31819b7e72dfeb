//! The word of a lock, and the one of isolated blocks.
//!
//! A lock is free, held, or held and waited for. A lock that nobody waits for is taken and given up
//! by one compare-and-swap. The queue of strands that wait is under a mutex, and so is the change
//! to *waited for*, and every change from it.
//!
//! **Memory ordering.** Who gives up a lock releases, and who takes it acquires. A lock that is
//! handed on is not given up: the mutex of the queue, and the way of the strand that gets it, order
//! what it protects.

use crate::atomics::{AtomicBool, AtomicU64, Ordering};

/// The states of a lock.
const FREE: u64 = 0;
const HELD: u64 = 1;
const WAITED_FOR: u64 = 2;

#[repr(transparent)]
#[derive(Default)]
pub(super) struct LockWord(AtomicU64);

impl LockWord {
    /// Takes a lock that is free.
    pub(super) fn take(&self) -> bool {
        let taken = self
            .0
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    /// Whether it is free, now or a moment ago.
    pub(super) fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FREE
    }

    /// Takes the lock, or makes it waited for and returns false. Of who has the queue.
    pub(super) fn take_or_wait(&self) -> bool {
        loop {
            if self.take() {
                return true;
            }
            let waited_for =
                self.0
                    .compare_exchange(HELD, WAITED_FOR, Ordering::Relaxed, Ordering::Relaxed);
            if waited_for.is_ok() || waited_for == Err(WAITED_FOR) {
                return false;
            }
        }
    }

    /// Gives up a lock that is held. False if it is waited for: then it is still held.
    pub(super) fn give_up(&self) -> bool {
        let freed = self
            .0
            .compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed);
        freed.is_ok()
    }

    /// The lock is the next strand's. Of who holds it and has the queue, which may have more.
    pub(super) fn hand_on(&self, is_waited_for: bool) {
        let state = if is_waited_for { WAITED_FOR } else { HELD };
        self.0.store(state, Ordering::Relaxed);
    }
}

/// Whether an isolated block is under way.
pub(super) struct Isolation(AtomicBool);

impl Isolation {
    pub(super) fn new() -> Isolation {
        Isolation(AtomicBool::new(false))
    }

    /// Begins a block, if none is under way.
    pub(super) fn begin(&self) -> bool {
        let begun = self
            .0
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        begun.is_ok()
    }

    /// Whether a block is under way, now or a moment ago.
    pub(super) fn is_under_way(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn end(&self) {
        self.0.store(false, Ordering::Release);
    }
}
