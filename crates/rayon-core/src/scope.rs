//! `scope` and its kin: a finish that tasks are spawned into.
//!
//! A scope's body runs in the strand of its caller. Everything spawned into the scope is a task of
//! its finish, no matter which task or which inner scope spawns it. `scope` runs its body on a
//! thread of a pool, `in_place_scope` where it is called. FIFO concerns only the order among tasks,
//! which rayon does not guarantee. So FIFO scopes differ only by name here.
//!
//! Panics: the body and all tasks run to their end. Then the first panic is passed on, and the
//! others are dropped.

use crate::broadcast::{self, BroadcastContext};
use crate::place;
use crate::pool::PoolRef;
use crate::runtime::{CreatedTask, Finish, FinishKind, TaskKind};
use crate::task::{self, Detached};
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::panic;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Spawns tasks that end before the call of [`scope`] does, and may borrow what outlives it.
pub struct Scope<'scope> {
    base: ScopeBase<'scope>,
}

/// The scope of [`scope_fifo`]: see [`Scope`].
pub struct ScopeFifo<'scope> {
    base: ScopeBase<'scope>,
}

struct ScopeBase<'scope> {
    pool: PoolRef,
    finish: Finish,
    /// Tasks that run when the body has ended, the latest first, or in the midst of another task.
    deferred: Mutex<Vec<(CreatedTask, Detached)>>,
    /// Whether tasks may run so late.
    may_defer: bool,
    first_panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Tasks take the scope and live for `'scope`, so the lifetime must be invariant.
    #[allow(clippy::type_complexity)]
    marker: PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>,
}

/// Runs `op` on a thread of the current pool. Returns when all tasks that were spawned into the
/// scope have ended.
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    let pool = PoolRef::current();
    place::inside(&pool, |_| Scope::run(FinishKind::Scope, pool.clone(), op))
}

/// Like [`scope`], but each task has ended when its `spawn` returns, in every order. Tasks of an
/// iterator may be endlessly many, and the next one may wait for them.
#[doc(hidden)]
pub fn scope_in_turn<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    let pool = PoolRef::current();
    place::inside(&pool, |_| {
        let mut base = ScopeBase::open(FinishKind::Scope, pool.clone());
        base.may_defer = false;
        Scope::run_in(base, op)
    })
}

/// Like [`scope`], for tasks that a thread should take in the order in which it spawned them.
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    let pool = PoolRef::current();
    place::inside(&pool, |_| {
        ScopeFifo::run(FinishKind::ScopeFifo, pool.clone(), op)
    })
}

/// Like [`scope`], but `op` stays on the thread that calls.
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    in_place_scope_of(PoolRef::current(), op)
}

/// Like [`scope_fifo`], but `op` stays on the thread that calls.
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    in_place_scope_fifo_of(PoolRef::current(), op)
}

pub(crate) fn in_place_scope_of<'scope, OP, R>(pool: PoolRef, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    Scope::run(FinishKind::InPlaceScope, pool, op)
}

pub(crate) fn in_place_scope_fifo_of<'scope, OP, R>(pool: PoolRef, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    ScopeFifo::run(FinishKind::InPlaceScopeFifo, pool, op)
}

impl<'scope> Scope<'scope> {
    fn run<R>(kind: FinishKind, pool: PoolRef, op: impl FnOnce(&Scope<'scope>) -> R) -> R {
        Scope::run_in(ScopeBase::open(kind, pool), op)
    }

    fn run_in<R>(base: ScopeBase<'scope>, op: impl FnOnce(&Scope<'scope>) -> R) -> R {
        let scope = Scope { base };
        let result = scope.base.keep_panic(|| op(&scope));
        scope.base.close(result)
    }

    /// Spawns a task into the scope. It gets the scope itself, to spawn more.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.base.spawn(TaskKind::ScopeSpawn, move || body(self));
    }

    /// Spawns a task into the scope that runs `body` on every thread of the pool.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.base
            .spawn_broadcast(move |context| body(self, context));
    }
}

