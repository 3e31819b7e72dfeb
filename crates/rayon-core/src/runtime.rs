//! The interface to the Finishline runtime: seventeen C functions, and the only file that declares
//! them.
//!
//! The task structure of a program is a tree of tasks in finishes. The strand that waits opens and
//! closes a finish. A task names the finish that waits for it, which need not be the innermost one.
//! The runtime runs the body of a task at once, so the whole program executes depth-first on the
//! calling thread.
//!
//! Kinds cross the interface as numbers, and `__finishline_attach` passes the version of the
//! interface. Both come from `kinds`, a file that drop-in and runtime share.
//!
//! **What the instrumentation sees.** This crate is compiled without instrumentation. But generic
//! functions are instantiated, and small functions may be inlined, in crates that are instrumented.
//! Two rules keep false reports out:
//!
//! - Only functions that are neither generic nor inlined touch the drop-in's own state: the
//!   thread-local place, pools, panics kept in a scope. Hence the many `#[inline(never)]`.
//! - A value that passes from one task to another through instrumented memory is ordered by a
//!   finish, or is a heap block that the receiver frees: see `task.rs`.
//!
//! `Finish` and `task` attach to the runtime before their first call, so a program is known to have
//! used the drop-in even if each of its pools has its own number of threads.

pub(crate) use crate::kinds::{Division, FinishKind, TaskKind};
use crate::kinds::{INTERFACE_VERSION, INTERRUPTS, RIGHT_FIRST, TO_ITEMS};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::OnceLock;

/// The code of a task. It must not unwind.
pub(crate) type Body = unsafe extern "C" fn(data: *mut c_void);

/// Runs a task that was created, and answers 1, or answers 0 if the task can't run now. It must not
/// unwind.
pub(crate) type Begin = unsafe extern "C" fn(task: CreatedTask, data: *mut c_void) -> u32;

unsafe extern "C" {
    fn __finishline_attach(version: u32) -> u32;
    fn __finishline_finish_begin(kind: u32) -> u64;
    fn __finishline_finish_end(finish: u64);
    fn __finishline_task(kind: u32, finish: u64, body: Body, data: *mut c_void);
    fn __finishline_join_order() -> u32;
    fn __finishline_defers(kind: u32) -> u32;
    fn __finishline_task_create(kind: u32, finish: u64) -> u64;
    fn __finishline_task_run(task: u64, body: Body, data: *mut c_void);
    fn __finishline_task_offer(task: CreatedTask, begin: Begin, data: *mut c_void);
    fn __finishline_task_withdraw(task: CreatedTask);
    fn __finishline_divided(division: u32);
    fn __finishline_thread_begin(spawn: Spawn, data: *mut c_void) -> u64;
    fn __finishline_thread_settle() -> u64;
    fn __finishline_thread_lend(thread: u64);
    fn __finishline_thread_visit(thread: u64, body: Body, data: *mut c_void);
    fn __finishline_thread_end(thread: u64);
    fn __finishline_asks();
}

/// Begins a thread that calls [`Thread::lend`] of this one. Answers 0 if that fails.
type Spawn = unsafe extern "C" fn(data: *mut c_void, thread: u64) -> u32;

/// A finish that is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finish(u64);

impl Finish {
    /// Waits for the tasks that nothing else waits for. It ends with the program.
    pub(crate) const PROGRAM: Finish = Finish(0);

    #[inline(never)]
    pub(crate) fn begin(kind: FinishKind) -> Finish {
        attached();
        // SAFETY: a call without preconditions, after attaching.
        Finish(unsafe { __finishline_finish_begin(kind.number()) })
    }

    /// Ends the finish: all its tasks happen before what follows. Finishes of one strand end in the
    /// reverse order of their beginnings.
    #[inline(never)]
    pub(crate) fn end(self) {
        // SAFETY: the handle comes from `begin`, and its owner ends it once.
        unsafe { __finishline_finish_end(self.0) }
    }
}

/// Runs `body(data)` now, as a task that `finish` waits for.
///
/// # Safety
///
/// `body` must be sound to call once with `data`, and must not unwind.
#[inline(never)]
pub(crate) unsafe fn task(kind: TaskKind, finish: Finish, body: Body, data: *mut c_void) {
    attached();
    // SAFETY: the caller vouches for `body` and `data`; a holder of a `Finish` is inside it.
    unsafe { __finishline_task(kind.number(), finish.0, body, data) }
}

/// A task that was created and has not run yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct CreatedTask(u64);

impl CreatedTask {
    /// Creates a task that `finish` waits for, if the runtime wants it to run later. It must be
    /// [offered](Self::offer), and run before the finish ends.
    #[inline(never)]
    pub(crate) fn deferred(kind: TaskKind, finish: Finish) -> Option<CreatedTask> {
        attached();
        // SAFETY: calls without preconditions, after attaching; a holder of a `Finish` is inside
        // it.
        let task = unsafe {
            match __finishline_defers(kind.number()) {
                0 => 0,
                _ => __finishline_task_create(kind.number(), finish.0),
            }
        };
        (task != 0).then_some(CreatedTask(task))
    }

    /// Creates a task that `finish` waits for, if the runtime follows this thread. It must be run
    /// before the finish ends.
    #[inline(never)]
    pub(crate) fn ahead(kind: TaskKind, finish: Finish) -> Option<CreatedTask> {
        // SAFETY: a call without preconditions; a holder of a `Finish` is inside it.
        let task = unsafe { __finishline_task_create(kind.number(), finish.0) };
        (task != 0).then_some(CreatedTask(task))
    }

