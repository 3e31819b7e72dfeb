//! The numbers of steps that own the objects that they make.
//!
//! [`phases`](super::phases) says what owning is good for. Workers take numbers many at a time. A
//! phase has greater numbers than those before it, so that an object tells whether its owner is of
//! the present phase.
//!
//! **Memory ordering.** All operations are relaxed. Numbers are unique because they are taken by a
//! read-modify-write. The first number of a phase is written by a task that is alone, before it
//! hands over the other tasks of the phase.

use super::phases::Owner;
use crate::atomics::{AtomicU32, Ordering};

/// What all workers share.
pub(super) struct Owners {
    next: AtomicU32,
    /// The first one of the phase.
    first: AtomicU32,
}

/// Those that a worker has taken.
pub(super) struct OwnOwners {
    next: u32,
    end: u32,
}

const AT_ONCE: u32 = 64;

impl Owners {
    pub(super) fn new() -> Owners {
        Owners {
            next: AtomicU32::new(Owner::FIRST),
            first: AtomicU32::new(Owner::FIRST),
        }
    }

    /// A phase begins. Of a task that is alone.
    pub(super) fn begin_phase(&self) {
        let next = self.next.load(Ordering::Relaxed);
        self.first.store(next, Ordering::Relaxed);
    }

    /// The first one of the phase.
    #[inline]
    pub(super) fn first(&self) -> Owner {
        Owner::new(self.first.load(Ordering::Relaxed))
    }
}

impl OwnOwners {
    pub(super) fn none() -> OwnOwners {
        OwnOwners { next: 0, end: 0 }
    }

    /// An owner that nobody was. Nobody, if there were too many.
    pub(super) fn take(&mut self, all: &Owners) -> Owner {
        if self.next == self.end || self.next < all.first().number() {
            // Beyond the end no more are taken, so the number does not wrap around.
            if all.next.load(Ordering::Relaxed) >= Owner::NOBODY.number() {
                return Owner::NOBODY;
            }
            self.next = all.next.fetch_add(AT_ONCE, Ordering::Relaxed);
            self.end = self.next + AT_ONCE;
        }
        self.next += 1;
        Owner::new(self.next - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_distinct_and_a_phase_has_its_own() {
        let all = Owners::new();
        let mut workers = [OwnOwners::none(), OwnOwners::none()];
        let mut owners = Vec::new();
        for round in 0..200 {
            if round % 50 == 0 {
                all.begin_phase();
            }
            let owner = workers[round % 2].take(&all);
            assert!(owner >= all.first() && !owners.contains(&owner));
            owners.push(owner);
        }
    }

    #[test]
    fn when_numbers_end_nobody_owns() {
        let all = Owners::new();
        all.next
            .store(Owner::NOBODY.number() - 1, Ordering::Relaxed);
        let mut worker = OwnOwners::none();
        assert_ne!(worker.take(&all), Owner::NOBODY);
        for _ in 0..2 * AT_ONCE {
            assert_eq!(worker.take(&all), Owner::NOBODY);
        }
    }
}
