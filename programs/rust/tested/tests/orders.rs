//! Tests in which atomics order tasks. Whether they do depends on which task comes first, so each is
//! run in several orders.

use rayon::prelude::*;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Mutex, RwLock};

struct Shared<T>(*mut T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

// SAFETY: who follows the pointer answers for it.
unsafe impl<T> Send for Shared<T> {}
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn at(&self) -> *mut T {
        self.0
    }
}

/// The flag that the left half sets orders the two if the right half comes later. If it comes first,
/// nothing does.
//@ verdict: race
//@ object: heap
#[test]
fn a_flag_that_is_read_and_not_asked() {
    let mut value = Box::new(0u64);
    let shared = Shared(&mut *value);
    let ready = AtomicBool::new(false);
    rayon::join(
        || {
            unsafe { *shared.at() = 1 }; //~ race write
            ready.store(true, Release);
        },
        || {
            let _ = ready.load(Acquire);
            unsafe { *shared.at() = 2 }; //~ race write
        },
    );
}

/// The task runs when it is spawned, or when the body of the scope is over.
//@ verdict: race
//@ object: heap
#[test]
fn a_body_that_counts_on_its_task() {
    let mut value = Box::new(0u64);
    let shared = Shared(&mut *value);
    let ready = AtomicBool::new(false);
    let mut seen = 0;
    rayon::scope(|s| {
        s.spawn(|_| {
            unsafe { *shared.at() = 1 }; //~ race write
            ready.store(true, Release);
        });
        let _ = ready.load(Acquire);
        seen = unsafe { *shared.at() }; //~ race read
    });
    assert!(seen < 2);
}

/// The repair of both: what is not ready is not touched.
//@ verdict: certified-order
//@ determinacy: atomic-ordered
#[test]
fn a_flag_that_is_asked() {
    let mut value = Box::new(0u64);
    let shared = Shared(&mut *value);
    let ready = AtomicBool::new(false);
    rayon::scope(|s| {
        s.spawn(|_| {
            unsafe { *shared.at() = 1 };
            ready.store(true, Release);
        });
        s.spawn(|_| {
            if ready.load(Acquire) {
                assert_eq!(unsafe { *shared.at() }, 1);
            }
        });
    });
}

/// A failure that another order shows is one of the program.
//@ verdict: trap
//@ determinacy: atomic-ordered
#[test]
fn an_assertion_about_the_order() {
    let ready = AtomicBool::new(false);
    rayon::join(
        || ready.store(true, Release),
        || assert!(ready.load(Acquire), "the left half has run"),
    );
}

/// Two tasks move one cursor by a load and a store. If one runs between the load and the store of the
/// other, both write the same slot.
//@ verdict: race
//@ object: heap
#[test]
fn a_cursor_that_is_moved_in_two_steps() {
    let mut slots = vec![0u64; 2];
    let shared = Shared(slots.as_mut_ptr());
    let next = AtomicUsize::new(0);
    let push = |value| {
        let slot = next.load(SeqCst);
        next.store(slot + 1, SeqCst);
        unsafe { *shared.at().add(slot) = value }; //~ race write
    };
    rayon::join(|| push(1), || push(2));
}

/// The repair.
//@ verdict: certified-order
//@ determinacy: atomic-ordered
#[test]
fn a_cursor_that_is_moved_in_one_step() {
    let mut slots = vec![0u64; 2];
    let shared = Shared(slots.as_mut_ptr());
    let next = AtomicUsize::new(0);
    let push = |value| {
        let slot = next.fetch_add(1, SeqCst);
        unsafe { *shared.at().add(slot) = value };
    };
    rayon::join(|| push(1), || push(2));
}

/// What is looked up under one lock may be out of date under the next.
//@ verdict: race
//@ object: heap
#[test]
fn a_slot_that_is_looked_up_and_taken_under_two_locks() {
    let mut slots = vec![0u64; 8];
    let shared = Shared(slots.as_mut_ptr());
    let taken = Mutex::new(0);
    (0..8).into_par_iter().for_each(|value| {
        let slot = *taken.lock().unwrap();
        *taken.lock().unwrap() = slot + 1;
        unsafe { *shared.at().add(slot) = value }; //~ race write
    });
}

/// The sender says that the task has begun, and not that it is done.
//@ verdict: race
//@ object: heap
#[test]
fn a_message_that_is_sent_too_early() {
    let value: &'static mut u64 = Box::leak(Box::new(0));
    let shared = Shared(value);
    let (sender, receiver) = std::sync::mpsc::channel();
    rayon::spawn(move || {
        sender.send(()).unwrap();
        unsafe { *shared.at() = 1 }; //~ race write
    });
    receiver.recv().unwrap();
    unsafe { *shared.at() = 2 }; //~ race write
}

