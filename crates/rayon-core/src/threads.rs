//! The threads of a pool as its builder hands them out, one [`ThreadBuilder`] each.
//!
//! By default threads are started when a task comes to their pool. A program's own spawn handler
//! may start one that calls [`ThreadBuilder::run`]. That thread calls the pool's handlers and
//! waits. Work runs on the stack of the thread that asks for it, but finds the thread-local state
//! of the thread that waits.
//!
//! The threads of `build_scoped` are made by `nest`. All wrappers run on the calling thread, each
//! inside the `run` of the one before, and the program's own part runs inside the last. So
//! thread-local state that the wrappers set during `run` is in place, for all threads the same. A
//! wrapper that moves its builder to another thread gets a waiting thread. One that never calls
//! `run` is skipped.

use crate::lender::Settings;
use crate::pool::PoolRef;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// A thread of a pool under construction, for the code that starts it: see
/// [`ThreadPoolBuilder::spawn_handler`](crate::ThreadPoolBuilder::spawn_handler).
pub struct ThreadBuilder {
    pool: PoolRef,
    index: usize,
    name: Option<String>,
    stack_size: Option<usize>,
    inner: Option<Arc<Inner>>,
    /// Can be sent to another thread, but not shared.
    marker: PhantomData<Cell<()>>,
}

impl ThreadBuilder {
    #[inline(never)]
    pub(crate) fn new(
        pool: PoolRef,
        index: usize,
        name: Option<String>,
        stack_size: Option<usize>,
    ) -> ThreadBuilder {
        ThreadBuilder {
            pool,
            index,
            name,
            stack_size,
            inner: None,
            marker: PhantomData,
        }
    }

    /// The thread's index in its pool, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The thread's name, if the pool's builder gives one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack size that the pool's builder asks for. Logical threads use the stack of the thread
    /// that runs them.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Acts as this thread until the pool is dropped: calls the start handler, waits, calls the
    /// exit handler.
    #[inline(never)]
    pub fn run(self) {
        self.pool.thread_starts(self.index);
        let inner = self.inner.as_ref().filter(|inner| inner.is_here());
        let nested = inner.is_some_and(|inner| {
            self.pool.threads().lender(self.index).settle();
            inner.call()
        });
        if !nested {
            self.pool.lend_until_dropped(self.index);
        }
        self.pool.thread_exits(self.index);
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("pool", &self.pool)
            .field("index", &self.index)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}

/// How a builder starts its threads. The trait can't be named outside, so it can't be implemented
/// there.
pub trait ThreadSpawn {
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Threads that the drop-in starts.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        let settings = Settings {
            name: thread.name,
            stack_size: thread.stack_size,
        };
        thread.pool.adopt(thread.index, settings);
        Ok(())
    }
}

/// Threads that the program starts itself.
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

/// Calls `wrapper` for every thread, each call inside the `run` of the one before. Calls
/// `innermost` inside all of them.
pub(crate) fn nest(
    mut threads: std::vec::IntoIter<ThreadBuilder>,
    wrapper: &dyn Fn(ThreadBuilder),
    innermost: &mut dyn FnMut(),
) {
    let Some(mut thread) = threads.next() else {
        return innermost();
    };
    let mut threads = Some(threads);
    let mut rest = || {
        if let Some(threads) = threads.take() {
            nest(threads, wrapper, innermost);
        }
    };
    let inner = Arc::new(Inner::new(&mut rest));
    thread.inner = Some(Arc::clone(&inner));
    {
        let _disarm = Disarm(&inner);
        wrapper(thread);
    }
    rest();
}

/// The closure that a nested thread calls in its `run`. It lives in the frame of `nest` and is
/// removed before that frame is left.
struct Inner {
    thread: ThreadId,
    closure: Mutex<Option<Closure>>,
}

struct Closure(*mut (dyn FnMut() + 'static));

// SAFETY: the pointer is followed only on the thread that it comes from.
unsafe impl Send for Closure {}

impl Inner {
    fn new(closure: &mut dyn FnMut()) -> Inner {
        let closure: *mut (dyn FnMut() + '_) = closure;
        // SAFETY: only the lifetime changes, and `Disarm` ends the pointer's use before the closure
        // ends.
        let closure: *mut (dyn FnMut() + 'static) = unsafe { std::mem::transmute(closure) };
        Inner {
            thread: thread::current().id(),
            closure: Mutex::new(Some(Closure(closure))),
        }
    }

    fn take(&self) -> Option<Closure> {
        self.closure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    /// Calls the closure, if it still exists. Only on its thread.
    fn call(&self) -> bool {
        match self.take() {
            Some(Closure(closure)) => {
                // SAFETY: on its own thread, and not disarmed: so `nest` is below on this stack,
                // waiting in `wrapper`.
                unsafe { (*closure)() };
                true
            }
            None => false,
        }
    }
}

struct Disarm<'inner>(&'inner Inner);

impl Drop for Disarm<'_> {
    fn drop(&mut self) {
        self.0.take();
    }
}
