//! What one run of an instrumented program showed, in the user's words: the native counterpart of a [`crate::summary::Summary`].
//!
//! `finishline-symbols` fills it in from a findings file and the program's debug information; a report only formats it. Nothing
//! here is an address that has to be looked up any more, and everything that debug information may lack is an `Option`.

use crate::summary::{Place, SuppressionEntry};
use crate::verdict::{Extent, Verdict};
use finishline_model::Detector;
pub use finishline_model::kinds::{
    ConflictClass, NativeAccessKind, NativeFinishKind, NativeTaskKind, SynchroniserKind,
};

/// The answer about one process.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeRun {
    /// The executable, and the arguments it was given.
    pub program: String,
    pub arguments: Vec<String>,
    /// The test that the process ran, if it was one.
    pub test: Option<String>,
    /// The command that shows the same again.
    pub replay: String,
    pub detector: Detector,
    pub verdict: Verdict,
    pub extent: Extent,
    /// Why the verdict says no more than it does; none if it says all that can be said.
    pub because: Option<Limit>,
    /// Atomic operations in the program that the instrumentation leaves out, whether or not the run came to them.
    pub unseen: Vec<UnseenAtomic>,
    /// Distinct pairs of accesses that are not suppressed, in the order found.
    pub conflicts: Vec<Conflict>,
    /// How many distinct pairs there were in all, suppressed ones included.
    pub distinct: u64,
    pub suppressed: Option<SuppressedConflicts>,
    pub stopped: Option<Stopped>,
    /// How the process failed, in a sentence: a panic's exit status, a signal.
    pub failure: Option<String>,
    /// The exit status that the process ended with.
    pub status: u8,
    /// What parallel iterators were divided for.
    pub logical_threads: u32,
    pub statistics: NativeStatistics,
}

impl NativeRun {
    /// Whether there was nothing to check: such a process is neither clean nor a reason to worry.
    pub fn is_idle(&self) -> bool {
        self.verdict == Verdict::Unknown && self.because == Some(Limit::NothingParallel)
    }

    /// How many of the distinct pairs are suppressed.
    pub fn suppressed_count(&self) -> u64 {
        let suppressed = self.suppressed.as_ref();
        suppressed.map_or(0, |some| some.conflicts.len() as u64)
    }
}

/// What kept a verdict from being stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No parallel operation was seen: either there was none, or what was to see it was not active.
    NothingParallel,
    /// A task waits for something that no depth-first run can give it.
    Stopped,
    /// A thread waits for one that can't go on before it does, and so neither could be followed any more.
    Unfollowed,
    /// The findings end before the process did.
    Incomplete,
    /// Atomic operations of the program are not seen.
    Unseen,
    /// The executable does not tell which code of it is instrumented, so it may contain operations that are not seen.
    Stripped,
    /// Threads besides the first were seen.
    Threads,
    /// Locks or atomics order conflicting accesses, or may do so.
    Synchronised,
}

impl Limit {
    pub const ALL: [Limit; 8] = [
        Limit::NothingParallel,
        Limit::Stopped,
        Limit::Unfollowed,
        Limit::Incomplete,
        Limit::Unseen,
        Limit::Stripped,
        Limit::Threads,
        Limit::Synchronised,
    ];

    /// The word of JSON reports.
    pub const fn word(self) -> &'static str {
        match self {
            Limit::NothingParallel => "nothing-parallel",
            Limit::Stopped => "stopped",
            Limit::Unfollowed => "unfollowed",
            Limit::Incomplete => "incomplete",
            Limit::Unseen => "unseen",
            Limit::Stripped => "stripped",
            Limit::Threads => "threads",
            Limit::Synchronised => "synchronised",
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
                "threads besides the first took part, and only their order in this run was seen"
            }
            Limit::Synchronised => "locks or atomics order conflicting accesses, or may do so",
        }
    }

    /// What would establish more.
    pub const fn stronger(self) -> &'static str {
        match self {
            Limit::NothingParallel => {
                "run it on an input on which it uses rayon, by `cargo finishline`"
            }
            Limit::Stopped => "let tasks wait for each other only by join and scope",
            Limit::Incomplete => "let the program run to its end",
            Limit::Unseen => {
                "say the same by `fetch_update`, or by `compare_exchange` in a loop: these are seen"
            }
            Limit::Stripped => "leave the executable its debug information",
            Limit::Threads | Limit::Unfollowed => {
                "use tasks of rayon instead of threads: of these every schedule is covered"
            }
            Limit::Synchronised => {
                "`--determinacy` lists the conflicts that locks and atomics order"
            }
        }
    }
}

/// An atomic operation that was compiled without a call of the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenAtomic {
    /// The method of the standard library: `fetch_max`, `fetch_min`; none for an instruction that somebody wrote down as such.
    pub operation: Option<String>,
    /// The function that it is a part of, demangled.
    pub function: String,
    pub place: Option<Place>,
}

/// One answer over many processes, e.g. the tests of a crate.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NativeSuite {
    /// The command as the user gave it.
    pub command: Vec<String>,
    pub runs: Vec<NativeRun>,
    /// What was not checked, and why: doc tests, processes without findings.
    pub notes: Vec<String>,
}

/// The pairs that the user does not want to hear of.
#[derive(Clone, Debug, PartialEq)]
pub struct SuppressedConflicts {
    /// The file of suppressions, as the user gave it.
    pub file: String,
    pub conflicts: Vec<Conflict>,
    /// Entries of the file that match nothing of this run.
    pub unmatched: Vec<SuppressionEntry>,
}