    /// Lets the runtime begin the task by `begin(task, data)` on this thread, whenever a task there
    /// makes an atomic operation or waits, and when the thread ends, until `begin` answers 1 or the
    /// task is [withdrawn](Self::withdraw).
    ///
    /// # Safety
    ///
    /// `begin` must be sound to call with `data` until then, on this thread, as often as it answers
    /// 0, and must not unwind.
    #[inline(never)]
    pub(crate) unsafe fn offer(self, begin: Begin, data: *mut c_void) {
        // SAFETY: by contract.
        unsafe { __finishline_task_offer(self, begin, data) }
    }

    /// The runtime does not begin the task from here on.
    #[inline(never)]
    pub(crate) fn withdraw(self) {
        // SAFETY: a call without preconditions.
        unsafe { __finishline_task_withdraw(self) }
    }

    /// Runs `body(data)` as this task.
    ///
    /// # Safety
    ///
    /// As of [`task`]. A task is run once.
    #[inline(never)]
    pub(crate) unsafe fn run(self, body: Body, data: *mut c_void) {
        // SAFETY: by contract.
        unsafe { __finishline_task_run(self.0, body, data) }
    }
}

/// A real thread that tasks can be on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread(u64);

impl Thread {
    /// No thread. Visitors stay where they are.
    pub(crate) const NONE: Thread = Thread(0);

    /// A thread that `spawn` begins, or [`Thread::NONE`]. The runtime does not count it among the
    /// program's.
    #[inline(never)]
    pub(crate) fn begin(mut spawn: &mut dyn FnMut(Thread) -> bool) -> Thread {
        unsafe extern "C" fn call(data: *mut c_void, thread: u64) -> u32 {
            // SAFETY: `begin` passes its closure, exclusively borrowed for as long as this runs.
            let spawn = unsafe { &mut *data.cast::<&mut dyn FnMut(Thread) -> bool>() };
            u32::from(spawn(Thread(thread)))
        }
        attached();
        // SAFETY: `call` gets the closure that it expects, and does not unwind.
        Thread(unsafe { __finishline_thread_begin(call, (&raw mut spawn).cast()) })
    }

    /// The calling thread, while it runs.
    pub(crate) fn settle() -> Thread {
        attached();
        // SAFETY: a call without preconditions.
        Thread(unsafe { __finishline_thread_settle() })
    }

    /// The calling thread, which this one is, waits for its [`Thread::end`]. Tasks can be on it
    /// meanwhile.
    #[inline(never)]
    pub(crate) fn lend(self) {
        // SAFETY: the handle comes from the runtime.
        unsafe { __finishline_thread_lend(self.0) }
    }

    /// Runs `body(data)` on this thread.
    ///
    /// # Safety
    ///
    /// `body` must be sound to call once with `data`, and must not unwind.
    #[inline(never)]
    pub(crate) unsafe fn visit(self, body: Body, data: *mut c_void) {
        // SAFETY: the caller vouches for `body` and `data`, and the handle comes from the runtime.
        unsafe { __finishline_thread_visit(self.0, body, data) }
    }

    /// The thread goes on as soon as nothing is on it.
    pub(crate) fn end(self) {
        // SAFETY: the handle comes from the runtime.
        unsafe { __finishline_thread_end(self.0) }
    }
}

/// The program learns which thread the running task is on.
#[inline(never)]
pub(crate) fn asks() {
    // SAFETY: a call without preconditions.
    unsafe { __finishline_asks() }
}

/// How the halves of the next join run.
pub(crate) struct JoinOrder(u32);

impl JoinOrder {
    /// One after the other.
    pub(crate) const LEFT_FIRST: JoinOrder = JoinOrder(0);

    #[inline(never)]
    pub(crate) fn ask() -> JoinOrder {
        // SAFETY: a call without preconditions.
        JoinOrder(unsafe { __finishline_join_order() })
    }

    /// The right half before the left one.
    pub(crate) fn right_first(&self) -> bool {
        self.0 & RIGHT_FIRST != 0
    }

    /// The second half perhaps in the midst of the first.
    pub(crate) fn interrupts(&self) -> bool {
        self.0 & INTERRUPTS != 0
    }
}

/// The number of threads of a pool if the program does not set it. At least 1.
pub(crate) fn logical_threads() -> usize {
    let threads = attached() & !TO_ITEMS;
    usize::try_from(threads).map_or(usize::MAX, |threads| threads.max(1))
}

/// Whether parallel iterators should be divided down to single items.
pub(crate) fn divides_to_items() -> bool {
    attached() & TO_ITEMS != 0
}

/// Something was divided like this. The runtime keeps the greatest, and is told of nothing else.
pub(crate) fn divided(division: Division) {
    static TOLD: AtomicU32 = AtomicU32::new(Division::None.number());
    if TOLD.load(Relaxed) < division.number() {
        TOLD.store(division.number(), Relaxed);
        // SAFETY: a call without preconditions, after attaching.
        unsafe { __finishline_divided(division.number()) }
    }
}

fn attached() -> u32 {
    static ANSWER: OnceLock<u32> = OnceLock::new();
    // SAFETY: a call without preconditions.
    *ANSWER.get_or_init(|| unsafe { __finishline_attach(INTERFACE_VERSION) })
}
