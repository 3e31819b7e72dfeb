//! Takes the place of rayon's `iter/par_bridge.rs` in checked programs.
//!
//! rayon's own file lets the threads of the pool take items from the iterator in turns, under a
//! lock, and each uses up its item beside the others. Run depth-first, the first thread would take
//! them all. Here each item is a task. The items are taken by the code that creates the tasks. So
//! taking one is parallel to using up those before it, and is ordered with taking others, as under
//! the lock.
//!
//! As a task for each item takes memory, the drop-in limits how many there are (`division.rs`).
//! What the limit leaves is used up item by item by the creator, beside all tasks.
//!
//! Each task has ended before the next item is taken. So an iterator that waits for what becomes of
//! its items goes on here, and `find_any` on an endless one ends.

use crate::iter::plumbing::{Folder, Reducer, UnindexedConsumer};
use crate::iter::ParallelIterator;

/// Makes an iterator a parallel one.
pub trait ParallelBridge: Sized {
    /// The parallel iterator over the same items, in no certain order.
    fn par_bridge(self) -> IterBridge<Self>;
}

impl<T> ParallelBridge for T
where
    T: Iterator + Send,
    T::Item: Send,
{
    fn par_bridge(self) -> IterBridge<Self> {
        IterBridge { iter: self }
    }
}

/// A parallel iterator over the items of another iterator: see [`ParallelBridge`].
#[derive(Debug, Clone)]
pub struct IterBridge<Iter> {
    iter: Iter,
}

impl<Iter> ParallelIterator for IterBridge<Iter>
where
    Iter: Iterator + Send,
    Iter::Item: Send,
{
    type Item = Iter::Item;

    fn drive_unindexed<C>(self, consumer: C) -> C::Result
    where
        C: UnindexedConsumer<Self::Item>,
    {
        let mut items = self.iter.fuse();
        let mut results = Results(Vec::new());
        let of_tasks = &mut results;
        let reducers = consumer.split_off_left();
        let rest = rayon_core::scope_in_turn(move |scope| {
            while !consumer.full() && rayon_core::divides_further() {
                let Some(item) = items.next() else { break };
                let place = of_tasks.next();
                let part = consumer.split_off_left();
                scope.spawn(move |_| {
                    let result = part.into_folder().consume(item).complete();
                    // SAFETY: the place is there until the scope has ended, and nobody else looks
                    // at it before.
                    unsafe { place.fill(result) };
                });
            }
            let mut folder = consumer.into_folder();
            while !folder.full() {
                let Some(item) = items.next() else { break };
                folder = folder.consume(item);
            }
            folder.complete()
        });
        let reduce = |left, right| reducers.to_reducer().reduce(left, right);
        match results.reduce(&reduce) {
            Some(of_tasks) => reduce(of_tasks, rest),
            None => rest,
        }
    }
}

/// The results of tasks, in the order of their items.
struct Results<T>(Vec<Place<T>>);

impl<T> Results<T> {
    /// Where the next task leaves its result.
    fn next(&mut self) -> Place<T> {
        let place = Place(Box::into_raw(Box::new(None)));
        self.0.push(place);
        place
    }

    /// All results as one. The tasks have ended.
    fn reduce(mut self, reduce: impl Fn(T, T) -> T) -> Option<T> {
        // SAFETY: the places are those of boxes that nobody else frees: they are taken out.
        let boxes = self
            .0
            .drain(..)
            .map(|place| unsafe { Box::from_raw(place.0) });
        let results = boxes.filter_map(|result| *result);
        results.reduce(reduce)
    }
}

impl<T> Drop for Results<T> {
    fn drop(&mut self) {
        for place in self.0.drain(..) {
            // SAFETY: as in `reduce`.
            drop(unsafe { Box::from_raw(place.0) });
        }
    }
}

/// Where a task leaves its result.
struct Place<T>(*mut Option<T>);

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<T> {}

// SAFETY: one task uses the address, and what it leaves there can be sent.
unsafe impl<T: Send> Send for Place<T> {}

impl<T> Place<T> {
    /// # Safety
    ///
    /// The option must exist, and nobody else may use it meanwhile.
    unsafe fn fill(self, value: T) {
        // SAFETY: by contract.
        unsafe { *self.0 = Some(value) }
    }
}
