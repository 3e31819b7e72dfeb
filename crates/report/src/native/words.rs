//! The phrases about a native run that more than one format prints. As in [`crate::words`], everything may contain the user's text as it is.

use crate::words::{LONGEST_PATH, PATH_HEAD, PATH_TAIL, count, position, position_in, skipped};
use finishline_answer::native::{
    Conflict, ConflictClass, Frame, Limit, NativeAccess, NativeAccessKind, NativeRun, NativeTask,
    NativeTaskKind, Object, OrderedBy, Origin, Relation, Stack, Stopped, Synchroniser,
    SynchroniserKind, TaskStep, UnseenAtomic,
};
use finishline_answer::shell_word;
use finishline_answer::summary::Place;
use finishline_answer::verdict::{Extent, Verdict};
use std::collections::BTreeSet;

/// Halves of one step listed before the list is cut in the middle.
const MOST_HALVES: usize = 8;

/// Operations that are not seen, listed before the rest is counted.
const MOST_UNSEEN: usize = 8;

/// Names of functions, generic arguments included, are cut at so many characters.
const LONGEST_FUNCTION: usize = 100;

/// `write and read of bytes 8..16 of hist::TABLE are not ordered`.
pub(super) fn message(conflict: &Conflict) -> String {
    let (first, second) = (&conflict.first, &conflict.second);
    let preposition = match (first.kind, second.kind) {
        (NativeAccessKind::Write, NativeAccessKind::Write) => "to",
        _ => "of",
    };
    let passed_on = conflict.ordered_by.as_ref().is_some_and(|by| !by.excludes);
    let relation = match conflict.class {
        ConflictClass::Race => "are not ordered",
        ConflictClass::LockOrdered if passed_on => "are ordered in this run only, by a lock",
        ConflictClass::LockOrdered => "exclude each other by a lock, and happen in either order",
        ConflictClass::AtomicOrdered if passed_on => "are ordered in this run only, by atomics",
        ConflictClass::AtomicOrdered => "happen in either order",
    };
    format!(
        "{} and {} {preposition} {} {relation}",
        kind(first),
        kind(second),
        location(conflict)
    )
}

fn kind(access: &NativeAccess) -> String {
    let atomic = if access.atomic { "atomic " } else { "" };
    format!("{atomic}{}", access.kind.word())
}

/// The conflicting bytes as a part of their object.
pub(super) fn location(conflict: &Conflict) -> String {
    bytes_of(&conflict.object, conflict.bytes.max(1), conflict.address)
}

/// So many bytes from an address on, as a part of their object.
fn bytes_of(object: &Object, bytes: u64, address: u64) -> String {
    let part = |offset: u64| match bytes {
        1 => format!("byte {offset} of"),
        _ => format!("bytes {offset}..{} of", offset.saturating_add(bytes)),
    };
    match object {
        Object::Global {
            name, size, offset, ..
        } if (*offset, *size) == (0, bytes) => name.clone(),
        Object::Global { name, offset, .. } => format!("{} {name}", part(*offset)),
        Object::Heap { size, offset, .. } => {
            format!(
                "{} a heap block of {}",
                part(*offset),
                count(*size, "byte", "bytes")
            )
        }
        Object::Stack { function, .. } if function.is_empty() => "a local variable".to_owned(),
        Object::Stack { function, .. } => format!("a local variable of {}", short(function)),
        Object::Unknown => format!("the {} at {address:#x}", count(bytes, "byte", "bytes")),
    }
}

/// Where an object comes from; none if nothing is known about it.
pub(super) fn origin(object: &Object) -> Option<String> {
    match object {
        Object::Global {
            name,
            size,
            defined,
            ..
        } => {
            let size = count(*size, "byte", "bytes");
            let at = defined
                .as_ref()
                .map(|place| format!(", defined at {}:{}", place.file, place.line));
            Some(format!(
                "{name} is a static of {size}{}",
                at.unwrap_or_default()
            ))
        }
        Object::Heap {
            allocated, task, ..
        } => {
            let at = allocated
                .frame()
                .map_or("an unknown place".to_owned(), frame);
            Some(format!(
                "the block was allocated in {at}, by task {}",
                self::task(task)
            ))
        }
        Object::Stack { task, .. } => Some(format!(
            "the variable is on the stack of task {}",
            self::task(task)
        )),
        Object::Unknown => None,
    }
}

