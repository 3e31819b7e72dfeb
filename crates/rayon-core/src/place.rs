//! Which logical thread of which pool the running task is on.
//!
//! Everything runs on the caller's thread. Pools have *logical* threads, which are numbers. A place
//! is a pool and one of its threads. It is kept per real thread and restored when a `Visit` ends,
//! so within one task the index never changes. Outside of all pools there is no place, and
//! `current_thread_index` is `None`, as in rayon.
//!
//! **Which thread a task is on.** The choice is a schedule that rayon could have made: the one in
//! which every task that can be stolen is stolen. The left half of a join stays on its parent's
//! thread. The right half and everything spawned goes to another thread. Threads are taken in turn,
//! skipping those of suspended tasks. So a body may hold on to its thread's scratch memory while it
//! spawns. It never meets a child on the same index, and neither could it in rayon. When all
//! threads are taken (deep nesting), the next in turn is used: rayon's threads, too, take on other
//! tasks while they wait.
//!
//! **What that means for scratch memory indexed by thread.** Two tasks with the same index run one
//! after the other in every schedule that gives them this index. But no event orders them here.
//! Slots that are atomic or guarded by locks need nothing more. Unguarded slots (`UnsafeCell`
//! indexed by `current_thread_index`) conflict between parallel tasks with the same index. The
//! drop-in cannot tell the runtime that their thread orders them. Spreading tasks over all indices
//! keeps such pairs rare. A constant index would also hide real races, because all tasks would seem
//! to share a thread. Broadcasts are exact: task `i` is on thread `i`.
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
    /// Kept alive by the visit that entered the pool.
    pool: *const Pool,
    thread: usize,
}

/// The logical threads of a pool, each with its number of visits.
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

    /// The next thread in turn without a visitor, or else the next that is not `current`.
    fn choose(&self, current: Option<usize>) -> usize {
        /// The search is limited, because pools may have thousands of threads.
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

/// A stay on a logical thread. Dropping it returns to the place before.
pub(crate) struct Visit<'pool> {
    pool: &'pool PoolRef,
    thread: usize,
    before: Option<PoolThread>,
    /// A visit belongs to the real thread on which it began.
    here: PhantomData<*const ()>,
}

impl<'pool> Visit<'pool> {
    /// Visits thread `thread` of `pool`.
    #[inline(never)]
    pub(crate) fn thread(pool: &'pool PoolRef, thread: usize) -> Visit<'pool> {
        Visit::begin(pool, thread)
    }

    /// Visits another thread of `pool` than the current one, if the pool has several.
    #[inline(never)]
    pub(crate) fn another_thread(pool: &'pool PoolRef) -> Visit<'pool> {
        Visit::begin(pool, pool.threads().choose(index_in(pool)))
    }

    /// Enters `pool`, unless the running task is in it already.
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
    // The thread stays there until it ends, and its place points to the pool.
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
