//! A native run for scripts: the fields of every JSON report, and those that only a native one has.
//!
//! `docs/report.schema.json` is the contract, as for the other reports: `native` and `suite` in it. Every field is always present; what is absent
//! is `null`. Addresses are strings in hexadecimal, since a 64-bit integer does not fit every JSON reader.

use super::{exit_status, suite_exit_status, words};
use crate::json::{SCHEMA_VERSION, SourcePlace, Tool, write_pretty};
use finishline_answer::native::{
    self, Conflict, ConflictClass, Frame, HeldLock, NativeAccess, NativeRun, NativeSuite,
    NativeTask, Object, Stack, TaskStep,
};
use finishline_answer::summary::Place;
use finishline_answer::verdict::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

pub(super) fn write(run: &NativeRun, out: &mut dyn io::Write) -> io::Result<()> {
    write_pretty(&Report::new(run), out)
}

pub(super) fn write_suite(suite: &NativeSuite, out: &mut dyn io::Write) -> io::Result<()> {
    let count = |verdict: &Verdict| {
        suite
            .runs
            .iter()
            .filter(|run| run.verdict == *verdict)
            .count()
    };
    let verdicts = Verdict::ALL
        .iter()
        .map(|verdict| (verdict.word(), count(verdict)));
    let document = Suite {
        schema_version: SCHEMA_VERSION,
        tool: Tool::THIS,
        command: &suite.command,
        exit_status: suite_exit_status(suite),
        verdicts: verdicts.filter(|(_, count)| *count > 0).collect(),
        notes: &suite.notes,
        reports: suite.runs.iter().map(Report::new).collect(),
    };
    write_pretty(&document, out)
}

#[derive(Serialize)]
struct Suite<'a> {
    schema_version: u32,
    tool: Tool,
    command: &'a [String],
    exit_status: u8,
    verdicts: BTreeMap<&'static str, usize>,
    notes: &'a [String],
    reports: Vec<Report<'a>>,
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    tool: Tool,
    program: &'a str,
    arguments: &'a [String],
    test: Option<&'a str>,
    detector: &'static str,
    verdict: &'static str,
    meaning: &'static str,
    guarantee: String,
    because: Option<Because>,
    unseen: Vec<Unseen<'a>>,
    stronger: Option<&'static str>,
    exit_status: u8,
    races: Vec<Pair<'a>>,
    distinct_races: u64,
    suppressed_races: u64,
    racing_locations: NameList,
    failure: Option<ProcessFailure<'a>>,
    stopped: Option<StoppedRun<'a>>,
    watch: Option<()>,
    logical_threads: u32,
    statistics: Counts,
}

#[derive(Serialize)]
struct Because {
    kind: &'static str,
    text: &'static str,
}

#[derive(Serialize)]
struct Unseen<'a> {
    operation: Option<&'a str>,
    function: &'a str,
    place: Option<SourcePlace<'a>>,
}

#[derive(Serialize)]
struct NameList {
    count: u64,
    names: Vec<String>,
    truncated: bool,
}

#[derive(Serialize)]
struct Pair<'a> {
    class: &'static str,
    apparent: bool,
    message: String,
    location: String,
    locations: NameList,
    occurrences: u64,
    address: String,
    bytes: u64,
    object: ObjectOrigin<'a>,
    ordered_by: Option<OrderedBy<'a>>,
    first: Access<'a>,
    second: Access<'a>,
    why: Why<'a>,
    allocated: Option<SourcePlace<'a>>,
    may_follow: bool,
    replay: &'a str,
}

#[derive(Serialize)]
struct ObjectOrigin<'a> {
    kind: &'static str,
    name: Option<&'a str>,
    size: Option<u64>,
    offset: Option<u64>,
    place: Option<SourcePlace<'a>>,
    function: Option<&'a str>,
    stack: Option<Vec<StackFrame<'a>>>,
    task: Option<Task<'a>>,
}

#[derive(Serialize)]
struct Access<'a> {
    kind: &'static str,
    isolated: bool,
    atomic: bool,
    address: String,
    size: u64,
    place: Option<SourcePlace<'a>>,
    function: &'a str,
    task: Task<'a>,
    stack: Vec<StackFrame<'a>>,
    locks: Vec<Lock<'a>>,
}

#[derive(Serialize)]
struct StackFrame<'a> {
    function: &'a str,
    place: Option<SourcePlace<'a>>,
    origin: &'a str,
    inlined: bool,
}