/// `write of 8 bytes, holding the lock in hist::TABLE taken at src/main.rs:9:5`.
pub(super) fn access(access: &NativeAccess) -> String {
    let mut text = format!(
        "{} of {}",
        kind(access),
        count(access.size, "byte", "bytes")
    );
    for held in &access.locks {
        text += &format!(", holding {}", synchroniser(&held.lock));
        if let Some(place) = &held.place {
            text += &format!(" taken at {}", position(place));
        }
    }
    text
}

/// `the lock in byte 0 of a heap block of 16 bytes`.
pub(super) fn synchroniser(by: &Synchroniser) -> String {
    let kind = match by.kind {
        SynchroniserKind::Lock => "lock",
        SynchroniserKind::Rwlock => "reader-writer lock",
        SynchroniserKind::Atomic => "atomic",
    };
    match &by.object {
        Object::Global { name, .. } => format!("the {kind} in {name}"),
        Object::Heap { size, offset, .. } => {
            let size = count(*size, "byte", "bytes");
            format!("the {kind} at byte {offset} of a heap block of {size}")
        }
        Object::Stack { function, .. } if function.is_empty() => {
            format!("the {kind} in a local variable")
        }
        Object::Stack { function, .. } => {
            format!("the {kind} in a local variable of {}", short(function))
        }
        Object::Unknown => format!("the {kind} at {:#x}", by.address),
    }
}

/// `src/main.rs:9:5`, or the function if debug information has no line.
pub(super) fn site(stack: &Stack) -> String {
    match (stack.place(), stack.frame()) {
        (Some(place), _) => position(place),
        (None, Some(frame)) => short(&frame.function),
        (None, None) => "an unknown place".to_owned(),
    }
}

/// `hist::fill at src/hist.rs:17:5`.
pub(super) fn frame(frame: &Frame) -> String {
    let function = short(&frame.function);
    match &frame.place {
        Some(place) => format!("{function} at {}", position(place)),
        None => function,
    }
}

fn short(function: &str) -> String {
    match function.char_indices().nth(LONGEST_FUNCTION) {
        Some((end, _)) => format!("{}…", &function[..end]),
        None => function.to_owned(),
    }
}

/// The frames of a stack as a user wants them: each of the user's and of other packages, and the innermost; what rayon, std and the system add in
/// between is one line.
pub(super) fn stack(stack: &Stack) -> Vec<String> {
    let folds = |index: usize| {
        let origin = &stack.frames[index].origin;
        index > 0 && matches!(origin, Origin::Rayon | Origin::Std | Origin::System)
    };
    let mut lines = Vec::new();
    let mut at = 0;
    while at < stack.frames.len() {
        let run = (at..stack.frames.len())
            .take_while(|index| folds(*index))
            .count();
        if run == 0 {
            lines.push(frame(&stack.frames[at]));
            at += 1;
        } else {
            let frames = &stack.frames[at..at + run];
            let owners: BTreeSet<&str> = frames.iter().map(|frame| frame.origin.word()).collect();
            let owners: Vec<&str> = owners.into_iter().collect();
            let frames = count(run as u64, "frame", "frames");
            lines.push(format!("… {frames} of {}", owners.join(", ")));
            at += run;
        }
    }
    lines
}

/// `main › for_each at src/hist.rs:17:14, halves left, right`.
pub(super) fn task(task: &NativeTask) -> String {
    let mut steps: Vec<String> = task.steps.iter().map(step).collect();
    if steps.len() > LONGEST_PATH {
        let tail = steps.len() - PATH_TAIL;
        steps.splice(PATH_HEAD..tail, [skipped(tail - PATH_HEAD)]);
    }
    steps.insert(0, "main".to_owned());
    steps.join(" › ")
}

/// The two tasks of a pair; if they read the same, their numbers tell them apart.
pub(super) fn tasks(conflict: &Conflict) -> [String; 2] {
    let tasks = [&conflict.first.task, &conflict.second.task];
    let texts = tasks.map(task);
    if texts[0] == texts[1] && tasks[0].id != tasks[1].id {
        tasks.map(|task| format!("{} (task {})", self::task(task), task.id))
    } else {
        texts
    }
}

