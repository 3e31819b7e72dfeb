//! Which logical thread of which pool the running task is on.
//!
//! Everything runs on the caller's thread. Pools have *logical* threads. A place is a pool and one
//! of its threads. It is kept per thread, and every logical thread has a real one that it lends its
//! place ([`crate::lender`]). Within one task the place never changes. Outside of all pools there
//! is no place, and `current_thread_index` is `None`, as in rayon.
//!
//! **A visit** is a closure that runs on another thread. It is called through a pointer to a
//! function, since code on both sides of a change of threads must not be compiled as one: it could
//! take the variables of one thread for those of the other. A panic is caught before the thread
//! changes back, because threads count their panics.
//!
//! **Which thread a task is on.** The choice is a schedule that rayon could have made: the one in
//! which every task that can be stolen is stolen. The left half of a join stays on its parent's
//! thread. The right half and everything spawned goes to another thread. Threads are taken in turn,
//! skipping those of suspended tasks. So a body may hold on to its thread's scratch memory while it
//! spawns. It never meets a child on the same thread, and neither could it in rayon. When all
//! threads are taken (deep nesting), the next in turn is used: rayon's threads, too, take on other
//! tasks while they wait. A thread whose task was interrupted ([`crate::awaiting`]) waits for
//! nothing, and takes on none.
//!
//! **What that means for what a program keeps by thread.** Two tasks on the same thread run one
//! after the other in every schedule that has them there. But no event orders them here. Spreading
//! tasks over all threads keeps such pairs rare. A single thread would also hide real races,
//! because all tasks would seem to share it. Broadcasts are exact: task `i` is on thread `i`.
//!
//! Nothing here may be inlined into instrumented code (`runtime.rs` says why), except the closures
//! of visits. Counters are relaxed: they balance the choice of threads and publish nothing.

use crate::division;
use crate::lender::{Lender, Settings};
use crate::pool::{Pool, PoolRef};
use crate::runtime::{self, Body, CreatedTask};
use crate::task::Joined;
use std::cell::Cell;
use std::ffi::c_void;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

