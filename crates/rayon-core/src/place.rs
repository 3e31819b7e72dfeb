//! Which logical thread of which pool the running task is on.
//!
//! Everything runs on the caller's thread; pools have *logical* threads, which are numbers. A
//! place, a pool and one of its threads, is kept per real thread and restored when a `Visit` ends,
//! so within one task the index never changes. Outside of all pools there is no place, and
//! `current_thread_index` is `None`, as in rayon.
//!
//! **Which thread a task is on.** The choice is a schedule that rayon could have made, namely the
//! one in which every task that can be stolen is stolen: the left half of a join stays on its
//! parent's thread, while the right half and everything spawned goes to another one. Threads are
//! taken in turn, skipping those that a suspended task is on. So a body that holds on to the
//! scratch of its own thread while it spawns never meets a child on the same index, which could not
//! happen in rayon either. When all are taken (deep nesting), the next in turn serves: rayon's
//! threads, too, take on other tasks while they wait.
//!
//! **What that means for scratch memory indexed by thread.** Two tasks with the same index run one
//! after the other in every schedule in which they have it, but no event orders them here. Slots
//! that are guarded by locks or are atomic need nothing more. Unguarded slots (`UnsafeCell` indexed
//! by `current_thread_index`) conflict between any two tasks that are parallel and got the same
//! index, and the drop-in cannot tell the runtime that their thread orders them. Spreading tasks
//! over all indices keeps such pairs rare, and keeps real races between tasks visible that a
//! constant index would make look as if they shared a thread. Broadcasts are exact: task `i` is on
//! thread `i`.
//!
//! Nothing here may be inlined into instrumented code (`runtime.rs` says why). Counters are
//! relaxed: they balance the choice of indices and publish nothing.

use crate::pool::{Pool, PoolRef};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

thread_local! {
    static HERE: Cell<Option<PoolThread>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct PoolThread {
    /// The visit that entered the pool keeps it alive.
    pool: *const Pool,
    thread: usize,
}

/// The logical threads of a pool, with the number of visits that each has.
pub(crate) struct Threads {
    visits: Vec<AtomicUsize>,
    next: AtomicUsize,
}

impl Threads {
    pub(crate) fn new(count: usize) -> Threads {
        Threads {
            visits: (0..count).map(|_| AtomicUsize::new(0)).collect(),
            next: AtomicUsize::new(0),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.visits.len()
    }

    /// The next thread in turn that nobody is on, or else the next that is not `current`.
    fn choose(&self, current: Option<usize>) -> usize {
        /// Pools may be declared with thousands of threads.
        const LOOK_AT: usize = 64;

        let count = self.count();
        let turn = self.next.load(Relaxed);
        let in_turn = || (0..count.min(LOOK_AT)).map(|step| turn.wrapping_add(step) % count);
        let chosen = in_turn()
            .find(|&thread| self.visits[thread].load(Relaxed) == 0)
            .or_else(|| in_turn().find(|&thread| Some(thread) != current))
            .unwrap_or(0);
        self.next.store(chosen + 1, Relaxed);
        chosen
    }
}

/// A stay on a logical thread. Dropping it leads back to where the visitor was before.
pub(crate) struct Visit<'pool> {
    pool: &'pool PoolRef,
    thread: usize,
    before: Option<PoolThread>,
    /// A visit belongs to the real thread that it began on.
    here: PhantomData<*const ()>,
}

impl<'pool> Visit<'pool> {
    /// To thread `thread` of `pool`.
    #[inline(never)]
    pub(crate) fn thread(pool: &'pool PoolRef, thread: usize) -> Visit<'pool> {
        Visit::begin(pool, thread)
    }

    /// To a thread of `pool` other than the current one, if it has several.
    #[inline(never)]
    pub(crate) fn another_thread(pool: &'pool PoolRef) -> Visit<'pool> {
        Visit::begin(pool, pool.threads().choose(index_in(pool)))
    }

    /// To `pool`, unless the visitor is there already.
    #[inline(never)]
    pub(crate) fn pool(pool: &'pool PoolRef) -> Option<Visit<'pool>> {
        match index_in(pool) {
            Some(_) => None,
            None => Some(Visit::begin(pool, pool.threads().choose(None))),
        }
    }

    fn begin(pool: &'pool PoolRef, thread: usize) -> Visit<'pool> {
        pool.threads().visits[thread].fetch_add(1, Relaxed);
        let before = HERE.replace(Some(PoolThread {
            pool: pool.as_ptr(),
            thread,
        }));
        Visit {
            pool,
            thread,
            before,
            here: PhantomData,
        }
    }
}

impl Drop for Visit<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        HERE.set(self.before);
        self.pool.threads().visits[self.thread].fetch_sub(1, Relaxed);
    }
}

/// Makes the calling thread the first thread of `pool` for good, unless it is on one already.
pub(crate) fn settle(pool: &PoolRef) -> bool {
    if HERE.get().is_some() {
        return false;
    }
    std::mem::forget(Visit::thread(pool, 0));
    // The thread stays there until it ends, and the place points to the pool.
    std::mem::forget(pool.clone());
    true
}

/// The pool that the running task is in.
#[inline(never)]
pub(crate) fn current_pool() -> Option<PoolRef> {
    // SAFETY: the place was made from a `PoolRef` that the visit of the pool holds until the
    // visit ends.
    HERE.get()
        .map(|place| unsafe { PoolRef::again(place.pool) })
}

/// The index of the running task's thread in its pool.
#[inline(never)]
pub(crate) fn current_index() -> Option<usize> {
    HERE.get().map(|place| place.thread)
}

/// The index of the running task's thread, if it is one of `pool`.
#[inline(never)]
pub(crate) fn index_in(pool: &PoolRef) -> Option<usize> {
    let place = HERE.get()?;
    std::ptr::eq(place.pool, pool.as_ptr()).then_some(place.thread)
}
