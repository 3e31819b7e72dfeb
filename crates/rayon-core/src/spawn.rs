//! `spawn`: a task that nothing waits for but the end of the program.
//!
//! Its panic goes to the pool's panic handler. Without one the process is aborted, as with rayon.
//!
//! In some orders the runtime puts tasks off. Such a task begins in the midst of another one, or
//! where its creator's thread waits or ends, or when its pool is dropped.

use crate::place;
use crate::pool::{lock, PoolRef};
use crate::runtime::{CreatedTask, Finish, TaskKind};
use crate::task::{self, Detached};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;

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
    start(pool, kind, task);
}

#[inline(never)]
fn start(pool: &PoolRef, kind: TaskKind, body: Detached) {
    match CreatedTask::deferred(kind, Finish::PROGRAM) {
        Some(task) => put_off(pool, task, body),
        None => place::on_another_thread(pool, || body.run(kind, Finish::PROGRAM)),
    }
}

struct PutOff {
    task: CreatedTask,
    pool: PoolRef,
    body: Detached,
}

static PUT_OFF: Mutex<Vec<PutOff>> = Mutex::new(Vec::new());

/// Takes the first task out that is asked for.
fn take(is_it: impl Fn(&PutOff) -> bool) -> Option<PutOff> {
    let mut all = lock(&PUT_OFF);
    let at = all.iter().position(is_it)?;
    Some(all.remove(at))
}

fn put_off(pool: &PoolRef, task: CreatedTask, body: Detached) {
    unsafe extern "C" fn begin(task: CreatedTask, _: *mut c_void) -> u32 {
        let pool = lock(&PUT_OFF)
            .iter()
            .find_map(|other| (other.task == task).then(|| other.pool.clone()));
        let begun = pool.is_some_and(|pool| {
            place::interrupting(&pool, None, |thread| {
                if let Some(it) = take(|other| other.task == task) {
                    it.body.run_on(&pool, thread, task);
                }
            })
        });
        u32::from(begun)
    }
    let pool = pool.clone();
    lock(&PUT_OFF).push(PutOff { task, pool, body });
    // SAFETY: `begin` uses no data, and runs only tasks that are there. Bodies of tasks don't
    // unwind.
    unsafe { task.offer(begin, null_mut()) }
}

/// Runs the tasks of a pool that were put off: its threads end when they have nothing to do.
#[inline(never)]
pub(crate) fn catch_up(pool: &PoolRef) {
    while let Some(it) = take(|other| other.pool.as_ptr() == pool.as_ptr()) {
        it.task.withdraw();
        it.body.run_on(pool, place::another_thread(pool), it.task);
    }
}
