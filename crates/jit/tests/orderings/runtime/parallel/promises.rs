//! Promises: a strand that waits is woken by who sets the promise, and sees its value.

use super::promise::Mark;
use super::strand::Strand;
use crate::atomics::{AtomicU64, Ordering, explore};
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use std::sync::atomic::AtomicUsize;

const VALUE: u64 = 5;

struct Run<const STRANDS: usize> {
    mark: Mark,
    value: AtomicU64,
    strands: [Strand; STRANDS],
    /// Strands that went on.
    went_on: AtomicUsize,
}

// SAFETY: what is not atomic is of loom, which fails if two threads use it at the same time.
unsafe impl<const STRANDS: usize> Sync for Run<STRANDS> {}
// SAFETY: the pointers are into the strands of the run.
unsafe impl<const STRANDS: usize> Send for Run<STRANDS> {}

impl<const STRANDS: usize> Run<STRANDS> {
    fn new() -> Arc<Self> {
        Arc::new(Run {
            mark: Mark::default(),
            value: AtomicU64::default(),
            strands: [(); STRANDS].map(|()| Strand::new()),
            went_on: AtomicUsize::new(0),
        })
    }

    fn set(&self) {
        let mut waiting: *mut Strand = self.mark.set(&self.value, VALUE, 1).unwrap();
        while let Some(strand) = NonNull::new(waiting) {
            // SAFETY: strands live as long as the run. Loom fails if another thread uses one at the
            // same time, here and below.
            let strand = unsafe { strand.as_ref() };
            // SAFETY: as above.
            waiting = strand.next.with(|next| unsafe { *next });
            strand.resume();
            self.went_on.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn get(&self, strand: usize) {
        let strand = &self.strands[strand];
        strand.suspend();
        // SAFETY: as above.
        let link = |next| strand.next.with_mut(|it| unsafe { *it = next });
        if !self.mark.wait(NonNull::from(strand), link) {
            assert_eq!(self.value.load(Ordering::Relaxed), VALUE);
            strand.resume();
            self.went_on.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn every_strand_goes_on<const STRANDS: usize>() {
    explore(|| {
        let run = Run::<STRANDS>::new();
        let strands: [_; STRANDS] = std::array::from_fn(|strand| {
            let run = run.clone();
            thread::spawn(move || run.get(strand))
        });
        run.set();
        for strand in strands {
            strand.join().unwrap();
        }
        assert_eq!(run.went_on.load(Ordering::Relaxed), STRANDS);
    });
}

#[test]
fn a_strand_that_waits_goes_on_with_the_value() {
    every_strand_goes_on::<1>();
}

#[test]
fn all_strands_that_wait_go_on() {
    every_strand_goes_on::<2>();
}

#[test]
fn a_promise_is_set_once() {
    explore(|| {
        let run = Run::<1>::new();
        let other = run.clone();
        run.get(0);
        let setter = thread::spawn(move || other.mark.set::<Strand>(&other.value, VALUE, 1));
        let one = run.mark.set::<Strand>(&run.value, VALUE, 2);
        let another = setter.join().unwrap();
        match (one, another) {
            (Ok(waiting), Err(2)) | (Err(1), Ok(waiting)) => assert!(!waiting.is_null()),
            _ => panic!("{one:?} {another:?}"),
        }
    });
}
