//! What an answer about a process of an instrumented program has besides its findings.
//!
//! Everything that debug information may lack is an `Option`.

use crate::finding::Finding;
use crate::place::Place;
use crate::stored;
use crate::task::{Stack, Task};
use crate::unsafe_code::UnsafeCode;
use crate::verdict::Extent;
use finishline_model::Detector;
use finishline_model::kinds::WaitKind;
use finishline_model::kinds::rayon::Division;
use serde::{Deserialize, Serialize};

/// The part of an answer that only a process has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// The test that the process ran, if it was one.
    pub test: Option<String>,
    /// The command that shows the same again.
    pub replay: String,
    #[serde(with = "stored::detector")]
    pub detector: Detector,
    /// For which schedules the answer holds.
    pub extent: Extent,
    /// Why the verdict says no more than it does; none if it says all that can be said.
    pub because: Option<Limit>,
    /// Atomic operations of the program that the instrumentation leaves out and that the run
    /// reached, or all of them where that is not known.
    pub unseen: Vec<UnseenAtomic>,
    /// Who started threads, besides the first one.
    pub started: Vec<Started>,
    pub stopped: Option<Stopped>,
    /// The orders of tasks that were run, if not only the usual one.
    pub orders: Option<OrdersRun>,
    /// The races that the user's baseline lists. None without a baseline.
    pub known: Option<Known>,
    /// The `unsafe` code of the user's crates, in the order of the source. None if it is not known.
    pub unsafe_code: Option<Vec<UnsafeCode>>,
    /// The exit status that the process ended with.
    pub status: u8,
    /// The number of threads that rayon was told.
    pub logical_threads: u32,
    /// How finely parallel iterators were divided.
    #[serde(with = "stored::division")]
    pub division: Division,
    pub statistics: ProcessStatistics,
}

/// What to think of before a program is blamed for its failure.
pub const UNCHECKED_REMARK: &str = "it failed while it was checked, with all tasks on one thread, \
     one after the other; this command runs it without checks";

/// Findings that are not new. They are findings all the same: the verdict does not know of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The baseline, as the user gave it.
    pub file: String,
    /// In the order found; at most `--max-races`.
    pub findings: Vec<Finding>,
}

/// What kept a verdict from being stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// No parallel operation was seen: either there was none, or what was to see it was not active.
    NothingParallel,
    /// A task waits for something that no depth-first run can give it.
    Stopped,
    /// It took longer than the user allows.
    TimedOut,
    /// The user ended it.
    Interrupted,
    /// A thread waits for one that can't go on before it does, and so neither could be followed any
    /// more.
    Unfollowed,
    /// The findings end before the process did.
    Incomplete,
    /// Atomic operations of the program are not seen.
    Unseen,
    /// The executable does not tell which code of it is instrumented, so it may contain operations
    /// that are not seen.
    Stripped,
    /// Threads besides the first were seen.
    Threads,
    /// Tasks conflict that were on one thread, and had asked which one that is.
    ByThread,
    /// Locks or atomics order conflicting accesses, or may do so.
    Synchronised,
    /// The process ended inside a task, before others had begun or gone on.
    EndedInside,
}

impl Limit {
    pub const ALL: [Limit; 12] = [
        Limit::NothingParallel,
        Limit::Stopped,
        Limit::TimedOut,
        Limit::Interrupted,
        Limit::Unfollowed,
        Limit::Incomplete,
        Limit::Unseen,
        Limit::Stripped,
        Limit::Threads,
        Limit::ByThread,
        Limit::Synchronised,
        Limit::EndedInside,
    ];

