//! The atomics of loom, and how a test is run in every interleaving. In the place of the `atomics`
//! of a crate.
//!
//! **Turns.** Loom 0.7 leaves out interleavings. It remembers only the latest access to each
//! object. If a thread loads an atomic and then changes it, as any loop around a compare-and-swap
//! does, loom forgets who else has loaded the atomic before: <https://github.com/tokio-rs/loom>,
//! issues 166 and 392. So every operation here first takes a *turn*: a compare-and-swap, on one
//! object for all, that always fails. Loom takes it for a change, and tries all orders of turns.
//! But turns order nothing by themselves: all of them see the first value of the object.

use loom::sync::atomic as inner;

pub(crate) use loom::hint::spin_loop;
pub(crate) use loom::sync::atomic::{Ordering, fence};
pub(crate) use loom::thread::yield_now;
// Counts rows, and takes no turns.
pub(crate) use loom::sync::atomic::AtomicUsize;

/// Loom knows no processor.
pub(crate) fn fence_after_swap() {
    fence(Ordering::SeqCst);
}

loom::lazy_static! {
    static ref TURNS: inner::AtomicU32 = inner::AtomicU32::new(0);
}

/// So often a thread that could go on is interrupted.
const PREEMPTIONS: usize = 4;

/// Runs a test in every interleaving with a few preemptions, with every value that a load may
/// return. `LOOM_MAX_PREEMPTIONS` sets another number of them.
pub(crate) fn explore(test: impl Fn() + Sync + Send + 'static) {
    explore_within(PREEMPTIONS, test);
}

/// The same with fewer preemptions, for a test that has too many interleavings.
pub(crate) fn explore_within(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound.get_or_insert(preemptions);
    model.max_branches = 10_000;
    model.check(move || {
        // Made before other threads begin, so that nobody waits for who makes it.
        turn();
        test();
    });
}

fn turn() {
    let turn = TURNS.compare_exchange(1, 1, Ordering::Relaxed, Ordering::Relaxed);
    assert_eq!(turn, Err(0));
}

macro_rules! atomics {
    ($($name:ident $(<$parameter:ident>)?: $value:ty;)*) => {$(
        #[derive(Debug)]
        pub(crate) struct $name $(<$parameter>)? (inner::$name $(<$parameter>)?);

        impl $(<$parameter>)? $name $(<$parameter>)? {
            pub(crate) fn new(value: $value) -> Self {
                $name(inner::$name::new(value))
            }

            pub(crate) fn load(&self, order: Ordering) -> $value {
                turn();
                self.0.load(order)
            }

            pub(crate) fn store(&self, value: $value, order: Ordering) {
                turn();
                self.0.store(value, order);
            }

            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                turn();
                self.0.swap(value, order)
            }

            pub(crate) fn compare_exchange(
                &self,
                before: $value,
                after: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                turn();
                self.0.compare_exchange(before, after, success, failure)
            }

            pub(crate) fn compare_exchange_weak(
                &self,
                before: $value,
                after: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(before, after, success, failure)
            }
        }
    )*};
}

atomics! {
    AtomicBool: bool;
    AtomicI64: i64;
    AtomicU32: u32;
    AtomicU64: u64;
    AtomicPtr<T>: *mut T;
}

macro_rules! numbers {
    ($($name:ident: $value:ty;)*) => {$(
        impl Default for $name {
            fn default() -> Self {
                $name::new(0)
            }
        }

        impl $name {
            pub(crate) fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                turn();
                self.0.fetch_add(value, order)
            }

            pub(crate) fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                turn();
                self.0.fetch_sub(value, order)
            }
        }
    )*};
}

numbers! {
    AtomicI64: i64;
    AtomicU64: u64;
}

impl AtomicU32 {
    pub(crate) fn fetch_or(&self, bits: u32, order: Ordering) -> u32 {
        turn();
        self.0.fetch_or(bits, order)
    }

    pub(crate) fn fetch_and(&self, bits: u32, order: Ordering) -> u32 {
        turn();
        self.0.fetch_and(bits, order)
    }
}

mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    /// The example of issue 392.
    #[test]
    fn a_load_before_a_store_hides_no_interleaving() {
        let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
        let all = seen.clone();
        explore(move || {
            let word = Arc::new(AtomicU64::new(0));
            let other = word.clone();
            let changer = thread::spawn(move || {
                other.load(Ordering::Relaxed);
                other.store(1, Ordering::Relaxed);
            });
            all.lock().unwrap().insert(word.load(Ordering::Relaxed));
            changer.join().unwrap();
        });
        assert!(seen.lock().unwrap().iter().eq(&[0, 1]));
    }

    /// Two threads store to a word of their own and load the other's. Both may miss the other.
    #[test]
    fn turns_order_nothing() {
        let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
        let all = seen.clone();
        explore(move || {
            let words = Arc::new([0, 0].map(AtomicU64::new));
            let others = words.clone();
            let other = thread::spawn(move || {
                others[0].store(1, Ordering::Relaxed);
                fence(Ordering::AcqRel);
                others[1].load(Ordering::Relaxed)
            });
            words[1].store(1, Ordering::Relaxed);
            fence(Ordering::AcqRel);
            let one = words[0].load(Ordering::Relaxed);
            all.lock().unwrap().insert([one, other.join().unwrap()]);
        });
        let every = [[0, 0], [0, 1], [1, 0], [1, 1]];
        assert!(seen.lock().unwrap().iter().eq(&every));
    }
}
