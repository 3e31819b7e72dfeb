//! The seam to the Finishline runtime: five C functions, and the only file that declares them.
//!
//! The program's task structure is a tree of tasks in finishes. A finish is opened and closed by the strand that waits;
//! a task names the finish that waits for it, which need not be the innermost one. The runtime runs a task's body at
//! once, so that the whole program executes depth-first on the thread that called.
//!
//! **What the instrumentation sees.** This crate is compiled without instrumentation, but its generic functions are
//! instantiated, and its small ones may be inlined, in crates that have it. Two rules keep false reports out:
//!
//! - The drop-in's own state (thread-local place, pools, panics kept in a scope) is touched only by functions that are
//!   neither generic nor inlined. That is why so many of them say `#[inline(never)]`.
//! - What goes from one task to another through instrumented memory is either ordered by a finish or a heap block that
//!   the receiver frees: see `task.rs`.
//!
//! `Finish` and `task` attach to the runtime before they first call it, so a program is known to have used the drop-in
//! even if all of its pools have a number of threads of their own.

use std::ffi::c_void;
use std::sync::OnceLock;

const ABI_VERSION: u32 = 1;

/// Set in the answer of `__finishline_attach` if parallel iterators shall split as far as they can.
const SPLIT_FULLY: u32 = 1 << 31;

/// The code of a task. It must not unwind.
pub(crate) type Body = unsafe extern "C" fn(data: *mut c_void);

unsafe extern "C" {
    fn __finishline_attach(abi_version: u32) -> u32;
    fn __finishline_finish_begin(kind: u32) -> u64;
    fn __finishline_finish_end(finish: u64);
    fn __finishline_task(kind: u32, finish: u64, body: Body, data: *mut c_void);
    fn __finishline_right_first() -> u32;
}

/// What opened a finish, numbered as the runtime does.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum FinishKind {
    Join = 0,
    Scope = 1,
    ScopeFifo = 2,
    InPlaceScope = 3,
    InPlaceScopeFifo = 4,
    Broadcast = 5,
}

/// What created a task, numbered as the runtime does.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum TaskKind {
    JoinLeft = 0,
    JoinRight = 1,
    ScopeSpawn = 2,
    Spawn = 3,
    Broadcast = 4,
    SpawnBroadcast = 5,
    ScopeSpawnFifo = 6,
    SpawnFifo = 7,
}

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
        Finish(unsafe { __finishline_finish_begin(kind as u32) })
    }

    /// All tasks of this finish happen before what follows. Finishes of one strand end in the reverse order of their
    /// beginnings.
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
    // SAFETY: the caller vouches for `body` and `data`; whoever holds a `Finish` is inside it.
    unsafe { __finishline_task(kind as u32, finish.0, body, data) }
}

/// Whether the right half of each join runs before the left one.
pub(crate) fn right_first() -> bool {
    // SAFETY: a call without preconditions.
    unsafe { __finishline_right_first() != 0 }
}

/// The number of threads that a pool has if the program does not say. At least 1.
pub(crate) fn logical_threads() -> usize {
    let threads = attached() & !SPLIT_FULLY;
    usize::try_from(threads).map_or(usize::MAX, |threads| threads.max(1))
}

/// Whether parallel iterators shall split down to single items: see `FnContext::migrated`.
#[inline(never)]
pub(crate) fn splits_fully() -> bool {
    attached() & SPLIT_FULLY != 0
}

fn attached() -> u32 {
    static ANSWER: OnceLock<u32> = OnceLock::new();
    // SAFETY: a call without preconditions.
    *ANSWER.get_or_init(|| unsafe { __finishline_attach(ABI_VERSION) })
}
