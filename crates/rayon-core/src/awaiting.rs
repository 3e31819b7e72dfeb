//! Tasks that may begin in the midst of another one.
//!
//! In some orders the runtime wants tasks to take turns: the second half of a join, or a task that
//! was put off, then begins where the running task is about to make an atomic operation, and runs
//! to its end before that operation is made. In a pool this is what happens if another worker takes
//! the task just then. So a task that awaits its turn is *offered* to the runtime, on the thread
//! that has created it.
//!
//! **Threads.** The interrupted task is still on its logical thread, in the midst of whatever it
//! does with what is kept there. So its thread is *held*: until the interruption is over, no task
//! is put on it ([`crate::place`]). The task that interrupts it is on a thread where nothing is
//! under way, or, if it is a left half, on that of the join, which waits. If there is no such
//! thread, the task does not begin yet. Nor does it in the midst of a task of another pool, which
//! could hold all threads of its own while this one waits for one of them.
//!
//! Nothing here may be inlined into instrumented code (`runtime.rs` says why). Whether a task has
//! begun is known here and not by the runtime, which may cease to follow the thread at any time.

use crate::place;
use crate::pool::PoolRef;
use crate::runtime::{Body, CreatedTask, Finish, TaskKind};
use std::cell::Cell;
use std::ffi::c_void;

/// The second half of a join. Its creator keeps it in place until it has run.
pub(crate) struct Awaiting<'pool> {
    pool: &'pool PoolRef,
    task: CreatedTask,
    /// The thread of its pool that it is on. None: another one than the join.
    thread: Option<usize>,
    body: Body,
    data: *mut c_void,
    has_begun: Cell<bool>,
}

impl<'pool> Awaiting<'pool> {
    /// Creates a half of a join of the running task. None: it must run in its turn.
    #[inline(never)]
    pub(crate) fn create(
        pool: &'pool PoolRef,
        finish: Finish,
        kind: TaskKind,
        (body, data): (Body, *mut c_void),
    ) -> Option<Self> {
        let task = CreatedTask::ahead(kind, finish)?;
        let thread = match kind {
            TaskKind::JoinLeft => place::index_in(pool),
            _ => None,
        };
        Some(Awaiting {
            pool,
            task,
            thread,
            body,
            data,
            has_begun: Cell::new(false),
        })
    }

    #[inline(never)]
    pub(crate) fn offer(&self) {
        unsafe extern "C" fn begin(_: CreatedTask, data: *mut c_void) -> u32 {
            // SAFETY: `offer` passes itself, and is withdrawn before it ends.
            let this = unsafe { &*data.cast::<Awaiting<'_>>() };
            let begun = place::interrupting(this.pool, this.thread, |thread| {
                this.begin_on(thread);
            });
            u32::from(begun)
        }
        let data: *const Self = self;
        // SAFETY: `run` withdraws the task, and the creator calls it on this thread. The task
        // begins once, and does not unwind.
        unsafe { self.task.offer(begin, data.cast_mut().cast()) }
    }

    /// Runs the task, unless it has run.
    #[inline(never)]
    pub(crate) fn run(&self) {
        self.task.withdraw();
        if !self.has_begun.get() {
            let elsewhere = || place::another_thread(self.pool);
            self.begin_on(self.thread.unwrap_or_else(elsewhere));
        }
    }

    fn begin_on(&self, thread: usize) {
        self.has_begun.set(true);
        // SAFETY: the function and its data come from a task of a join, which is not over. They are
        // used here only, once.
        unsafe { place::run_on(self.pool, thread, self.task, self.body, self.data) }
    }
}