#[derive(Serialize)]
struct Lock<'a> {
    kind: &'static str,
    address: String,
    object: ObjectOrigin<'a>,
    place: Option<SourcePlace<'a>>,
}

#[derive(Serialize)]
struct OrderedBy<'a> {
    text: String,
    kind: &'static str,
    excludes: bool,
    address: String,
    object: ObjectOrigin<'a>,
}

#[derive(Serialize)]
struct Why<'a> {
    text: String,
    task: Task<'a>,
    spawned: Option<SourcePlace<'a>>,
    join: Option<Join<'a>>,
}

#[derive(Serialize)]
struct Join<'a> {
    what: String,
    place: Option<SourcePlace<'a>>,
}

#[derive(Serialize)]
struct Task<'a> {
    path: String,
    text: String,
    creations: Vec<Creation<'a>>,
}

#[derive(Serialize)]
struct Creation<'a> {
    operation: &'a str,
    place: Option<SourcePlace<'a>>,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    task: u64,
    kind: &'static str,
}

#[derive(Serialize)]
struct ProcessFailure<'a> {
    kind: &'static str,
    message: &'a str,
    place: Option<()>,
    task: Option<()>,
}

#[derive(Serialize)]
struct StoppedRun<'a> {
    what: &'a str,
    place: Option<SourcePlace<'a>>,
    task: Task<'a>,
    stack: Vec<StackFrame<'a>>,
}

#[derive(Serialize)]
struct Counts {
    tasks: u64,
    finishes: u64,
    accesses: u64,
    atomic_accesses: u64,
    threads: u64,
}

