//! The format of the findings file of a native process, defined once for writer and reader.
//!
//! The runtime inside a checked program fills in a [`FindingsFile`] and writes
//! [`FindingsFile::text`]. The tool outside parses the text as JSON and hands the parsed value to
//! [`FindingsFile::read`]. The records below are the only place that defines field names, types and
//! words of kinds.
//!
//! The file opens with the name of the format and a version. [`FindingsFile::read`] first refuses
//! any other name or version. Every field must be present: a file that lost one is damaged. The
//! reader of the records decides whether the ids in a file make sense.
//!
//! `stacks` are lists of addresses inside the calling instructions, innermost first. Tasks,
//! finishes and accesses name a stack by its position. Only tasks of a listed pair are in the file,
//! with their ancestors and the finishes that wait for them.
//!
//! This crate is compiled into checked programs, so it has no dependencies. [`entry`] writes JSON
//! itself and reads a parsed file through the trait [`Parsed`].

mod entry;
mod places;

pub use entry::{Malformed, Parsed};

use crate::detector::Detector;
use crate::kinds::rayon::{Division, FirstHalf};
use crate::kinds::{
    ConflictClass, NativeAccessKind, NativeFinishKind, NativeTaskKind, SynchroniserKind, WaitKind,
};
use entry::{Entry, member, record, tagged};
pub use places::Places;

/// The name of the format, in the first field of every file.
pub const FORMAT: &str = "finishline-findings";

/// The version of the format. It changes with every change of a record or of a kind's word.
pub const VERSION: u64 = 5;

record! {
    /// A findings file.
    FindingsFile {
        /// [`FORMAT`].
        format: String,
        /// [`VERSION`].
        version: u64,
        /// The detector that ran.
        detector: Detector,
        /// Whether the findings cover the whole run.
        complete: bool,
        /// The number of the process.
        process: u64,
        executable: String,
        arguments: Vec<String>,
        directory: String,
        modules: Vec<ListedModule>,
        /// Whether the program called the drop-in.
        drop_in: bool,
        /// The number of threads that rayon was told.
        logical_threads: u32,
        /// How finely parallel iterators were divided.
        division: Division,
        first: FirstHalf,
        statistics: FindingsStatistics,
        /// Threads besides the first one.
        threads: u64,
        /// Where those that were followed were started.
        thread_starts: Vec<ListedStart>,
        /// Whether only the observed order of locks, atomics or threads separates some accesses.
        synchronised: bool,
        /// Whether the process ended inside a task, or before another one had begun.
        ended_inside: bool,
        /// The wait in vain that ended the run, if there was one.
        stopped: Option<ListedWait>,
        /// The number of distinct racing pairs, including those that are not listed.
        distinct_races: u64,
        /// The code that ran in parallel tasks, as far as it is known: accesses that were
        /// remembered, and the calls of their tasks around them.
        parallel_code: Places,
        /// The atomic instructions of the executable that are not instrumented and that the process
        /// reached, by their addresses in the file. None if that is not known.
        reached_unseen: Option<Vec<u64>>,
        stacks: Vec<Vec<u64>>,
        tasks: Vec<ListedTask>,
        finishes: Vec<ListedFinish>,
        races: Vec<ListedPair>,
    }
}

record! {
    /// A file mapped into the process.
    ListedModule {
        path: String,
        /// An address in the process minus the bias is the address in the file.
        bias: u64,
        start: u64,
        end: u64,
    }
}

record! {
    /// Counts of the run.
    #[derive(Copy, Default)]
    FindingsStatistics {
        accesses: u64,
        atomic_accesses: u64,
        tasks: u64,
        finishes: u64,
        racing_bytes: u64,
        /// Conflicting pairs of parallel tasks that a lock separates, whether listed or not.
        lock_ordered: u64,
        /// Conflicting pairs of parallel tasks that atomics separate, whether listed or not.
        atomic_ordered: u64,
        /// Conflicting pairs of parallel tasks that were on one thread, and had asked which thread
        /// that is, whether listed or not, and conflicts that may be ordered only because tasks
        /// relied on what others had kept for the thread.
        thread_ordered: u64,
    }
}

record! {
    /// A task that waited for something that no other task could do.
    #[derive(Copy)]
    ListedWait {
        what: WaitKind,
        task: u64,
        stack: usize,
    }
}