fn step(step: &TaskStep) -> String {
    let at = step
        .place
        .as_ref()
        .map(|place| format!(" at {}", position(place)));
    format!(
        "{}{}{}",
        step.operation,
        at.unwrap_or_default(),
        parts(step)
    )
}

fn parts(step: &TaskStep) -> String {
    let halves: Vec<&str> = step
        .parts
        .iter()
        .filter_map(|part| part.kind.half())
        .collect();
    match (halves.as_slice(), step.parts.len()) {
        ([], 0 | 1) => String::new(),
        ([], deep) => format!(", {deep} deep"),
        ([half], _) => format!(", {half} half"),
        (halves, _) if halves.len() <= MOST_HALVES => format!(", halves {}", halves.join(", ")),
        (halves, count) => {
            let (head, tail) = (
                &halves[..MOST_HALVES / 2],
                &halves[count - MOST_HALVES / 2..],
            );
            let more = skipped(count - MOST_HALVES);
            format!(", halves {}, {more}, {}", head.join(", "), tail.join(", "))
        }
    }
}

/// What keeps the two accesses from being a race, and where it comes from.
pub(super) fn ordered_by(by: &OrderedBy) -> String {
    let OrderedBy {
        synchroniser,
        excludes,
    } = by;
    let mut text = self::synchroniser(synchroniser);
    text += match (excludes, synchroniser.kind) {
        (true, _) => ", which both hold",
        (false, SynchroniserKind::Atomic) => ", released behind (1) and acquired before (2)",
        (false, _) => ", given up behind (1) and taken before (2)",
    };
    if let Some(origin) = origin(&synchroniser.object) {
        text += &format!("; {origin}");
    }
    text
}

/// Why nothing orders the two accesses.
pub(super) fn why(conflict: &Conflict) -> String {
    let why = &conflict.why;
    let file = conflict.first.stack.place().map_or("", |place| &place.file);
    let at = |place: &Option<Place>| {
        place.as_ref().map_or(String::new(), |place| {
            format!(" at {}", position_in(place, file))
        })
    };
    let kind = why
        .task
        .steps
        .last()
        .and_then(|step| step.parts.last())
        .map(|part| part.kind);
    let task = match kind {
        Some(NativeTaskKind::JoinLeft) => format!("the left half of the join{}", at(&why.spawned)),
        Some(NativeTaskKind::JoinRight) => {
            format!("the right half of the join{}", at(&why.spawned))
        }
        Some(NativeTaskKind::Thread) => format!("the thread started{}", at(&why.spawned)),
        Some(NativeTaskKind::Broadcast) => format!("the task of the broadcast{}", at(&why.spawned)),
        _ => format!("the task spawned{}", at(&why.spawned)),
    };
    let joined = match &why.join {
        Some(join) => format!(
            "is joined only by the end of the {}{}",
            join.operation,
            at(&join.place)
        ),
        None if kind == Some(NativeTaskKind::Thread) => "was not joined before (2)".to_owned(),
        None => "is joined by nothing but the end of the program".to_owned(),
    };
    let operation = |otherwise: &str| match &why.join {
        Some(join) => (join.operation.clone(), at(&join.place)),
        None => (otherwise.to_owned(), String::new()),
    };
    match why.relation {
        Relation::Halves => match operation("join") {
            (name, at) if name.starts_with("join") => format!("the two halves of the {name}{at} are not ordered"),
            (name, at) => format!("(1) and (2) are in two parts of the {name}{at}, and its parts are not ordered"),
        },
        Relation::Siblings => {
            let (name, end) = operation("scope");
            if why.spawned == why.other_spawned {
                format!("two tasks created{} both end only with the {name}{end}; nothing orders them", at(&why.spawned))
            } else {
                format!(
                    "the tasks created{} and{} both end only with the {name}{end}; nothing orders them",
                    at(&why.spawned),
                    at(&why.other_spawned)
                )
            }
        }
        Relation::FirstOutlives => match &why.join {
            Some(_) => format!("{task} {joined}, after (2)"),
            None => format!("{task} {joined}"),
        },
        Relation::SecondOutlives => format!("{task} holds (2), was created before (1) and {joined}"),
        Relation::SameTask => "both accesses are told to be of one task, and how they come to be parallel is not known".to_owned(),
    }
}

