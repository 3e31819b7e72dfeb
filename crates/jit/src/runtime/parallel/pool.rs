//! Things that many tasks need one after the other: records of tasks, finishes, strands.
//!
//! A worker keeps a few idle ones, so that taking one and giving it back touches nothing shared. A
//! worker that gets more of them than it needs leaves some for the others. Nothing is freed before
//! the run ends, so addresses stay valid.

use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// All things of a sort, and the idle ones that no worker keeps.
pub(super) struct Depot<T> {
    all: Mutex<Vec<NonNull<T>>>,
    idle: Mutex<Vec<NonNull<T>>>,
}

// SAFETY: the depot hands out addresses. Whoever has taken a thing has it for itself.
unsafe impl<T: Send> Sync for Depot<T> {}

/// How many idle things a worker keeps at most, and how many it leaves or takes at a time.
const KEPT: usize = 64;
const AT_ONCE: usize = KEPT / 2;

impl<T> Depot<T> {
    pub(super) const fn new() -> Depot<T> {
        Depot {
            all: Mutex::new(Vec::new()),
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Visits all things, idle or not. Nobody may be using them.
    pub(super) fn each(&self, mut visit: impl FnMut(&T)) {
        for thing in locked(&self.all).iter() {
            // SAFETY: things are never freed before the depot is, and nobody uses them now.
            visit(unsafe { thing.as_ref() });
        }
    }

    fn add(&self, thing: T) -> Option<NonNull<T>> {
        let mut all = locked(&self.all);
        all.try_reserve(1).ok()?;
        let thing = NonNull::from(Box::leak(Box::new(thing)));
        all.push(thing);
        Some(thing)
    }
}

impl<T> Drop for Depot<T> {
    fn drop(&mut self) {
        for thing in locked(&self.all).drain(..) {
            // SAFETY: made by `add`, and freed here alone.
            drop(unsafe { Box::from_raw(thing.as_ptr()) });
        }
    }
}

/// The idle things that a worker keeps.
pub(super) struct Pool<'a, T> {
    depot: &'a Depot<T>,
    idle: Vec<NonNull<T>>,
}

impl<'a, T> Pool<'a, T> {
    pub(super) fn new(depot: &'a Depot<T>) -> Pool<'a, T> {
        Pool {
            depot,
            idle: Vec::with_capacity(KEPT + 1),
        }
    }

    /// An idle thing, or a new one. None if there is no memory for it.
    #[inline]
    pub(super) fn take(&mut self, make: impl FnOnce() -> Option<T>) -> Option<NonNull<T>> {
        match self.idle.pop() {
            Some(thing) => Some(thing),
            None => self.take_from_depot(make),
        }
    }

    /// Sees to it that an idle thing is there. False if there is no memory for it.
    #[inline]
    pub(super) fn reserve(&mut self, make: impl FnOnce() -> T) -> bool {
        if self.idle.is_empty()
            && let Some(thing) = self.take_from_depot(|| Some(make()))
        {
            self.idle.push(thing);
        }
        !self.idle.is_empty()
    }

    #[cold]
    fn take_from_depot(&mut self, make: impl FnOnce() -> Option<T>) -> Option<NonNull<T>> {
        let mut left = locked(&self.depot.idle);
        let from = left.len().saturating_sub(AT_ONCE);
        self.idle.extend(left.drain(from..));
        drop(left);
        match self.idle.pop() {
            Some(thing) => Some(thing),
            None => self.depot.add(make()?),
        }
    }

    /// Gives a thing back that nobody uses any more.
    #[inline]
    pub(super) fn give_back(&mut self, thing: NonNull<T>) {
        self.idle.push(thing);
        if self.idle.len() > KEPT {
            self.leave_some();
        }
    }

    #[cold]
    fn leave_some(&mut self) {
        let kept = self.idle.len() - AT_ONCE;
        locked(&self.depot.idle).extend(self.idle.drain(kept..));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic leaves is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_worker_gives_back_another_one_takes() {
        let depot = Depot::new();
        let (mut maker, mut user) = (Pool::new(&depot), Pool::new(&depot));
        for number in 0..10_000 {
            let thing = maker.take(|| Some(number)).unwrap();
            user.give_back(thing);
        }
        let mut all = 0;
        depot.each(|_| all += 1);
        assert!(all <= 2 * KEPT, "{all}");
    }

    #[test]
    fn what_is_taken_is_taken_once() {
        let depot = Depot::new();
        let mut pool = Pool::new(&depot);
        let mut taken: Vec<_> = (0..1000).map(|n| pool.take(|| Some(n)).unwrap()).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 1000);
        for thing in taken.drain(..) {
            pool.give_back(thing);
        }
        taken.extend((0..1000).map(|_| pool.take(|| None).unwrap()));
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 1000);
        assert_eq!(pool.take(|| None), None);
    }
}
