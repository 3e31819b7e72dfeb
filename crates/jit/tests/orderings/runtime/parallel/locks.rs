//! Locks and isolated blocks: one at a time, and each sees what the one before did.

use super::lock::{Isolation, LockWord};
use crate::atomics::{explore, explore_within};
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Mutex};
use loom::thread;

const THREADS: u32 = 3;

/// A number that a lock protects.
struct Protected(UnsafeCell<u32>);

// SAFETY: loom fails if two threads use it at the same time.
unsafe impl Sync for Protected {}
// SAFETY: a number.
unsafe impl Send for Protected {}

impl Protected {
    fn new() -> Protected {
        Protected(UnsafeCell::new(0))
    }

    fn increment(&self) {
        // SAFETY: loom fails if another thread uses it at the same time, here and below.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: as above.
        self.0.with(|number| unsafe { *number })
    }
}

/// Runs the same on all threads, which are numbered.
fn on_threads<T: Send + Sync + 'static>(shared: T, work: fn(&T, usize)) -> Arc<T> {
    let shared = Arc::new(shared);
    let threads: Vec<_> = (1..THREADS)
        .map(|number| {
            let shared = shared.clone();
            thread::spawn(move || work(&shared, number as usize))
        })
        .collect();
    work(&shared, 0);
    for thread in threads {
        thread.join().unwrap();
    }
    shared
}

#[test]
fn a_lock_is_held_by_one_strand() {
    struct Shared {
        word: LockWord,
        /// How many strands wait.
        queue: Mutex<u32>,
        protected: Protected,
    }

    fn work(shared: &Shared, number: usize) {
        let word = &shared.word;
        if word.take(number).is_none() {
            let mut queue = shared.queue.lock().unwrap();
            if word.take_or_wait(number).is_none() {
                *queue += 1;
                return;
            }
        }
        loop {
            shared.protected.increment();
            if word.give_up(number) {
                return;
            }
            // A strand that waits goes on here.
            let mut queue = shared.queue.lock().unwrap();
            *queue -= 1;
            word.hand_on(*queue > 0);
        }
    }

    explore_within(3, || {
        let shared = Shared {
            word: LockWord::default(),
            queue: Mutex::new(0),
            protected: Protected::new(),
        };
        let shared = on_threads(shared, work);
        assert_eq!(shared.protected.get(), THREADS);
        assert_eq!(*shared.queue.lock().unwrap(), 0);
        assert!(shared.word.is_free());
    });
}

#[test]
fn one_isolated_block_is_under_way() {
    // Nobody waits: loom can't tell a loop that waits from one that never ends.
    fn work((isolation, protected): &(Isolation, Protected), number: usize) {
        if isolation.begin(number).is_some() {
            protected.increment();
            isolation.end(number);
        }
    }

    explore(|| {
        let shared = on_threads((Isolation::new(), Protected::new()), work);
        assert!((1..=THREADS).contains(&shared.1.get()));
        assert!(!shared.0.is_under_way());
    });
}