/// A task that nobody waits for may come after all that its creator does.
//@ verdict: race
//@ object: heap
#[test]
fn a_task_that_nobody_waits_for() {
    let value: &'static mut u64 = Box::leak(Box::new(0));
    let shared = Shared(value);
    let done: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    rayon::spawn(move || {
        unsafe { *shared.at() = 1 }; //~ race write
        done.store(true, Release);
    });
    let _ = done.load(Acquire);
    unsafe { *shared.at() = 2 }; //~ race write
}

/// Dropping a sender counts senders down, which orders tasks in the order of the run.
//@ verdict: race
//@ object: heap
#[test]
fn senders_that_are_dropped() {
    let mut value = Box::new(0u64);
    let shared = Shared(&mut *value);
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    rayon::scope(|s| {
        for number in 0..4 {
            let (sender, shared) = (sender.clone(), &shared);
            s.spawn(move |_| {
                unsafe { *shared.at() = number }; //~ race write
                drop(sender);
            });
        }
    });
    drop(sender);
    assert!(receiver.recv().is_err());
}

/// The same with a sender for each piece of an iterator.
//@ verdict: race
//@ object: heap
#[test]
fn senders_of_an_iterator_that_are_dropped() {
    let mut value = Box::new(0u64);
    let shared = Shared(&mut *value);
    let (sender, receiver) = std::sync::mpsc::channel();
    (0..16u64)
        .into_par_iter()
        .for_each_with(sender, |sender, number| {
            unsafe { *shared.at() = number }; //~ race write
            sender.send(number).unwrap();
        });
    assert_eq!(receiver.iter().sum::<u64>(), 120);
}

/// Readers may be inside together, whether or not somebody else writes under the lock.
//@ verdict: race
//@ object: heap
#[test]
fn writes_under_read_guards_beside_writers() {
    let mut value = Box::new(0u64);
    let shared = Shared(&mut *value);
    let lock = RwLock::new(0);
    rayon::scope(|s| {
        for number in 0..6 {
            let (lock, shared) = (&lock, &shared);
            s.spawn(move |_| match number % 3 {
                2 => *lock.write().unwrap() += 1,
                _ => {
                    let _guard = lock.read().unwrap();
                    unsafe { *shared.at() += 1 }; //~ race write read
                }
            });
        }
    });
}

/// Readers that only read, and writers that write.
//@ verdict: certified-order
//@ determinacy: lock-ordered
#[test]
fn readers_that_read_beside_writers() {
    let lock = RwLock::new(0);
    let total: u64 = (0..12u64)
        .into_par_iter()
        .map(|number| match number % 3 {
            2 => {
                *lock.write().unwrap() += 1;
                0
            }
            _ => *lock.read().unwrap(),
        })
        .sum();
    assert!(total <= 32);
}

/// The items of one piece share a state. If each item is a piece, the state is never used again.
//@ verdict: race
//@ object: heap
#[test]
fn a_state_that_several_items_share() {
    let mut value = Box::new(0u64);
    let shared = Shared(&mut *value);
    let pieces = (0..256u64).into_par_iter().fold(
        || 0,
        |before, item| {
            if before == 1 {
                unsafe { *shared.at() = item }; //~ race write
            }
            before + 1
        },
    );
    assert_eq!(pieces.sum::<u64>(), 256);
}

/// Each state has a place of its own.
//@ verdict: certified
#[test]
fn a_state_that_keeps_what_it_has_seen() {
    let pieces = (0..256u64)
        .into_par_iter()
        .fold(Vec::new, |mut seen, item| {
            seen.push(item);
            seen
        });
    assert_eq!(pieces.map(|seen| seen.len()).sum::<usize>(), 256);
}

/// What the flag says is that the block is gone. In the usual order it is asked too early.
//@ verdict: trap
//@ determinacy: atomic-ordered
#[test]
fn a_block_that_is_used_when_it_was_freed() {
    let value = Box::into_raw(Box::new(7u64));
    let shared = Shared(value);
    let gone = AtomicBool::new(false);
    rayon::join(
        || {
            if gone.load(Acquire) {
                unsafe { *shared.at() = 8 }; //~ after-free write
            }
        },
        || {
            drop(unsafe { Box::from_raw(shared.at()) }); //~ after-free free
            gone.store(true, Release);
        },
    );
}

/// The only thread of a pool runs the left half first in every schedule.
//@ verdict: certified-order
//@ determinacy: atomic-ordered
#[test]
fn a_pool_of_one_thread() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let left_is_over = AtomicBool::new(false);
    pool.unwrap().install(|| {
        rayon::join(
            || left_is_over.store(true, SeqCst),
            || assert!(left_is_over.load(SeqCst)),
        )
    });
}
