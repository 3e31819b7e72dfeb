//! The part of `runtime` that the files under test need.

mod parallel;

mod context {
    use crate::atomics::{AtomicU64, Ordering};
    use loom::cell::UnsafeCell;

    /// The context of the code that a worker runs.
    pub(super) struct Context {
        pub(super) stack_limit: Limit,
    }

    /// A limit, and whether it has been made.
    pub(super) struct Limit {
        limit: AtomicU64,
        made: UnsafeCell<bool>,
    }

    impl Limit {
        pub(super) fn new(limit: u64) -> Limit {
            let made = UnsafeCell::new(false);
            // SAFETY: loom fails if somebody else uses it at the same time, here and below.
            made.with_mut(|made| unsafe { *made = true });
            Limit {
                limit: AtomicU64::new(limit),
                made,
            }
        }

        pub(super) fn store(&self, limit: u64, order: Ordering) {
            // SAFETY: as above.
            assert!(self.made.with(|made| unsafe { *made }));
            self.limit.store(limit, order);
        }

        pub(super) fn load(&self, order: Ordering) -> u64 {
            self.limit.load(order)
        }
    }
}

mod schedule {
    pub(crate) struct OpenFinish;
}
