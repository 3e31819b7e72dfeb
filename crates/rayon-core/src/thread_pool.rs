//! [`ThreadPool`], and what a task may ask about the thread it is on.
//!
//! A pool's work runs on the thread that asks for it, so `install` is a call. Everything that was
//! spawned before a task has run when the task runs. Hence yielding finds nothing to do, and no
//! task is ever pending. A program that yields until its *parent* or a later sibling has done
//! something waits for ever in this order. The runtime must notice that.

use crate::broadcast::{self, BroadcastContext};
#[allow(deprecated)]
use crate::configuration::Configuration;
use crate::join::join;
use crate::place;
use crate::pool::PoolRef;
use crate::runtime::TaskKind;
use crate::scope::{self, scope, scope_fifo, Scope, ScopeFifo};
use crate::spawn;
use std::error::Error;
use std::fmt;

/// A pool of logical threads, separate from the global one.
pub struct ThreadPool {
    pool: PoolRef,
}

/// The result of [`yield_now`] and [`yield_local`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A task was run. This never happens here, because no task ever waits.
    Executed,
    /// No task was found.
    Idle,
}

impl ThreadPool {
    /// See [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        configuration.build()
    }

    pub(crate) fn from_ref(pool: PoolRef) -> ThreadPool {
        ThreadPool { pool }
    }

    /// Runs `op` inside of the pool. Tasks that it creates belong to the pool.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        place::inside(&self.pool, |_| op())
    }

    /// [`broadcast`](crate::broadcast()) to this pool.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_in(&self.pool, op)
    }

    /// The pool's number of threads.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.pool.num_threads()
    }

    /// The index of the thread that the running task is on, if it is one of this pool.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        place::told_index_in(&self.pool)
    }

    /// Whether tasks wait for the running task's thread, if that thread is in this pool. Always
    /// false.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        place::index_in(&self.pool).map(|_| false)
    }

    /// [`join`] in this pool.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(oper_a, oper_b))
    }

    /// [`scope`](crate::scope()) in this pool.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(op))
    }

    /// [`scope_fifo`] in this pool.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(op))
    }

    /// [`in_place_scope`](crate::in_place_scope), with the tasks in this pool.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place_scope_of(self.pool.clone(), op)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo), with the tasks in this pool.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope::in_place_scope_fifo_of(self.pool.clone(), op)
    }

    /// [`spawn`](crate::spawn()) into this pool.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_in(&self.pool, TaskKind::Spawn, op);
    }

    /// [`spawn_fifo`](crate::spawn_fifo) into this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_in(&self.pool, TaskKind::SpawnFifo, op);
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) to this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        broadcast::spawn_broadcast_in(&self.pool, op);
    }

    /// [`yield_now`], if the running task is in this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        place::index_in(&self.pool).map(|_| Yield::Idle)
    }

    /// [`yield_local`], if the running task is in this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        place::index_in(&self.pool).map(|_| Yield::Idle)
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.pool.terminate();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("id", &self.pool)
            .finish()
    }
}

/// The number of threads of the pool that the running task is in, or else of the global pool.
pub fn current_num_threads() -> usize {
    PoolRef::current().num_threads()
}

/// The index of the thread that the running task is on, if it is in a pool.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    place::told_index()
}

/// Whether tasks wait for the running task's thread, if it is in a pool. Always false.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    place::is_in_pool().then_some(false)
}

/// Looks for a task to run meanwhile, if the caller is in a pool.
pub fn yield_now() -> Option<Yield> {
    place::is_in_pool().then_some(Yield::Idle)
}

/// Looks for a task of this thread to run meanwhile, if the caller is in a pool.
pub fn yield_local() -> Option<Yield> {
    place::is_in_pool().then_some(Yield::Idle)
}