record! {
    /// A place that started threads.
    #[derive(Copy)]
    ListedStart {
        threads: u64,
        stack: usize,
    }
}

record! {
    #[derive(Copy)]
    ListedTask {
        id: u64,
        kind: NativeTaskKind,
        /// The task that created this one; `main` is its own parent.
        parent: u64,
        /// The finish that waits for the task; 0 is the end of the program.
        finish: u64,
        /// Where the task was created.
        stack: Option<usize>,
    }
}

record! {
    #[derive(Copy)]
    ListedFinish {
        id: u64,
        kind: NativeFinishKind,
        /// The task that waits at the end of the finish.
        task: u64,
        /// Where the finish began.
        stack: Option<usize>,
    }
}

record! {
    /// Two conflicting accesses of parallel tasks.
    ListedPair {
        class: ConflictClass,
        /// The first conflicting byte, and how many follow in a row.
        address: u64,
        bytes: u64,
        object: ListedObject,
        /// What keeps the pair from racing. None if the only reason is that both accesses are
        /// atomic.
        ordered_by: Option<ListedOrder>,
        first: ListedAccess,
        second: ListedAccess,
        /// The number of bytes at which the pair conflicts.
        locations: u64,
    }
}

record! {
    ListedAccess {
        kind: NativeAccessKind,
        atomic: bool,
        address: u64,
        size: u64,
        stack: usize,
        task: u64,
        /// The locks that the task held.
        locks: Vec<ListedLock>,
    }
}

record! {
    /// A lock that was held at an access.
    #[derive(Copy)]
    ListedLock {
        lock: ListedSynchroniser,
        /// Where the lock was taken.
        stack: usize,
    }
}

record! {
    /// A variable that orders tasks.
    #[derive(Copy)]
    ListedSynchroniser {
        kind: SynchroniserKind,
        address: u64,
        object: ListedObject,
    }
}

record! {
    /// What keeps the two accesses of a pair from racing.
    #[derive(Copy)]
    ListedOrder {
        synchroniser: ListedSynchroniser,
        /// Both accesses were made while holding the variable. Otherwise it was released after the
        /// first access and acquired before the second.
        excludes: bool,
    }
}

tagged! {
    /// What an address belongs to.
    ListedObject:
    Heap "heap" { start: u64, size: u64, stack: usize, task: u64, }
    /// A variable of the function at this address.
    Stack "stack" { function: u64, task: u64, }
    Global "global" {}
    ThreadLocal "thread-local" {}
    Unknown "unknown" {}
}

impl FindingsFile {
    /// A file that lists nothing and claims nothing yet.
    pub fn new(detector: Detector) -> FindingsFile {
        FindingsFile {
            format: FORMAT.to_owned(),
            version: VERSION,
            detector,
            complete: false,
            process: 0,
            executable: String::new(),
            arguments: Vec::new(),
            directory: String::new(),
            modules: Vec::new(),
            drop_in: false,
            logical_threads: 1,
            division: Division::default(),
            first: FirstHalf::Left,
            statistics: FindingsStatistics::default(),
            threads: 0,
            thread_starts: Vec::new(),
            synchronised: false,
            ended_inside: false,
            stopped: None,
            distinct_races: 0,
            parallel_code: Places::default(),
            reached_unseen: None,
            stacks: Vec::new(),
            tasks: Vec::new(),
            finishes: Vec::new(),
            races: Vec::new(),
        }
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text.push('\n');
        text
    }

    /// Reads a parsed file of exactly this format and version.
    pub fn read(parsed: impl Parsed) -> Result<FindingsFile, Malformed> {
        // The first version had a number in place of the name.
        let number = parsed.field("format").and_then(|format| format.number());
        let version = match number {
            Some(version) => version,
            None => {
                let format: String = member(parsed, "format").unwrap_or_default();
                if format != FORMAT {
                    return Err(Malformed::new("not a findings file of Finishline"));
                }
                member(parsed, "version")?
            }
        };
        if version != VERSION {
            let age = if version < VERSION { "older" } else { "newer" };
            return Err(Malformed::new(format!(
                "the findings have version {version} of their format, and this tool reads version \
                 {VERSION}: {age} runtime, so the program must be built again by this tool"
            )));
        }
        Entry::read(parsed)
    }
}
