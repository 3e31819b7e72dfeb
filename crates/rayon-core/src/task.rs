//! Makes a closure a task and returns its result, without causing a false report.
//!
//! Code here is instantiated in instrumented crates. So every byte that two tasks touch counts as
//! shared memory.
//!
//! - `Joined` is for tasks whose creator waits for them. It lives in the creator's frame and holds
//!   the closure and the outcome. The task reads and writes it. The creator looks again only after
//!   the finish has ended, which orders the two.
//! - `detach` is for tasks that run beside their creator. Their closure can't stay in the creator's
//!   frame: after the call those bytes hold the creator's next locals, which are unordered with the
//!   task's reads. The closure goes into a heap block that the task itself frees, and freed memory
//!   is forgotten. For the same reason such closures are always `move`: a captured reference to one
//!   of the creator's locals would be read from the creator's frame.
//!
//! Everything that a task puts on the stack lies below the runtime's frame, because the call goes
//! through a function pointer that nothing can inline. The runtime forgets that part of the stack
//! when the task ends.

use crate::runtime::{self, Finish, TaskKind};
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

/// Runs `closure` as a task that may run beside its creator. If the closure unwinds, the process is
/// aborted.
#[inline(never)]
pub(crate) fn detach<F: FnOnce()>(kind: TaskKind, finish: Finish, closure: F) {
    unsafe extern "C" fn call<F: FnOnce()>(data: *mut c_void) {
        // SAFETY: the block that `detach` has given up, handed over exactly once.
        let closure = unsafe { *Box::from_raw(data.cast::<F>()) };
        closure();
    }

    let data = Box::into_raw(Box::new(closure));
    // SAFETY: `call` takes over the block of the type that it is made for; `extern "C"` stops
    // unwinding.
    unsafe { runtime::task(kind, finish, call::<F>, data.cast()) }
}

/// The result of `closure`, or its panic. The caller passes a panic on or hands it to the pool's
/// handler, so a broken invariant is not hidden from the program.
pub(crate) fn catch<R>(closure: impl FnOnce() -> R) -> thread::Result<R> {
    panic::catch_unwind(AssertUnwindSafe(closure))
}
