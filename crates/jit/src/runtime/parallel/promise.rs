//! The mark of a promise, which strands wait for.
//!
//! ```text
//! 0           empty, and nobody waits
//! positive    set
//! negative    empty, and strands wait: the lower bits are the address of the latest one
//! ```
//!
//! A strand that waits puts itself in front of the list by a compare-and-swap. `set` takes the
//! whole list by another one.
//!
//! **Memory ordering.** `set` releases the value, and acquires the strands of the list. A strand
//! that finds the promise set acquires the value. A strand that waits releases itself. Each change
//! of the mark is a read-modify-write, so who takes the list acquires all strands in it. Compiled
//! code loads the mark before the value, and the processor keeps this order.

use crate::atomics::{AtomicI64, AtomicU64, Ordering};
use std::ptr::{NonNull, null_mut, with_exposed_provenance_mut};

#[repr(transparent)]
#[derive(Default)]
pub(super) struct Mark(AtomicI64);

/// The mark of a promise that is waited for, with this one in front.
fn waited_for_by<S>(strand: NonNull<S>) -> i64 {
    i64::MIN | strand.as_ptr().expose_provenance() as i64
}

/// The strand in front of those that wait, by the mark.
fn front<S>(mark: i64) -> *mut S {
    match mark < 0 {
        true => with_exposed_provenance_mut((mark & i64::MAX) as usize),
        false => null_mut(),
    }
}

impl Mark {
    /// The mark of a set promise, if it is.
    pub(super) fn of_set(&self) -> Option<i64> {
        let mark = self.0.load(Ordering::Relaxed);
        (mark > 0).then_some(mark)
    }

    /// Sets a promise whose value has this place. Returns the strands that wait, which belong to
    /// the caller now, or the mark of a promise that is set already.
    pub(super) fn set<S>(&self, place: &AtomicU64, value: u64, mark: i64) -> Result<*mut S, i64> {
        let mut before = self.0.load(Ordering::Relaxed);
        loop {
            if before > 0 {
                return Err(before);
            }
            // If another task sets it at the same time, the program fails, whatever the value.
            place.store(value, Ordering::Relaxed);
            let set =
                self.0
                    .compare_exchange_weak(before, mark, Ordering::AcqRel, Ordering::Relaxed);
            match set {
                Ok(_) => return Ok(front(before)),
                Err(now) => before = now,
            }
        }
    }

    /// Puts a strand into the list of those that wait, behind which `link` links the others. Then
    /// it belongs to who sets the promise. False if the promise is set.
    pub(super) fn wait<S>(&self, strand: NonNull<S>, mut link: impl FnMut(*mut S)) -> bool {
        let mut before = self.0.load(Ordering::Acquire);
        while before <= 0 {
            link(front(before));
            let new = waited_for_by(strand);
            let listed =
                self.0
                    .compare_exchange_weak(before, new, Ordering::Release, Ordering::Acquire);
            match listed {
                Ok(_) => return true,
                Err(now) => before = now,
            }
        }
        false
    }
}