thread_local! {
    static HERE: Cell<Option<PoolThread>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct PoolThread {
    /// Kept alive by the visit that entered the pool.
    pool: *const Pool,
    thread: usize,
}

/// A logical thread.
#[derive(Debug, Default)]
struct LogicalThread {
    visits: AtomicUsize,
    /// How many tasks on it have been interrupted.
    held: AtomicUsize,
    lender: Lender,
}

impl LogicalThread {
    fn is_held(&self) -> bool {
        self.held.load(Relaxed) > 0
    }
}

/// The logical threads of a pool.
#[derive(Debug)]
pub(crate) struct Threads {
    all: Vec<LogicalThread>,
    next: AtomicUsize,
    /// The first visit has come.
    visited: AtomicBool,
}

impl Threads {
    pub(crate) fn new(count: usize) -> Threads {
        Threads {
            all: (0..count).map(|_| LogicalThread::default()).collect(),
            next: AtomicUsize::new(0),
            visited: AtomicBool::new(false),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn lender(&self, thread: usize) -> &Lender {
        &self.all[thread].lender
    }

    /// Thread `thread` exists only for visits.
    pub(crate) fn adopt(&self, thread: usize, settings: Settings) {
        self.lender(thread).adopt(settings);
    }

    /// Begins the threads, if this is the first visit. Mostly nothing is parallel yet. Later, what
    /// is allocated for a thread could take the place of a block that a task has freed and another
    /// one still uses. A pool of many threads begins the others one by one.
    fn begin(&self) {
        const AT_ONCE: usize = 256;

        if !self.visited.swap(true, Relaxed) {
            for thread in self.all.iter().take(AT_ONCE) {
                thread.lender.thread();
            }
        }
    }

    /// Ends the threads. Those that are visited right now end later.
    pub(crate) fn end(&self) {
        for thread in &self.all {
            thread.lender.end();
        }
    }

    /// The threads in turn, some of them, because pools may have thousands.
    fn in_turn(&self) -> impl Iterator<Item = usize> {
        const LOOK_AT: usize = 64;

        let count = self.count();
        let turn = self.next.load(Relaxed);
        (0..count.min(LOOK_AT)).map(move |step| turn.wrapping_add(step) % count)
    }

    /// The next thread in turn without a visitor.
    fn free(&self) -> Option<usize> {
        let is_free = |thread: &usize| self.all[*thread].visits.load(Relaxed) == 0;
        let free = self.in_turn().find(is_free)?;
        self.next.store(free + 1, Relaxed);
        Some(free)
    }

    /// The next thread in turn without a visitor, or else the next that is not `current` and not
    /// held.
    fn choose(&self, current: Option<usize>) -> usize {
        self.free().unwrap_or_else(|| {
            let is_other =
                |thread: &usize| Some(*thread) != current && !self.all[*thread].is_held();
            let chosen = self.in_turn().find(is_other).or(current).unwrap_or(0);
            self.next.store(chosen + 1, Relaxed);
            chosen
        })
    }
}

/// Runs `closure` on thread `thread` of `pool`.
pub(crate) fn on_thread<R>(pool: &PoolRef, thread: usize, closure: impl FnOnce() -> R) -> R {
    let mut joined = Joined::new(closure);
    let (body, data) = joined.body();
    // SAFETY: called once, and it does not unwind.
    unsafe { visit(pool, thread, body, data) }
    match joined.into_outcome() {
        Ok(result) => result,
        Err(payload) => panic::resume_unwind(payload),
    }
}

/// Runs `closure` on another thread of `pool` than the current one, if the pool has several.
pub(crate) fn on_another_thread<R>(pool: &PoolRef, closure: impl FnOnce() -> R) -> R {
    on_thread(pool, another_thread(pool), closure)
}

/// Runs `closure` on a thread of `pool`: here, if the running task is in the pool, and otherwise on
/// a thread that is chosen. The closure learns whether it comes from outside.
pub(crate) fn inside<R>(pool: &PoolRef, closure: impl FnOnce(bool) -> R) -> R {
    match index_in(pool) {
        Some(_) => closure(false),
        None => on_another_thread(pool, || closure(true)),
    }
}

#[inline(never)]
pub(crate) fn another_thread(pool: &PoolRef) -> usize {
    pool.threads().choose(index_in(pool))
}

/// Runs `body(data)` as this task on thread `thread` of `pool`.
///
/// # Safety
///
/// `body` must be sound to call once with `data`, and must not unwind. A task is run once.
#[inline(never)]
pub(crate) unsafe fn run_on(
    pool: &PoolRef,
    thread: usize,
    task: CreatedTask,
    body: Body,
    data: *mut c_void,
) {
    struct Run {
        task: CreatedTask,
        body: Body,
        data: *mut c_void,
    }

    unsafe extern "C" fn run(data: *mut c_void) {
        // SAFETY: `run_on` passes its own, and waits.
        let run = unsafe { &*data.cast::<Run>() };
        // SAFETY: the caller of `run_on` vouches for them.
        unsafe { run.task.run(run.body, run.data) }
    }

    let mut run_data = Run { task, body, data };
    // SAFETY: `run` gets what it expects, and does not unwind.
    unsafe { visit(pool, thread, run, (&raw mut run_data).cast()) }
}

/// Calls `begin` with a thread of `pool` that a task can be on while the running one is in the
/// midst of something: `thread`, or one on which nothing is under way. Answers whether there is
/// one.
#[inline(never)]
pub(crate) fn interrupting(
    pool: &PoolRef,
    thread: Option<usize>,
    begin: impl FnOnce(usize),
) -> bool {
    let here = HERE.get();
    let elsewhere = |here: PoolThread| !std::ptr::eq(here.pool, pool.as_ptr());
    if here.is_some_and(elsewhere) {
        return false;
    }
    let threads = pool.threads();
    let here = here.map(|here| &threads.all[here.thread].held);
    if let Some(here) = here {
        here.fetch_add(1, Relaxed);
    }
    let chosen = match thread {
        Some(thread) => Some(thread).filter(|&thread| !threads.all[thread].is_held()),
        None => threads.free(),
    };
    if let Some(chosen) = chosen {
        begin(chosen);
    }
    if let Some(here) = here {
        here.fetch_sub(1, Relaxed);
    }
    chosen.is_some()
}

/// Calls `body(data)` on thread `thread` of `pool`.
///
/// # Safety
///
/// `body` must be sound to call once with `data`, and must not unwind.
#[inline(never)]
unsafe fn visit(pool: &PoolRef, thread: usize, body: Body, data: *mut c_void) {
    struct Visit {
        place: PoolThread,
        level: u32,
        body: Body,
        data: *mut c_void,
    }

    unsafe extern "C" fn arrive(data: *mut c_void) {
        // SAFETY: `visit` passes its own, and waits.
        let visit = unsafe { &*data.cast::<Visit>() };
        let before = HERE.replace(Some(visit.place));
        let level = division::replace_level(visit.level);
        // SAFETY: the caller of `visit` vouches for them.
        unsafe { (visit.body)(visit.data) };
        division::replace_level(level);
        HERE.set(before);
    }

    pool.threads().begin();
    let logical = &pool.threads().all[thread];
    logical.visits.fetch_add(1, Relaxed);
    let place = PoolThread {
        pool: pool.as_ptr(),
        thread,
    };
    let mut arrival = Visit {
        place,
        level: division::level(),
        body,
        data,
    };
    // SAFETY: `arrive` gets the visit that it expects, and does not unwind.
    unsafe { (logical.lender.thread()).visit(arrive, (&raw mut arrival).cast()) };
    logical.visits.fetch_sub(1, Relaxed);
}

/// Makes the calling thread the first thread of `pool` for good, unless it is on one already.
pub(crate) fn settle(pool: &PoolRef) -> bool {
    if HERE.get().is_some() {
        return false;
    }
    let first = &pool.threads().all[0];
    first.visits.fetch_add(1, Relaxed);
    first.lender.settle();
    HERE.set(Some(PoolThread {
        pool: pool.as_ptr(),
        thread: 0,
    }));
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

/// The index of the running task's thread in its pool, for the program.
#[inline(never)]
pub(crate) fn told_index() -> Option<usize> {
    runtime::asks();
    HERE.get().map(|place| place.thread)
}

/// The index of the running task's thread, if it is one of `pool`, for the program.
#[inline(never)]
pub(crate) fn told_index_in(pool: &PoolRef) -> Option<usize> {
    runtime::asks();
    index_in(pool)
}

/// Whether the running task is in a pool.
#[inline(never)]
pub(crate) fn is_in_pool() -> bool {
    HERE.get().is_some()
}

/// The index of the running task's thread, if it is one of `pool`.
#[inline(never)]
pub(crate) fn index_in(pool: &PoolRef) -> Option<usize> {
    let place = HERE.get()?;
    std::ptr::eq(place.pool, pool.as_ptr()).then_some(place.thread)
}
