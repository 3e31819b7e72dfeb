//! The word of a lock, and the one of isolated blocks.
//!
//! A lock is free, held, or held and waited for. A lock that nobody waits for is taken and given up
//! by one compare-and-swap. The queue of strands that wait is under a mutex, and so is the change
//! to *waited for*, and every change from it. The word also says which worker held the lock last:
//! nobody, if it is new or was handed on.
//!
//! **Memory ordering.** Who gives up a lock releases, and who takes it acquires. A lock that is
//! handed on is not given up: the mutex of the queue, and the way of the strand that gets it, order
//! what it protects.

use crate::atomics::{AtomicU64, Ordering};

/// The states of a lock. The rest of the word is the number of who held it last, counted from 1.
const FREE: u64 = 0;
const HELD: u64 = 1;
const WAITED_FOR: u64 = 2;
const STATES: u64 = 3;
const STATE_BITS: u32 = 2;

/// A lock was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// The same worker held it last, or nobody did.
    Again,
    /// Another one did.
    FromOther,
}

impl Taken {
    fn from(holder: u64, worker: usize) -> Taken {
        match holder == 0 || holder == number(worker) {
            true => Taken::Again,
            false => Taken::FromOther,
        }
    }
}

fn number(worker: usize) -> u64 {
    worker as u64 + 1
}

#[repr(transparent)]
#[derive(Default)]
pub(super) struct LockWord(AtomicU64);

impl LockWord {
    /// Takes a lock that is free.
    pub(super) fn take(&self, worker: usize) -> Option<Taken> {
        let word = self.0.load(Ordering::Relaxed);
        if word & STATES != FREE {
            return None;
        }
        let taken =
            self.0
                .compare_exchange(word, word | HELD, Ordering::Acquire, Ordering::Relaxed);
        taken
            .ok()
            .map(|word| Taken::from(word >> STATE_BITS, worker))
    }

    /// Whether it is free, now or a moment ago.
    pub(super) fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) & STATES == FREE
    }

    /// Takes the lock, or makes it waited for. Of who has the queue.
    pub(super) fn take_or_wait(&self, worker: usize) -> Option<Taken> {
        loop {
            let taken = self.take(worker);
            if taken.is_some() {
                return taken;
            }
            let word = self.0.load(Ordering::Relaxed);
            let waited_for = match word & STATES {
                FREE => continue,
                HELD => word ^ HELD ^ WAITED_FOR,
                _ => return None,
            };
            let changed =
                self.0
                    .compare_exchange(word, waited_for, Ordering::Relaxed, Ordering::Relaxed);
            if changed.is_ok() {
                return None;
            }
        }
    }

    /// Gives up a lock that this worker holds. False if it is waited for: then it is still held.
    pub(super) fn give_up(&self, worker: usize) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        let free = number(worker) << STATE_BITS | FREE;
        word & STATES == HELD
            && (self.0)
                .compare_exchange(word, free, Ordering::Release, Ordering::Relaxed)
                .is_ok()
    }

    /// The lock is the next strand's. Of who holds it and has the queue, which may have more.
    pub(super) fn hand_on(&self, is_waited_for: bool) {
        let state = if is_waited_for { WAITED_FOR } else { HELD };
        self.0.store(state, Ordering::Relaxed);
    }
}

/// Whether an isolated block is under way, and the number of the worker that was in one last,
/// counted from 1.
pub(super) struct Isolation(AtomicU64);

const UNDER_WAY: u64 = 1;

impl Isolation {
    pub(super) fn new() -> Isolation {
        Isolation(AtomicU64::new(0))
    }

    /// Begins a block, if none is under way.
    pub(super) fn begin(&self, worker: usize) -> Option<Taken> {
        let word = self.0.load(Ordering::Relaxed);
        if word & UNDER_WAY != 0 {
            return None;
        }
        let begun = self
            .0
            .compare_exchange(word, UNDER_WAY, Ordering::Acquire, Ordering::Relaxed);
        begun.ok().map(|word| Taken::from(word >> 1, worker))
    }

    /// Whether a block is under way, now or a moment ago.
    pub(super) fn is_under_way(&self) -> bool {
        self.0.load(Ordering::Relaxed) & UNDER_WAY != 0
    }

    pub(super) fn end(&self, worker: usize) {
        self.0.store(number(worker) << 1, Ordering::Release);
    }
}
