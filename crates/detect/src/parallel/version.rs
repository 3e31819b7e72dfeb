//! The version of things that change now and then, and that workers look at without a lock.
//!
//! **Invariant.** The version is odd while something changes. So two loads of the version that are
//! equal and even enclose a moment at which nothing changed.
//!
//! **Memory ordering.** As that of a [cell](super::cell) with three stamps: the odd version is
//! followed by a release fence, and the second look is preceded by an acquire fence. Whoever sees a
//! part of a change sees the odd version, too. The even version is released when the change is
//! complete, and acquired before anything is looked at.

use crate::atomics::{AtomicU64, Ordering, fence, spin_loop};

pub(super) struct Version(AtomicU64);

impl Version {
    pub(super) fn new() -> Version {
        Version(AtomicU64::new(0))
    }

    /// Changes things by relaxed operations. Only one worker may do so at a time.
    pub(super) fn change(&self, change: impl FnOnce()) {
        let version = self.0.load(Ordering::Relaxed);
        self.0.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        change();
        self.0.store(version + 2, Ordering::Release);
    }

    /// Looks at things, by relaxed operations, at a moment at which they don't change.
    #[inline]
    pub(super) fn steadily<T>(&self, look: impl Fn() -> T) -> T {
        loop {
            let version = self.0.load(Ordering::Acquire);
            let seen = look();
            fence(Ordering::Acquire);
            if version & 1 == 0 && self.0.load(Ordering::Relaxed) == version {
                return seen;
            }
            spin_loop();
        }
    }
}