/// Two conflicting accesses that no task structure orders.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    pub class: ConflictClass,
    pub object: Object,
    /// The first conflicting byte, and how many there are in a row.
    pub address: u64,
    pub bytes: u64,
    /// The bytes in all at which this pair of sites conflicts.
    pub locations: u64,
    /// The earlier of the run first.
    pub first: NativeAccess,
    pub second: NativeAccess,
    /// What keeps them from being a race, if that is more than that both are atomic.
    pub ordered_by: Option<OrderedBy>,
    pub why: NativeWhy,
    /// Not the first race of the run: it may be a consequence of an earlier one.
    pub may_follow: bool,
    /// The command that shows it again.
    pub replay: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NativeAccess {
    pub kind: NativeAccessKind,
    pub atomic: bool,
    pub address: u64,
    pub size: u64,
    pub stack: Stack,
    pub task: NativeTask,
    pub locks: Vec<HeldLock>,
}

/// A lock held at an access.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldLock {
    pub lock: Synchroniser,
    /// Where it was taken.
    pub place: Option<Place>,
}

/// A variable that keeps tasks in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Synchroniser {
    pub kind: SynchroniserKind,
    pub address: u64,
    /// What it is a part of.
    pub object: Object,
}

/// What keeps the two accesses of a pair in order.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderedBy {
    pub synchroniser: Synchroniser,
    /// Both were made under it, so they exclude each other. Else it was released behind the first access and acquired before the second.
    pub excludes: bool,
}

/// Frames from the innermost out, inlined ones included.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Stack {
    pub frames: Vec<Frame>,
    /// The frame to show as the place: the innermost of the user's with a line, else the best there is.
    pub shown: Option<usize>,
}

impl Stack {
    /// The frame to show.
    pub fn frame(&self) -> Option<&Frame> {
        self.shown.and_then(|shown| self.frames.get(shown))
    }

    pub fn place(&self) -> Option<&Place> {
        self.frame()?.place.as_ref()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Demangled, without hashes; the address and module if nothing else is known.
    pub function: String,
    pub place: Option<Place>,
    pub origin: Origin,
    /// Inlined into the next frame.
    pub inlined: bool,
}

/// Whose code a frame is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    User,
    /// A package that the user only depends on, by name.
    Dependency(String),
    Rayon,
    Std,
    /// C libraries, start-up code, code without names.
    System,
}

impl Origin {
    /// Whose it is, in a word.
    pub fn word(&self) -> &str {
        match self {
            Origin::User => "user",
            Origin::Dependency(package) => package,
            Origin::Rayon => "rayon",
            Origin::Std => "std",
            Origin::System => "system",
        }
    }
}

/// A task by the operations that led to it, `main` left out.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NativeTask {
    /// Its number in the run; 0 is `main`.
    pub id: u64,
    pub steps: Vec<TaskStep>,
}

/// One operation of the user that created tasks, perhaps several nested ones: a parallel iterator divides itself by joins inside joins,
/// and a recursion comes back to the same place.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskStep {
    /// The method of rayon that the user called: `for_each`, `join`, `spawn`.
    pub operation: String,
    pub place: Option<Place>,
    /// The tasks from the outermost in; at least one.
    pub parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub task: u64,
    pub kind: NativeTaskKind,
}

/// Why nothing orders the two accesses of a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeWhy {
    pub relation: Relation,
    /// The task, among the tasks of one access and those it runs inside, that runs beside the other access.
    pub task: NativeTask,
    /// Where that task was created.
    pub spawned: Option<Place>,
    /// Likewise for the other access, if it is in a task that the same join waits for.
    pub other_spawned: Option<Place>,
    /// What waits for the task; none if only the end of the program does.
    pub join: Option<NativeJoin>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The two halves of one join.
    Halves,
    /// Two tasks that one scope or broadcast waits for.
    Siblings,
    /// The first access's task is still running when the second access happens.
    FirstOutlives,
    /// The second access's task may have run before the first access.
    SecondOutlives,
    /// Both accesses are of one task, as far as the findings say.
    SameTask,
}

/// The end of an operation that waits for tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeJoin {
    /// The operation: `join`, `scope`, `for_each`.
    pub operation: String,
    pub place: Option<Place>,
}

/// What the conflicting bytes are a part of.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    Heap {
        size: u64,
        offset: u64,
        allocated: Stack,
        task: NativeTask,
    },
    Global {
        /// Demangled.
        name: String,
        size: u64,
        offset: u64,
        defined: Option<Place>,
    },
    /// A variable in a frame of this function.
    Stack {
        function: String,
        place: Option<Place>,
        task: NativeTask,
    },
    Unknown,
}

impl Object {
    pub const fn kind(&self) -> &'static str {
        match self {
            Object::Heap { .. } => "heap",
            Object::Global { .. } => "global",
            Object::Stack { .. } => "stack",
            Object::Unknown => "unknown",
        }
    }
}

/// A run that was ended because a task waits in vain.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// What it waits by or for: `futex`, `spin`, `join`, `creator`.
    pub what: String,
    pub stack: Stack,
    pub task: NativeTask,
}

/// What a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NativeStatistics {
    pub tasks: u64,
    pub finishes: u64,
    pub accesses: u64,
    pub atomic_accesses: u64,
    pub racing_bytes: u64,
    /// Threads besides the first.
    pub threads: u64,
}