    /// The word of JSON reports.
    pub const fn word(self) -> &'static str {
        match self {
            Limit::NothingParallel => "nothing-parallel",
            Limit::Stopped => "stopped",
            Limit::TimedOut => "timed-out",
            Limit::Interrupted => "interrupted",
            Limit::Unfollowed => "unfollowed",
            Limit::Incomplete => "incomplete",
            Limit::Unseen => "unseen",
            Limit::Stripped => "stripped",
            Limit::Threads => "threads",
            Limit::ByThread => "by-thread",
            Limit::Synchronised => "synchronised",
            Limit::EndedInside => "ended-inside",
        }
    }

    /// What was missing, in a sentence.
    pub const fn because(self) -> &'static str {
        match self {
            Limit::NothingParallel => {
                "nothing was parallel: no operation of rayon was seen on this input"
            }
            Limit::Stopped => {
                "a task waits for what another task does, other than by join or scope; the run was stopped there. Another schedule may go on, so this is no proof of a deadlock, but with few threads it can become one"
            }
            Limit::TimedOut => "it took longer than `--timeout` allows, and was ended",
            Limit::Interrupted => "it was interrupted",
            Limit::Unfollowed => {
                "threads wait for each other in a way that could not be followed; from there on nothing was checked"
            }
            Limit::Incomplete => "the process ended before its findings were complete",
            Limit::Unseen => {
                "the program has atomic operations that are not seen: what they access is not checked, and accesses that they alone order are reported as a race"
            }
            Limit::Stripped => {
                "the executable has no debug information, so it is not known whether it has atomic operations that are not seen"
            }
            Limit::Threads => {
                "threads besides the first took part: they ran one at a time, and of other orders of theirs nothing is known; what a thread does for several tasks of a program counts as done one after the other"
            }
            Limit::ByThread => {
                "the program asked which thread a task is on: bytes that only tasks on one thread share were taken for what it keeps by thread, and only conflicts between different threads are reported"
            }
            Limit::Synchronised => "locks or atomics order conflicting accesses, or may do so",
            Limit::EndedInside => {
                "the process ended inside a task: in another schedule tasks run beside it that had not begun here"
            }
        }
    }

    /// What would establish more.
    pub const fn stronger(self) -> &'static str {
        match self {
            Limit::NothingParallel => {
                "run it on an input on which it uses rayon, by `cargo finishline`"
            }
            Limit::Stopped => "let tasks wait for each other only by join and scope",
            Limit::TimedOut => "allow it more time, or give it a smaller input",
            Limit::Incomplete | Limit::Interrupted => "let the program run to its end",
            Limit::Unseen => {
                "say the same by `fetch_update`, or by `compare_exchange` in a loop: these are seen"
            }
            Limit::Stripped => "leave the executable its debug information",
            Limit::Threads | Limit::Unfollowed => {
                "use tasks of rayon instead of threads: of these every schedule is covered"
            }
            Limit::ByThread => "`--determinacy` lists the conflicts of tasks on one thread",
            Limit::EndedInside => "end the program when all tasks are done",
            Limit::Synchronised => {
                "`--determinacy` lists the conflicts that locks and atomics order"
            }
        }
    }
}

/// An atomic operation that was compiled without a call of the runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnseenAtomic {
    /// The method of the standard library: `fetch_max`, `fetch_min`; none for an instruction that
    /// somebody wrote down as such.
    pub operation: Option<String>,
    /// The function that it is a part of, demangled.
    pub function: String,
    pub place: Option<Place>,
}

/// The orders of tasks in which a program was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrdersRun {
    /// The one that the answer is about. The usual one is 0.
    pub told: u32,
    /// How many were run to their end, or until they showed a race.
    pub ended: u32,
    /// How many were ended early: a task waited for one that runs later, or it took too long.
    pub stopped: u32,
}

/// Threads that were started at one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    pub threads: u64,
    /// The package that did so, if it is not the user's own code.
    pub library: Option<String>,
    /// Where, or where the user's code called the package.
    pub place: Option<Place>,
}

/// A run that was ended because a task waits in vain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    /// What it waits by or for.
    #[serde(with = "stored::wait_kind")]
    pub what: WaitKind,
    pub stack: Stack,
    pub task: Task,
}

/// What a process did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessStatistics {
    pub tasks: u64,
    pub finishes: u64,
    pub accesses: u64,
    pub atomic_accesses: u64,
    pub racing_bytes: u64,
    /// Threads besides the first.
    pub threads: u64,
}
