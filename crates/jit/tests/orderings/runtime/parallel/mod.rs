//! The lock-free files of `runtime::parallel`. Their tests are here, because the files show what
//! they have to nobody else.

#[path = "../../../../src/runtime/parallel/finish.rs"]
mod finish;
mod finishes;
#[path = "../../../../src/runtime/parallel/lock.rs"]
mod lock;
mod locks;
#[path = "../../../../src/runtime/parallel/promise.rs"]
mod promise;
mod promises;
mod rooms;
#[path = "../../../../src/runtime/parallel/signals.rs"]
mod signals;

mod strand {
    use loom::cell::UnsafeCell;

    /// A strand that waits. Who lets it go on changes it.
    pub(super) struct Strand {
        pub(super) suspended: UnsafeCell<bool>,
        /// The next one that waits for the same promise.
        pub(super) next: UnsafeCell<*mut Strand>,
    }

    impl Strand {
        pub(super) fn new() -> Strand {
            Strand {
                suspended: UnsafeCell::new(false),
                next: UnsafeCell::new(std::ptr::null_mut()),
            }
        }

        pub(super) fn suspend(&self) {
            // SAFETY: loom fails if somebody else uses it at the same time, here and below.
            self.suspended.with_mut(|it| unsafe { *it = true });
        }

        /// Fails unless the strand is suspended, and everybody knows.
        pub(super) fn resume(&self) {
            // SAFETY: as above.
            let was_suspended = self.suspended.with_mut(|it| unsafe { it.replace(false) });
            assert!(was_suspended);
        }
    }
}
