//! `broadcast`: one task per thread of a pool, each on its own thread.
//!
//! A broadcast that its caller waits for is a finish with one task for each thread. A spawned
//! broadcast is a task with such a finish inside. So the closure that all tasks share is dropped
//! after the last task.
//!
//! Panics: all threads run the closure to its end. `broadcast` then passes on the panic of the
//! lowest index. A spawned broadcast hands each panic to the scope or to the pool's panic handler.

use crate::place;
use crate::pool::PoolRef;
use crate::runtime::{self, Finish, FinishKind, JoinOrder, TaskKind};
use crate::task::{self, Detached, Joined};
use std::fmt;
use std::marker::PhantomData;
use std::panic;
use std::thread;

/// Tells a closure that runs on every thread of a pool which thread it is on.
pub struct BroadcastContext<'a> {
    pool: &'a PoolRef,
    index: usize,
    /// The context belongs to one thread and one call. It can't be sent, shared or swapped with
    /// another.
    _marker: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    /// The index of this thread, from 0 to one less than [`num_threads`](Self::num_threads).
    #[inline]
    pub fn index(&self) -> usize {
        runtime::asks();
        self.index
    }

    /// The number of threads that run the closure.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.pool.num_threads()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .field("pool_id", &self.pool)
            .finish()
    }
}

/// Runs `op` once on every thread of the current pool, and returns the results by index.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    broadcast_in(&PoolRef::current(), op)
}

/// Spawns a task that runs `op` once on every thread of the current pool.
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    spawn_broadcast_in(&PoolRef::current(), op);
}

pub(crate) fn broadcast_in<OP, R>(pool: &PoolRef, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let outcomes = on_every_thread(pool, &op);
    let results: thread::Result<Vec<R>> = outcomes.into_iter().collect();
    results.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

pub(crate) fn spawn_broadcast_in<OP>(pool: &PoolRef, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let of_tasks = pool.clone();
    detach_broadcast(pool, Finish::PROGRAM, move |context| {
        if let Err(payload) = task::catch(|| op(context)) {
            of_tasks.handle_panic(payload);
        }
    });
}

/// Spawns a task that runs `op` on every thread. `op` must not unwind.
pub(crate) fn detach_broadcast(pool: &PoolRef, finish: Finish, op: impl Fn(BroadcastContext<'_>)) {
    let of_task = pool.clone();
    let task = Detached::new(move || {
        on_every_thread(&of_task, &op);
    });
    task.run(TaskKind::SpawnBroadcast, finish);
}

fn on_every_thread<R>(
    pool: &PoolRef,
    op: &impl Fn(BroadcastContext<'_>) -> R,
) -> Vec<thread::Result<R>> {
    let mut tasks: Vec<_> = (0..pool.num_threads())
        .map(|index| {
            Joined::new(move || {
                op(BroadcastContext {
                    pool,
                    index,
                    _marker: PhantomData,
                })
            })
        })
        .collect();
    let finish = Finish::begin(FinishKind::Broadcast);
    let last_first = JoinOrder::ask().right_first();
    for turn in 0..tasks.len() {
        let index = match last_first {
            true => tasks.len() - 1 - turn,
            false => turn,
        };
        let task = &mut tasks[index];
        place::on_thread(pool, index, || task.run(TaskKind::Broadcast, finish));
    }
    finish.end();
    tasks.into_iter().map(Joined::into_outcome).collect()
}
