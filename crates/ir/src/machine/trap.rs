//! How a program fails at run time: one variant an error of the language, with the values involved.

use finishline_model::{FinishId, FinishKind, Location, SiteId, TaskId};
use std::fmt;

/// A failure of one task, which ends the program.
#[derive(Clone, PartialEq, Debug)]
pub struct Trap {
    pub kind: TrapKind,
    pub site: SiteId,
    pub task: TaskId,
}

impl Trap {
    /// A failure at `site`. What was never ended is shown where it began: that is the mistake, not
    /// the end of what is around it.
    pub fn new(kind: TrapKind, site: SiteId, task: TaskId) -> Trap {
        let site = match kind {
            TrapKind::BeginFinishNeverEnded { begin, .. } => begin,
            TrapKind::LockNeverReleased { acquired } => acquired,
            _ => site,
        };
        Trap { kind, site, task }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum TrapKind {
    NullUse,
    OutOfBounds {
        index: i64,
        size: u64,
        /// Which index, from 0, out of how many.
        dimension: u32,
        dimensions: u32,
    },
    NegativeSize {
        size: i64,
    },
    DivisionByZero,
    /// The smallest int by −1.
    DivisionOverflow,
    ZeroStep,
    AssertFailed {
        message: String,
    },
    CallDepth {
        limit: u32,
    },
    /// In bytes. The request is `None` if it does not even fit in 64 bits.
    Memory {
        request: Option<u64>,
        used: u64,
        budget: u64,
    },
    /// The budget allows it, but the system has no more.
    SystemMemory {
        request: u64,
    },
    TooManyTasks {
        limit: u32,
    },
    TooManyFinishes {
        limit: u32,
    },
    EndFinishWithoutBegin,
    /// What ended while the `begin_finish` at `begin` was open.
    BeginFinishNeverEnded {
        begin: SiteId,
        ended: Ended,
    },
    SyncInsideBeginFinish {
        begin: SiteId,
    },
    /// The promise has its value from the `set` at `first`.
    SetTwice {
        first: SiteId,
    },
    /// A release by a task that does not hold the lock. Another one may.
    ReleaseNotHeld {
        held: bool,
    },
    /// A finish, a join or a `get` by a task that holds the lock acquired there.
    WaitUnderLock {
        acquired: SiteId,
    },
    /// The task ended without releasing the lock acquired there.
    LockNeverReleased {
        acquired: SiteId,
    },
    /// No task can go on. By task.
    Deadlock {
        waiting: Vec<Waiting>,
    },
}

/// A task in a deadlock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    pub task: TaskId,
    /// Where it waits.
    pub site: SiteId,
    pub waits_for: WaitsFor,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitsFor {
    /// The value of this promise.
    Promise(Location),
    /// The tasks of this finish.
    Finish(FinishId),
    /// The lock with this location, which that task holds.
    Lock { lock: Location, holder: TaskId },
}

/// A scope that must not end before the `begin_finish` inside it has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    Task,
    Finish(FinishKind),
}

impl TrapKind {
    /// Every word of a failure.
    pub const WORDS: [&str; 19] = [
        "null-use",
        "out-of-bounds",
        "negative-size",
        "division-by-zero",
        "division-overflow",
        "zero-step",
        "assert-failed",
        "call-depth",
        "memory",
        "too-many-tasks",
        "too-many-finishes",
        "end-finish-without-begin",
        "begin-finish-never-ended",
        "sync-inside-begin-finish",
        "set-twice",
        "release-not-held",
        "wait-under-lock",
        "lock-never-released",
        "deadlock",
    ];

    /// A stable word for machines.
    pub const fn word(&self) -> &'static str {
        match self {
            TrapKind::NullUse => "null-use",
            TrapKind::OutOfBounds { .. } => "out-of-bounds",
            TrapKind::NegativeSize { .. } => "negative-size",
            TrapKind::DivisionByZero => "division-by-zero",
            TrapKind::DivisionOverflow => "division-overflow",
            TrapKind::ZeroStep => "zero-step",
            TrapKind::AssertFailed { .. } => "assert-failed",
            TrapKind::CallDepth { .. } => "call-depth",
            TrapKind::Memory { .. } | TrapKind::SystemMemory { .. } => "memory",
            TrapKind::TooManyTasks { .. } => "too-many-tasks",
            TrapKind::TooManyFinishes { .. } => "too-many-finishes",
            TrapKind::EndFinishWithoutBegin => "end-finish-without-begin",
            TrapKind::BeginFinishNeverEnded { .. } => "begin-finish-never-ended",
            TrapKind::SyncInsideBeginFinish { .. } => "sync-inside-begin-finish",
            TrapKind::SetTwice { .. } => "set-twice",
            TrapKind::ReleaseNotHeld { .. } => "release-not-held",
            TrapKind::WaitUnderLock { .. } => "wait-under-lock",
            TrapKind::LockNeverReleased { .. } => "lock-never-released",
            TrapKind::Deadlock { .. } => "deadlock",
        }
    }

