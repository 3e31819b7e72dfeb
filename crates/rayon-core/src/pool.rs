//! A pool: its logical threads, its handlers, and the global pool.
//!
//! Building a pool starts no thread unless the program brings its own (`spawn_handler`,
//! `build_scoped`). The program's threads wait in [`ThreadBuilder::run`](crate::ThreadBuilder::run)
//! until the pool is dropped, and lend their place to tasks. Other threads are started when the
//! first task comes to the pool ([`crate::lender`]).
//!
//! **Handlers** are called once per thread, on it. For threads that the program does not bring the
//! start handlers run when the pool is built, as the tasks of one broadcast: parallel to each
//! other, before everything that the pool does. DIVERGENCE: in rayon they are also parallel to what
//! the builder does next. Each precedes only the work of its own thread, but here no event orders
//! what is on one thread. Ordering them before everything can miss a race but never invents one.
//! The exit handlers run when the pool is dropped, as tasks that nothing waits for.
//!
//! **The global pool** is built at first use or by `build_global`, whichever comes first, and is
//! never dropped. If the program's own attempt fails, there is no global pool, and using it panics,
//! as with rayon.

use crate::builder::ThreadPoolBuilder;
use crate::error::{BuildResult, Reason};
use crate::lender::Settings;
use crate::place::{self, Threads};
use crate::runtime::{self, Finish, FinishKind, TaskKind};
use crate::spawn;
use crate::task::{self, Detached, Joined};
use crate::threads::{ThreadBuilder, ThreadSpawn};
use std::any::Any;
use std::fmt;
use std::mem;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;
pub(crate) type ThreadHandler = Box<dyn Fn(usize) + Send + Sync>;

#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) panic: Option<PanicHandler>,
    pub(crate) start: Option<ThreadHandler>,
    pub(crate) exit: Option<ThreadHandler>,
}

pub(crate) struct Pool {
    threads: Threads,
    handlers: Handlers,
    /// The threads that the program has not brought itself.
    logical: Mutex<Vec<usize>>,
    dropped: Mutex<bool>,
}

impl Pool {
    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    #[inline(never)]
    pub(crate) fn num_threads(&self) -> usize {
        self.threads.count()
    }

    /// The calling thread waits for as long as the pool lives. Tasks on thread `index` are on it.
    pub(crate) fn lend_until_dropped(&self, index: usize) {
        let thread = {
            let dropped = lock(&self.dropped);
            (!*dropped).then(|| self.threads.lender(index).settle())
        };
        if let Some(thread) = thread {
            thread.lend();
        }
    }

    /// Handles a panic of a task that nobody waits for.
    #[inline(never)]
    pub(crate) fn handle_panic(&self, payload: Box<dyn Any + Send>) {
        struct Abort;
        impl Drop for Abort {
            fn drop(&mut self) {
                eprintln!("Rayon: detected unexpected panic; aborting");
                std::process::abort();
            }
        }

        // Abort also if the handler itself panics.
        let abort = Abort;
        if let Some(handler) = &self.handlers.panic {
            handler(payload);
            mem::forget(abort);
        }
    }
}

/// A shared pool. The instrumentation does not see its reference count.
pub(crate) struct PoolRef(mem::ManuallyDrop<Arc<Pool>>);

impl PoolRef {
    /// Another reference to the pool at `pool`.
    ///
    /// # Safety
    ///
    /// `pool` must come from the `as_ptr` of a `PoolRef` that exists during this call.
    pub(crate) unsafe fn again(pool: *const Pool) -> PoolRef {
        // SAFETY: the caller's promise; pools are only ever made inside an `Arc`.
        let existing = mem::ManuallyDrop::new(unsafe { Arc::from_raw(pool) });
        PoolRef(existing.clone())
    }

    /// The address that `again` takes.
    pub(crate) fn as_ptr(&self) -> *const Pool {
        Arc::as_ptr(&self.0)
    }

    /// The pool of the running task, or the global one.
    #[inline(never)]
    pub(crate) fn current() -> PoolRef {
        place::current_pool().unwrap_or_else(|| global().clone())
    }

