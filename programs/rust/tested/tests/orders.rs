//! Tests in which atomics order tasks. Whether they do depends on which task comes first, so each is
//! run in several orders.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

struct Shared<T>(*mut T);

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
