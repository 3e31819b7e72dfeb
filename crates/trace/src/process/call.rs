//! What a checked process tells its checker.

use finishline_model::kinds::{NativeFinishKind, NativeTaskKind, WaitKind};
use finishline_model::{AccessKind, FinishId, TaskId};
use std::ops::Range;

/// One call of the checker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    Access {
        kind: AccessKind,
        address: u64,
        bytes: u64,
        place: u64,
        /// It is no variable of at most 16 bytes, but any bytes.
        is_range: bool,
        /// The stack pointer, if it is lower than at any earlier access of the task.
        lower: Option<u64>,
    },
    Atomic {
        operation: Operation,
        bytes: u64,
        place: u64,
    },
    /// Made by code that is not instrumented.
    Unseen(Operation),
    /// Such code relies on what it has read there, or has written what others rely on.
    ReliedOn(u64),
    Published(u64),
    BarrierArrive(u64),
    BarrierLeave {
        address: u64,
        round: u64,
        last: bool,
    },
    Fence {
        acquires: bool,
        releases: bool,
    },
    TaskBegin {
        kind: NativeTaskKind,
        finish: FinishId,
        place: u64,
        entry: u64,
    },
    TaskEnd,
    /// A task is there that runs later.
    TaskCreate {
        kind: NativeTaskKind,
        finish: FinishId,
        place: u64,
    },
    /// Such a task begins.
    TaskRun {
        task: TaskId,
        entry: u64,
    },
    FinishBegin {
        kind: NativeFinishKind,
        place: u64,
    },
    FinishEnd(FinishId),
    ThreadBegin {
        place: u64,
        entry: u64,
        stack: Range<u64>,
        thread_locals: Range<u64>,
    },
    /// The thread ends and can be joined by this name.
    ThreadEnd(u64),
    ThreadJoin(u64),
    /// Another thread runs.
    ThreadRun(TaskId),
    /// There is a thread that only lends its variables. Threads of both kinds are numbered as they
    /// begin, and the first thread is 0.
    LenderBegin(Range<u64>),
    /// What follows is on the thread of this number.
    StayBegin(u32),
    StayEnd,
    /// The program asks which thread it is on.
    Asks,
    /// The program tried to take the lock at this address while it believed that another reader had
    /// it.
    Readers(u64),
    Allocated {
        start: u64,
        bytes: u64,
        place: u64,
    },
    Freed {
        start: u64,
        place: u64,
    },
    /// The block that was freed last there is kept: its memory is nobody's until it is given back.
    Kept {
        start: u64,
        place: u64,
    },
    /// Memory of such a block may be allocated again from here on.
    GivenBack(u64),
    /// A kept block is freed once more.
    FreedAgain {
        start: u64,
        place: u64,
    },
    /// A block has got another size at the same address.
    Resized {
        start: u64,
        bytes: u64,
        place: u64,
    },
    /// The task may have to wait.
    Waits {
        what: WaitKind,
        place: u64,
    },
}

/// An atomic operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    pub address: u64,
    pub before: Option<u64>,
    pub after: Option<u64>,
    pub change: Change,
    pub acquires: bool,
    pub releases: bool,
}

/// How the value was changed, if it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    Replaced,
    Counted,
    Flagged,
}

impl Change {
    pub(super) const ALL: [Change; 3] = [Change::Replaced, Change::Counted, Change::Flagged];
}

/// How the functions in progress differ from those at the call before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackChange<'a> {
    /// How many of them have been in progress since they were last numbered.
    pub kept: usize,
    /// The others: where each was called from, and the lowest address of its frame.
    pub entered: &'a [[u64; 2]],
}

/// A call, with what else the checker needs to follow it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told<'a> {
    pub stack: Option<StackChange<'a>>,
    pub call: &'a Call,
    /// What the process answered when its checker asked about memory, in this order.
    pub answers: &'a [bool],
}