    pub(crate) fn build<S: ThreadSpawn>(mut builder: ThreadPoolBuilder<S>) -> BuildResult<PoolRef> {
        let count = builder.thread_count();
        let pool = PoolRef::new(count, builder.take_handlers());
        let unfinished = Unfinished(&pool);
        for index in 0..count {
            if index == 0 && builder.uses_current_thread() {
                if !place::settle(&pool) {
                    return Err(Reason::CurrentThreadAlreadyInPool.into());
                }
                continue;
            }
            let thread = ThreadBuilder::new(
                pool.clone(),
                index,
                builder.name_of_thread(index),
                builder.stack_size_of_threads(),
            );
            builder.spawner().spawn(thread).map_err(Reason::IOError)?;
        }
        mem::forget(unfinished);
        Ok(pool)
    }

    #[inline(never)]
    fn new(count: usize, handlers: Handlers) -> PoolRef {
        PoolRef(mem::ManuallyDrop::new(Arc::new(Pool {
            threads: Threads::new(count),
            handlers,
            logical: Mutex::default(),
            dropped: Mutex::default(),
        })))
    }

    /// Adds thread `index` to those that the program does not bring itself.
    #[inline(never)]
    pub(crate) fn adopt(&self, index: usize, settings: Settings) {
        self.threads.adopt(index, settings);
        lock(&self.logical).push(index);
    }

    /// Calls the start handlers of the logical threads.
    #[inline(never)]
    pub(crate) fn start(&self) {
        let logical = lock(&self.logical).clone();
        if self.handlers.start.is_none() || logical.is_empty() {
            return;
        }
        let finish = Finish::begin(FinishKind::Broadcast);
        for index in logical {
            let mut handler = Joined::new(|| self.thread_starts(index));
            handler.run(TaskKind::Broadcast, finish);
        }
        finish.end();
    }

    /// Calls the exit handlers of the threads that the program has not brought itself, and ends all
    /// threads.
    #[inline(never)]
    pub(crate) fn terminate(&self) {
        spawn::catch_up(self);
        *lock(&self.dropped) = true;
        let logical = mem::take(&mut *lock(&self.logical));
        if self.handlers.exit.is_some() {
            for index in logical {
                let task = Detached::new(move || self.thread_exits(index));
                task.run(TaskKind::SpawnBroadcast, Finish::PROGRAM);
            }
        }
        self.threads.end();
    }

    pub(crate) fn thread_starts(&self, index: usize) {
        self.call_thread_handler(&self.handlers.start, index);
    }

    pub(crate) fn thread_exits(&self, index: usize) {
        self.call_thread_handler(&self.handlers.exit, index);
    }

    fn call_thread_handler(&self, handler: &Option<ThreadHandler>, index: usize) {
        let Some(handler) = handler else { return };
        let called = place::on_thread(self, index, || {
            runtime::asks();
            task::catch(|| handler(index))
        });
        if let Err(payload) = called {
            self.handle_panic(payload);
        }
    }
}

impl Deref for PoolRef {
    type Target = Pool;

    #[inline(never)]
    fn deref(&self) -> &Pool {
        &self.0
    }
}

impl Clone for PoolRef {
    #[inline(never)]
    fn clone(&self) -> PoolRef {
        PoolRef(self.0.clone())
    }
}

impl Drop for PoolRef {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: dropped here only, and not used afterwards.
        unsafe { mem::ManuallyDrop::drop(&mut self.0) }
    }
}

/// A pool is shown as an address, which tells two pools apart.
impl fmt::Debug for PoolRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&*self.0, f)
    }
}

/// Releases the threads that were already started if building the pool fails.
struct Unfinished<'pool>(&'pool PoolRef);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        // Rayon's threads start at once, so a thread that exits has started. The same holds here.
        self.0.start();
        self.0.terminate();
    }
}

static GLOBAL: OnceLock<Option<PoolRef>> = OnceLock::new();

#[inline(never)]
pub(crate) fn global() -> &'static PoolRef {
    GLOBAL
        .get_or_init(|| PoolRef::build(ThreadPoolBuilder::new()).ok())
        .as_ref()
        .expect("The global thread pool has not been initialized.")
}

pub(crate) fn build_global<S: ThreadSpawn>(builder: ThreadPoolBuilder<S>) -> BuildResult<()> {
    let mut result = Err(Reason::GlobalPoolAlreadyInitialized.into());
    let pool = GLOBAL.get_or_init(|| match PoolRef::build(builder) {
        Ok(pool) => {
            result = Ok(());
            Some(pool)
        }
        Err(error) => {
            result = Err(error);
            None
        }
    });
    // Handlers may use the pool, so it must be the global one by now.
    if let (Ok(()), Some(pool)) = (&result, pool) {
        pool.start();
    }
    result
}

/// Locks a mutex. A panic can't break an invariant here, so poisoning is ignored.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