impl<'a> Report<'a> {
    fn new(run: &'a NativeRun) -> Report<'a> {
        let races = run
            .conflicts
            .iter()
            .filter(|c| c.class == ConflictClass::Race);
        let shown: u64 = races
            .clone()
            .map(|race| race.bytes)
            .fold(0, u64::saturating_add);
        let bytes = run.statistics.racing_bytes;
        Report {
            schema_version: SCHEMA_VERSION,
            tool: Tool::THIS,
            program: &run.program,
            arguments: &run.arguments,
            test: run.test.as_deref(),
            detector: run.detector.name(),
            verdict: run.verdict.word(),
            meaning: run.verdict.native_meaning(),
            guarantee: words::guarantee(run),
            because: run.because.map(|limit| Because {
                kind: limit.word(),
                text: limit.because(),
            }),
            unseen: (run.unseen.iter())
                .map(|atomic| Unseen {
                    operation: atomic.operation.as_deref(),
                    function: &atomic.function,
                    place: place(atomic.place.as_ref()),
                })
                .collect(),
            stronger: words::stronger(run),
            exit_status: exit_status(run),
            races: run.conflicts.iter().map(Pair::new).collect(),
            distinct_races: run.distinct,
            suppressed_races: run.suppressed_count(),
            racing_locations: NameList {
                count: bytes,
                names: races.map(words::location).collect(),
                truncated: shown < bytes,
            },
            failure: run.failure.as_ref().map(|message| ProcessFailure {
                kind: "process",
                message,
                place: None,
                task: None,
            }),
            stopped: run.stopped.as_ref().map(|stopped| StoppedRun {
                what: &stopped.what,
                place: place(stopped.stack.place()),
                task: Task::new(&stopped.task),
                stack: frames(&stopped.stack),
            }),
            watch: None,
            logical_threads: run.logical_threads,
            statistics: Counts {
                tasks: run.statistics.tasks,
                finishes: run.statistics.finishes,
                accesses: run.statistics.accesses,
                atomic_accesses: run.statistics.atomic_accesses,
                threads: run.statistics.threads,
            },
        }
    }
}

impl<'a> Pair<'a> {
    fn new(conflict: &'a Conflict) -> Pair<'a> {
        let why = &conflict.why;
        let location = words::location(conflict);
        let allocated = match &conflict.object {
            Object::Heap { allocated, .. } => place(allocated.place()),
            Object::Global { .. } | Object::Stack { .. } | Object::Unknown => None,
        };
        Pair {
            class: conflict.class.word(),
            apparent: false,
            message: words::message(conflict),
            locations: NameList {
                count: conflict.locations,
                names: vec![location.clone()],
                truncated: conflict.bytes < conflict.locations,
            },
            location,
            occurrences: conflict.locations.max(1),
            address: format!("{:#x}", conflict.address),
            bytes: conflict.bytes,
            object: ObjectOrigin::new(&conflict.object),
            ordered_by: conflict.ordered_by.as_ref().map(OrderedBy::new),
            first: Access::new(&conflict.first),
            second: Access::new(&conflict.second),
            why: Why {
                text: words::why(conflict),
                task: Task::new(&why.task),
                spawned: place(why.spawned.as_ref()),
                join: why.join.as_ref().map(|join| Join {
                    what: format!("the end of the {}", join.operation),
                    place: place(join.place.as_ref()),
                }),
            },
            allocated,
            may_follow: conflict.may_follow,
            replay: &conflict.replay,
        }
    }
}

impl<'a> ObjectOrigin<'a> {
    fn new(object: &'a Object) -> ObjectOrigin<'a> {
        let nothing = ObjectOrigin {
            kind: object.kind(),
            name: None,
            size: None,
            offset: None,
            place: None,
            function: None,
            stack: None,
            task: None,
        };
        match object {
            Object::Heap {
                size,
                offset,
                allocated,
                task,
            } => ObjectOrigin {
                size: Some(*size),
                offset: Some(*offset),
                place: place(allocated.place()),
                stack: Some(frames(allocated)),
                task: Some(Task::new(task)),
                ..nothing
            },
            Object::Global {
                name,
                size,
                offset,
                defined,
            } => ObjectOrigin {
                name: Some(name),
                size: Some(*size),
                offset: Some(*offset),
                place: place(defined.as_ref()),
                ..nothing
            },
            Object::Stack {
                function,
                place,
                task,
            } => ObjectOrigin {
                function: Some(function),
                place: self::place(place.as_ref()),
                task: Some(Task::new(task)),
                ..nothing
            },
            Object::Unknown => nothing,
        }
    }
}

impl<'a> Access<'a> {
    fn new(access: &'a NativeAccess) -> Access<'a> {
        Access {
            kind: access.kind.word(),
            isolated: false,
            atomic: access.atomic,
            address: format!("{:#x}", access.address),
            size: access.size,
            place: place(access.stack.place()),
            function: access.stack.frame().map_or("", |frame| &frame.function),
            task: Task::new(&access.task),
            stack: frames(&access.stack),
            locks: access.locks.iter().map(Lock::new).collect(),
        }
    }
}

impl<'a> Lock<'a> {
    fn new(lock: &'a HeldLock) -> Lock<'a> {
        Lock {
            kind: lock.lock.kind.word(),
            address: format!("{:#x}", lock.lock.address),
            object: ObjectOrigin::new(&lock.lock.object),
            place: place(lock.place.as_ref()),
        }
    }
}

impl<'a> OrderedBy<'a> {
    fn new(by: &'a native::OrderedBy) -> OrderedBy<'a> {
        OrderedBy {
            text: words::ordered_by(by),
            kind: by.synchroniser.kind.word(),
            excludes: by.excludes,
            address: format!("{:#x}", by.synchroniser.address),
            object: ObjectOrigin::new(&by.synchroniser.object),
        }
    }
}

impl<'a> Task<'a> {
    fn new(task: &'a NativeTask) -> Task<'a> {
        let mut path = "main".to_owned();
        for part in task.steps.iter().flat_map(|step| &step.parts) {
            path += &format!(".{}", part.task);
        }
        Task {
            path,
            text: words::task(task),
            creations: task.steps.iter().map(Creation::new).collect(),
        }
    }
}

impl<'a> Creation<'a> {
    fn new(step: &'a TaskStep) -> Creation<'a> {
        let parts = step.parts.iter().map(|part| Part {
            task: part.task,
            kind: part.kind.word(),
        });
        Creation {
            operation: &step.operation,
            place: place(step.place.as_ref()),
            parts: parts.collect(),
        }
    }
}

fn frames(stack: &Stack) -> Vec<StackFrame<'_>> {
    let frame = |frame| {
        let Frame {
            function,
            place,
            origin,
            inlined,
        }: &Frame = frame;
        StackFrame {
            function,
            place: self::place(place.as_ref()),
            origin: origin.word(),
            inlined: *inlined,
        }
    };
    stack.frames.iter().map(frame).collect()
}

fn place(place: Option<&Place>) -> Option<SourcePlace<'_>> {
    place.map(SourcePlace::new)
}
