//! A lock of the runtime's own: the program's threads and its libraries know nothing of it.
//!
//! The word says whether the lock is held, and whether somebody may wait for it in the kernel.
//! Taking it acquires what the one before did to the value, and giving it up releases that.

use crate::process::{futex_wait, futex_wake};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) struct Locked<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is used under the lock alone.
unsafe impl<T: Send> Sync for Locked<T> {}

const FREE: u32 = 0;
const LOCKED: u32 = 1;
const WAITED_FOR: u32 = 2;

impl<T> Locked<T> {
    pub(super) const fn new(value: T) -> Locked<T> {
        Locked {
            word: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    /// Lends the value to `does`, which must not ask for it again.
    pub(super) fn with<R>(&self, does: impl FnOnce(&mut T) -> R) -> R {
        let word = &self.word;
        if word
            .compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            while word.swap(WAITED_FOR, Ordering::Acquire) != FREE {
                futex_wait(word, WAITED_FOR, None);
            }
        }
        // SAFETY: under the lock.
        let done = does(unsafe { &mut *self.value.get() });
        if word.swap(FREE, Ordering::Release) == WAITED_FOR {
            futex_wake(word);
        }
        done
    }
}
