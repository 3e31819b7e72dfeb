//! [`ThreadPoolBuilder`]: the settings of a pool, and which of them matter here.
//!
//! **The number of threads** is the one that the program sets with `num_threads`, at most
//! [`max_num_threads`]. If it sets none, the runtime decides (`--logical-threads`, 16 by default),
//! for the global pool and for others. The environment variables `RAYON_NUM_THREADS` and
//! `RAYON_RS_NUM_CPUS` are **not** read. They describe a machine, but here the number says how
//! finely parallel iterators split. A `RAYON_NUM_THREADS=1` left in a shell must not weaken a
//! check.
//!
//! A pool of one thread is no exception: its joins and spawns are reported as parallel tasks. The
//! answer is about the program's task structure, on pools of any size.
//!
//! Names and stack sizes are those of the threads, or are passed to a spawn handler. But tasks use
//! the stack of the thread that asks for them. `breadth_first` has no effect, because the order in
//! which tasks run does not matter.

use crate::error::BuildResult;
use crate::pool::{self, Handlers, PoolRef};
use crate::runtime;
use crate::task;
use crate::thread_pool::ThreadPool;
use crate::threads::{self, CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};
use std::any::Any;
use std::fmt;
use std::io;
use std::panic;

/// The most threads that a pool can have: rayon's own limit.
pub fn max_num_threads() -> usize {
    if cfg!(target_pointer_width = "64") {
        (1 << 16) - 1
    } else {
        (1 << 8) - 1
    }
}

/// Configures a pool, then builds it.
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    get_thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    handlers: Handlers,
    spawner: S,
    breadth_first: bool,
}

/// Only for the default way to start threads. Otherwise callers would have to spell out `S`.
impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder {
            num_threads: 0,
            use_current_thread: false,
            get_thread_name: None,
            stack_size: None,
            handlers: Handlers::default(),
            spawner: DefaultSpawn,
            breadth_first: false,
        }
    }
}

impl ThreadPoolBuilder {
    /// A builder without any settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool whose threads live inside this call. `wrapper` is called for each thread and
    /// should call [`ThreadBuilder::run`]. `with_pool` gets the pool.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> BuildResult<R>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let mut threads = Vec::new();
        let pool = self
            .spawn_handler(|thread| {
                threads.push(thread);
                Ok(())
            })
            .build()?;

        let mut work = Some(|| {
            let result = with_pool(&pool);
            drop(pool);
            result
        });
        let mut outcome = None;
        threads::nest(threads.into_iter(), &wrapper, &mut || {
            // The wrappers are not callers of the program's code, so a panic does not unwind
            // through them.
            outcome = work.take().map(task::catch);
        });
        match outcome.expect("`nest` calls its innermost closure") {
            Ok(result) => Ok(result),
            Err(payload) => panic::resume_unwind(payload),
        }
    }
}

// `ThreadSpawn` cannot be named outside on purpose: no other crate can implement it.
#[allow(private_bounds)]
impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool of its own.
    pub fn build(self) -> BuildResult<ThreadPool> {
        let pool = PoolRef::build(self)?;
        pool.start();
        Ok(ThreadPool::from_ref(pool))
    }

    /// Builds the global pool. Fails if there is one already. The first use of the global pool
    /// builds it.
    pub fn build_global(self) -> BuildResult<()> {
        pool::build_global(self)
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Lets the program start the threads. `spawn` gets each thread and must have
    /// [`ThreadBuilder::run`] called.
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            spawner: CustomSpawn(spawn),
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            get_thread_name: self.get_thread_name,
            stack_size: self.stack_size,
            handlers: self.handlers,
            breadth_first: self.breadth_first,
        }
    }

    /// Names threads by their index.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.get_thread_name = Some(Box::new(closure));
        self
    }

    /// Sets the number of threads. With 0, the default, the runtime decides.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Makes the building thread the pool's thread 0 for good. Building fails if that thread is in
    /// a pool already.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Sets the handler for panics of tasks that nobody waits for. Without it they abort the
    /// process.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.handlers.panic = Some(Box::new(panic_handler));
        self
    }

    /// Sets the stack size that a spawn handler sees.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Has no effect: tasks run depth-first.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Sets a handler that is called once for each thread before it works.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.start = Some(Box::new(start_handler));
        self
    }

    /// Sets a handler that is called once for each thread when the pool is dropped.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.exit = Some(Box::new(exit_handler));
        self
    }

    pub(crate) fn thread_count(&self) -> usize {
        let count = match self.num_threads {
            0 => runtime::logical_threads(),
            count => count,
        };
        count.min(max_num_threads())
    }

    pub(crate) fn uses_current_thread(&self) -> bool {
        self.use_current_thread
    }

    pub(crate) fn name_of_thread(&mut self, index: usize) -> Option<String> {
        self.get_thread_name.as_mut().map(|name| name(index))
    }

    pub(crate) fn stack_size_of_threads(&self) -> Option<usize> {
        self.stack_size
    }

    pub(crate) fn take_handlers(&mut self) -> Handlers {
        std::mem::take(&mut self.handlers)
    }

    pub(crate) fn spawner(&mut self) -> &mut S {
        &mut self.spawner
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// A closure can't be shown, only whether there is one.
        fn shown<T>(closure: &Option<T>) -> Option<impl fmt::Debug> {
            closure.as_ref().map(|_| format_args!("<closure>"))
        }

        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("get_thread_name", &shown(&self.get_thread_name))
            .field("panic_handler", &shown(&self.handlers.panic))
            .field("stack_size", &self.stack_size)
            .field("start_handler", &shown(&self.handlers.start))
            .field("exit_handler", &shown(&self.handlers.exit))
            .field("breadth_first", &self.breadth_first)
            .finish()
    }
}