impl<'scope> ScopeFifo<'scope> {
    fn run<R>(kind: FinishKind, pool: PoolRef, op: impl FnOnce(&ScopeFifo<'scope>) -> R) -> R {
        let base = ScopeBase::open(kind, pool);
        let scope = ScopeFifo { base };
        let result = scope.base.keep_panic(|| op(&scope));
        scope.base.close(result)
    }

    /// Spawns a task into the scope. It gets the scope itself, to spawn more.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        self.base
            .spawn(TaskKind::ScopeSpawnFifo, move || body(self));
    }

    /// Spawns a task into the scope that runs `body` on every thread of the pool.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.base
            .spawn_broadcast(move |context| body(self, context));
    }
}

impl ScopeBase<'_> {
    #[inline(never)]
    fn open(kind: FinishKind, pool: PoolRef) -> Self {
        ScopeBase {
            pool,
            finish: Finish::begin(kind),
            deferred: Mutex::default(),
            may_defer: true,
            first_panic: Mutex::new(None),
            marker: PhantomData,
        }
    }

    fn spawn(&self, kind: TaskKind, body: impl FnOnce()) {
        let body = Detached::new(move || {
            self.keep_panic(body);
        });
        self.start(kind, body);
    }

    /// Runs a task, or puts it off until the body of the scope has ended.
    #[inline(never)]
    fn start(&self, kind: TaskKind, body: Detached) {
        let later = match self.may_defer {
            true => CreatedTask::deferred(kind, self.finish),
            false => None,
        };
        match later {
            Some(task) => self.put_off(task, body),
            None => place::on_another_thread(&self.pool, || body.run(kind, self.finish)),
        }
    }

    /// Puts a task off. The runtime may want to begin it earlier.
    fn put_off(&self, task: CreatedTask, body: Detached) {
        unsafe extern "C" fn begin(task: CreatedTask, data: *mut c_void) -> u32 {
            // SAFETY: `put_off` passes the scope, which stays where it is until it has caught up.
            let scope = unsafe { &*data.cast::<ScopeBase<'_>>() };
            let begun = place::interrupting(&scope.pool, None, |thread| {
                let mut deferred = lock(&scope.deferred);
                let at = deferred.iter().position(|(other, _)| *other == task);
                let body = at.map(|at| deferred.remove(at).1);
                drop(deferred);
                if let Some(body) = body {
                    body.run_on(&scope.pool, thread, task);
                }
            });
            u32::from(begun)
        }
        lock(&self.deferred).push((task, body));
        let data: *const Self = self;
        // SAFETY: the scope withdraws each task that is still there at its end. `begin` does not
        // unwind, nor does the body of a task.
        unsafe { task.offer(begin, data.cast_mut().cast()) }
    }

    /// Runs the tasks that were put off, and those that they spawn.
    #[inline(never)]
    fn catch_up(&self) {
        loop {
            let latest = lock(&self.deferred).pop();
            let Some((task, body)) = latest else { return };
            task.withdraw();
            body.run_on(&self.pool, place::another_thread(&self.pool), task);
        }
    }

    fn spawn_broadcast(&self, body: impl Fn(BroadcastContext<'_>)) {
        broadcast::detach_broadcast(&self.pool, self.finish, move |context| {
            self.keep_panic(|| body(context));
        });
    }

    /// The result of `closure`, or nothing if it panicked.
    fn keep_panic<R>(&self, closure: impl FnOnce() -> R) -> Option<R> {
        match task::catch(closure) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.keep(payload);
                None
            }
        }
    }

    #[inline(never)]
    fn keep(&self, payload: Box<dyn Any + Send>) {
        let mut first = lock(&self.first_panic);
        let later = match &*first {
            None => first.replace(payload),
            Some(_) => Some(payload),
        };
        // Dropping a payload runs code of the program.
        drop(first);
        drop(later);
    }

    #[inline(never)]
    fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        lock(&self.first_panic).take()
    }

    fn close<R>(&self, result: Option<R>) -> R {
        self.catch_up();
        self.finish.end();
        if let Some(payload) = self.take_panic() {
            panic::resume_unwind(payload);
        }
        result.expect("a body without a result has left a panic")
    }

    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("pool_id", &self.pool)
            .field("finish", &self.finish)
            .field("panic", &self.first_panic)
            .finish()
    }
}

/// Locks a mutex. A panic can't break an invariant here, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.describe("Scope", f)
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.describe("ScopeFifo", f)
    }
}