/// `a task spins in vain at src/main.rs:7:9`.
pub(super) fn stopped(stopped: &Stopped) -> String {
    let at = site(&stopped.stack);
    match stopped.what.as_str() {
        "futex" => format!("a task waits in vain for a lock, a message or a signal at {at}"),
        "spin" => format!("a task spins in vain at {at}"),
        "join" => format!("a task waits in vain for the end of a thread at {at}"),
        "creator" => {
            format!("a thread waits at {at} for another one that can't go on before it does")
        }
        what => format!("a task waits in vain ({what}) at {at}"),
    }
}

/// For what the answer holds.
pub(super) fn guarantee(run: &NativeRun) -> String {
    let guarantee = run
        .extent
        .guarantee()
        .replace("{threads}", &run.logical_threads.to_string());
    if run.verdict == Verdict::Unknown || run.extent == Extent::Nothing {
        Extent::Nothing.guarantee().to_owned()
    } else if run.failure.is_some() || run.stopped.is_some() {
        format!("up to where the run ended, {guarantee}")
    } else {
        guarantee
    }
}

/// `fetch_max at src/main.rs:7:9`.
pub(super) fn unseen(atomic: &UnseenAtomic) -> String {
    let operation = atomic.operation.as_deref().unwrap_or("inline assembly");
    match &atomic.place {
        Some(place) => format!("{operation} at {}", position(place)),
        None => format!("{operation} in {}", short(&atomic.function)),
    }
}

/// The operations that are not seen, the first ones in full; none if there are none.
pub(super) fn all_unseen<'r>(atomics: impl Iterator<Item = &'r UnseenAtomic>) -> Option<String> {
    let mut told: Vec<String> = Vec::new();
    for atomic in atomics.map(unseen) {
        if !told.contains(&atomic) {
            told.push(atomic);
        }
    }
    let more = told.len().saturating_sub(MOST_UNSEEN);
    told.truncate(MOST_UNSEEN);
    if more > 0 {
        told.push(format!("{more} more"));
    }
    let last = told.pop()?;
    Some(match told.is_empty() {
        true => last,
        false => format!("{} and {last}", told.join(", ")),
    })
}

/// What would establish more.
pub(super) fn stronger(run: &NativeRun) -> Option<&'static str> {
    let limit = run.because?;
    let already_asked = run.conflicts.iter().any(|c| c.class != ConflictClass::Race);
    // Races come first: of a program that has some, nothing else is worth establishing, except that they are some.
    let is_worth_it = match limit {
        Limit::Unseen => true,
        _ => run.verdict != Verdict::Race && !already_asked,
    };
    is_worth_it.then(|| limit.stronger())
}

/// What ran, as one would type it in a shell: the program and its arguments, or the command for one test.
pub(super) fn command(run: &NativeRun) -> String {
    if run.test.is_some() && !run.replay.is_empty() {
        return run.replay.clone();
    }
    let words = std::iter::once(&run.program).chain(&run.arguments);
    words
        .map(|word| shell_word(word))
        .collect::<Vec<_>>()
        .join(" ")
}

pub(super) fn statistics(run: &NativeRun) -> String {
    let statistics = &run.statistics;
    [
        count(statistics.tasks, "task", "tasks"),
        count(statistics.finishes, "finish", "finishes"),
        count(statistics.accesses, "access", "accesses"),
        count(
            statistics.atomic_accesses,
            "atomic access",
            "atomic accesses",
        ),
        count(statistics.threads, "more thread", "more threads"),
    ]
    .join(", ")
}

/// How many pairs were left out at the user's wish; none if there were none.
pub(super) fn suppressed(run: &NativeRun) -> Option<String> {
    let file = &run.suppressed.as_ref()?.file;
    match run.suppressed_count() {
        0 => None,
        n => Some(format!(
            "{} suppressed by {file}",
            count(n, "pair is", "pairs are")
        )),
    }
}

/// `and 3 more distinct pairs`.
pub(super) fn more(run: &NativeRun) -> Option<String> {
    let told = run.suppressed_count() + run.conflicts.len() as u64;
    let more = run.distinct.saturating_sub(told);
    (more > 0).then(|| {
        format!(
            "and {}",
            count(more, "more distinct pair", "more distinct pairs")
        )
    })
}