    /// One line for people.
    pub fn message(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrapKind::NullUse => write!(f, "use of null"),
            TrapKind::OutOfBounds {
                index,
                size,
                dimension,
                dimensions,
            } => {
                write!(f, "index {index} is out of bounds: ")?;
                if *dimensions > 1 {
                    write!(f, "dimension {dimension} of the array has size {size}")
                } else {
                    write!(f, "the array has size {size}")
                }
            }
            TrapKind::NegativeSize { size } => write!(f, "an array can't have the size {size}"),
            TrapKind::DivisionByZero => write!(f, "division by zero"),
            TrapKind::DivisionOverflow => {
                write!(f, "division overflow: {} by -1 is no int", i64::MIN)
            }
            TrapKind::ZeroStep => write!(f, "a range can't have the step 0"),
            TrapKind::AssertFailed { message } if message.is_empty() => {
                write!(f, "assertion failed")
            }
            TrapKind::AssertFailed { message } => write!(f, "assertion failed: {message}"),
            TrapKind::CallDepth { limit } => {
                write!(f, "calls are nested deeper than {limit} in one task")
            }
            TrapKind::Memory {
                request: Some(request),
                used,
                budget,
            } => write!(
                f,
                "out of memory: {request} bytes more than the {used} in use exceed the budget of {budget}"
            ),
            TrapKind::Memory {
                request: None,
                budget,
                ..
            } => {
                write!(
                    f,
                    "out of memory: the array alone exceeds the budget of {budget} bytes"
                )
            }
            TrapKind::SystemMemory { request } => {
                write!(f, "out of memory: the system refused {request} bytes")
            }
            TrapKind::TooManyTasks { limit } => write!(f, "more than {limit} tasks"),
            TrapKind::TooManyFinishes { limit } => write!(f, "more than {limit} finishes"),
            TrapKind::EndFinishWithoutBegin => write!(
                f,
                "end_finish, but this task has no begin_finish open inside its innermost finish"
            ),
            TrapKind::BeginFinishNeverEnded { ended, .. } => {
                let scope = match ended {
                    Ended::Task => "the task",
                    Ended::Finish(FinishKind::SyncScope) => "a sync scope",
                    Ended::Finish(_) => "a finish",
                };
                write!(f, "{scope} ended while a begin_finish inside it was open")
            }
            TrapKind::SyncInsideBeginFinish { .. } => {
                write!(f, "sync while a begin_finish is open inside its sync scope")
            }
            TrapKind::SetTwice { .. } => write!(f, "the promise already has a value"),
            TrapKind::ReleaseNotHeld { held: true } => {
                write!(f, "release of a lock that another task holds")
            }
            TrapKind::ReleaseNotHeld { held: false } => {
                write!(f, "release of a lock that no task holds")
            }
            TrapKind::WaitUnderLock { .. } => {
                write!(f, "a task can't wait for other tasks while it holds a lock")
            }
            TrapKind::LockNeverReleased { .. } => {
                write!(f, "the task ended without releasing this lock")
            }
            TrapKind::Deadlock { waiting } => {
                let count = |such: fn(WaitsFor) -> bool| {
                    waiting.iter().filter(|it| such(it.waits_for)).count()
                };
                let gets = count(|it| matches!(it, WaitsFor::Promise(_)));
                let locks = count(|it| matches!(it, WaitsFor::Lock { .. }));
                let promises = match gets {
                    0 => None,
                    1 => Some("one waits for a promise that has no value".to_owned()),
                    gets => Some(format!("{gets} wait for promises that have no value")),
                };
                let locks = match locks {
                    0 => None,
                    1 => Some("one waits for a lock".to_owned()),
                    locks => Some(format!("{locks} wait for locks")),
                };
                let reasons: Vec<String> = promises.into_iter().chain(locks).collect();
                write!(f, "no task can go on: {}", reasons.join(", "))
            }
        }
    }
}
