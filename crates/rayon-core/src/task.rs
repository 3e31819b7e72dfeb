//! Makes a closure a task and returns its result, without causing a false report.
//!
//! Code here is instantiated in instrumented crates. So every byte that two tasks touch counts as
//! shared memory.
//!
//! - `Joined` is for tasks whose creator waits for them. It lives in the creator's frame and holds
//!   the closure and the outcome. The task reads and writes it. The creator looks again only after
//!   the finish has ended, which orders the two.
//! - `Detached` is for tasks that run beside their creator. Their closure can't stay in the
//!   creator's frame: after the call those bytes hold the creator's next locals, which are
//!   unordered with the task's reads. The closure goes into a heap block that the task itself
//!   frees, and freed memory is forgotten. For the same reason such closures are always `move`: a
//!   captured reference to one of the creator's locals would be read from the creator's frame.
//!
//! Everything that a task puts on the stack lies below the runtime's frame, because the call goes
//! through a function pointer that nothing can inline. The runtime forgets that part of the stack
//! when the task ends.

use crate::place;
use crate::pool::PoolRef;
use crate::runtime::{self, Body, CreatedTask, Finish, TaskKind};
use std::ffi::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

/// A task whose creator waits for its result.
pub(crate) struct Joined<F, R> {
    closure: Option<F>,
    outcome: Option<thread::Result<R>>,
}

impl<F: FnOnce() -> R, R> Joined<F, R> {
    pub(crate) fn new(closure: F) -> Self {
        Joined {
            closure: Some(closure),
            outcome: None,
        }
    }

    #[inline(never)]
    pub(crate) fn run(&mut self, kind: TaskKind, finish: Finish) {
        let data: *mut Self = self;
        // SAFETY: `call` gets the `Joined` it expects, which nobody else uses meanwhile; it catches
        // unwinding.
        unsafe { runtime::task(kind, finish, Self::call, data.cast()) }
    }

    /// The closure as a function and its data, to be called once. It does not unwind.
    pub(crate) fn body(&mut self) -> (Body, *mut c_void) {
        let data: *mut Self = self;
        (Self::call, data.cast())
    }

    /// The result of the closure, or its panic. Call it only after the finish has ended.
    pub(crate) fn into_outcome(self) -> thread::Result<R> {
        self.outcome
            .expect("the runtime runs the body of a task before it returns")
    }

    unsafe extern "C" fn call(data: *mut c_void) {
        // SAFETY: `run` passes itself, exclusively borrowed for as long as this runs.
        let this = unsafe { &mut *data.cast::<Self>() };
        if let Some(closure) = this.closure.take() {
            this.outcome = Some(catch(closure));
        }
    }
}

/// A closure that a task takes with it. If it unwinds, the process is aborted.
pub(crate) struct Detached {
    body: Body,
    data: *mut c_void,
}

// SAFETY: rayon asks for closures that can be sent.
unsafe impl Send for Detached {}

impl Detached {
    #[inline(never)]
    pub(crate) fn new<F: FnOnce()>(closure: F) -> Detached {
        unsafe extern "C" fn call<F: FnOnce()>(data: *mut c_void) {
            // SAFETY: the block that `new` has given up, handed over exactly once.
            let closure = unsafe { *Box::from_raw(data.cast::<F>()) };
            closure();
        }
        Detached {
            body: call::<F>,
            data: Box::into_raw(Box::new(closure)).cast(),
        }
    }

    /// Runs the closure as a task that may run beside its creator.
    #[inline(never)]
    pub(crate) fn run(self, kind: TaskKind, finish: Finish) {
        // SAFETY: `body` takes over the block of the type that it is made for; `extern "C"` stops
        // unwinding.
        unsafe { runtime::task(kind, finish, self.body, self.data) }
    }

    /// Runs the closure as a task that was created before, on this thread of its pool.
    #[inline(never)]
    pub(crate) fn run_on(self, pool: &PoolRef, thread: usize, task: CreatedTask) {
        // SAFETY: as above.
        unsafe { place::run_on(pool, thread, task, self.body, self.data) }
    }
}

/// The result of `closure`, or its panic. The caller passes a panic on or hands it to the pool's
/// handler, so a broken invariant is not hidden from the program.
pub(crate) fn catch<R>(closure: impl FnOnce() -> R) -> thread::Result<R> {
    panic::catch_unwind(AssertUnwindSafe(closure))
}
