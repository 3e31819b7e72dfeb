//! `spawn`: a task that nothing waits for but the end of the program.
//!
//! Its panic goes to the pool's panic handler. Without one the process is aborted, as with rayon.

use crate::place;
use crate::pool::PoolRef;
use crate::runtime::{Finish, TaskKind};
use crate::task::{self, Detached};

/// Spawns a task into the current pool.
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_in(&PoolRef::current(), TaskKind::Spawn, func);
}

/// Like [`spawn`], for tasks that a thread should take in the order in which it spawned them.
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_in(&PoolRef::current(), TaskKind::SpawnFifo, func);
}

pub(crate) fn spawn_in<F>(pool: &PoolRef, kind: TaskKind, func: F)
where
    F: FnOnce() + Send + 'static,
{
    let of_task = pool.clone();
    let task = Detached::new(move || {
        if let Err(payload) = task::catch(func) {
            of_task.handle_panic(payload);
        }
    });
    place::on_another_thread(pool, || task.run(kind, Finish::PROGRAM));
}
