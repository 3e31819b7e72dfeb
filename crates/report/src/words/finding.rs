//! A pair of accesses in words: the accesses, why nothing orders them, the origin of the object.

use super::{count, names, position, position_in, proof, task};
use finishline_answer::finding::{
    Finding, FoundAccess, MachineAccess, Names, OrderedBy, Rule, Synchroniser,
};
use finishline_answer::location::{Bytes, Location, Object, shortened};
use finishline_answer::place::Place;
use finishline_answer::task::{Created, Join, JoinConstruct, Relation, WhyParallel};
use finishline_model::kinds::{NativeAccessKind, NativeTaskKind, SynchroniserKind};

pub(crate) const APPARENT_REMARK: &str = "only the order in which the isolated and locked \
     blocks ran separates (1) and (2); another order might exclude this race or show it";

pub(crate) const MAY_FOLLOW_REMARK: &str =
    "not the first race of the run: it may be a consequence of an earlier one";

/// `write and write to B[0] are not ordered`.
pub(crate) fn message(finding: &Finding) -> String {
    let (first, second) = (&finding.first, &finding.second);
    if finding.rule == Rule::UseAfterFree {
        let preposition = match second.kind {
            NativeAccessKind::Write => "to",
            NativeAccessKind::Read | NativeAccessKind::Free => "of",
        };
        let again = match second.kind {
            NativeAccessKind::Free => "second ",
            NativeAccessKind::Read | NativeAccessKind::Write => "",
        };
        return format!(
            "{again}{} {preposition} {}, which was freed before",
            kind(second),
            finding.location
        );
    }
    let preposition = match (first.kind, second.kind) {
        (NativeAccessKind::Write, NativeAccessKind::Write) => "to",
        _ => "of",
    };
    let passed_on = matches!(
        finding.ordered_by,
        Some(OrderedBy::Synchroniser {
            excludes: false,
            ..
        })
    );
    let relation = match finding.rule {
        Rule::Race | Rule::Unconfirmed => "are not ordered",
        Rule::Apparent => "are ordered only by the isolated and locked blocks of this run",
        Rule::IsolationOrdered => {
            "exclude each other by isolated blocks, and happen in either order"
        }
        Rule::LockOrdered if passed_on => "are ordered in this run only, by a lock",
        Rule::LockOrdered => "exclude each other by a lock, and happen in either order",
        Rule::AtomicOrdered if passed_on => "are ordered in this run only, by atomics",
        Rule::AtomicOrdered => "happen in either order",
        Rule::ThreadOrdered => "are ordered only by the thread that both tasks asked for",
        Rule::UseAfterFree => "come one after the other, though the first ends the block",
    };
    let condition = finding.claim.as_ref().map(|claim| &claim.condition);
    format!(
        "{} and {} {preposition} {} {relation}{}",
        kind(first),
        kind(second),
        finding.location,
        condition.map_or(String::new(), |condition| proof::for_which(condition)),
    )
}

/// `write`, `atomic read`.
pub(crate) fn kind(access: &FoundAccess) -> String {
    let atomic = access
        .machine
        .as_ref()
        .is_some_and(|machine| machine.atomic);
    format!(
        "{}{}",
        if atomic { "atomic " } else { "" },
        access.kind.word()
    )
}

/// `write B[i] += i (isolated)`, or `write of 8 bytes, holding the lock in hist::TABLE`.
pub(crate) fn access(access: &FoundAccess) -> String {
    let kind = kind(access);
    let Some(MachineAccess { size, locks, .. }) = &access.machine else {
        let isolated = if access.isolated { " (isolated)" } else { "" };
        let text = access.place().map_or("", |place| &place.text);
        return format!("{kind} {text}{isolated}");
    };
    let mut text = format!("{kind} of {}", count(*size, "byte", "bytes"));
    for held in locks {
        text += &format!(", holding {}", synchroniser(&held.lock));
        if let Some(place) = &held.place {
            text += &format!(" taken at {}", position(place));
        }
    }
    text
}

/// The task that made an access, or the instance that a proof names: `task main › async@9`, `at i =
/// N`.
pub(crate) fn by(access: &FoundAccess) -> String {
    match &access.task {
        Some(task) => format!("task {}", task::task(task)),
        None => proof::instance(&access.instance),
    }
}

/// Like [`by`] for both accesses of a pair. Numbers tell them apart if necessary.
pub(crate) fn by_both(finding: &Finding) -> [String; 2] {
    let (first, second) = (&finding.first, &finding.second);
    match (&first.task, &second.task) {
        (Some(one), Some(another)) => {
            task::tasks([one, another]).map(|task| format!("task {task}"))
        }
        _ => [by(first), by(second)],
    }
}

/// `the lock in byte 0 of a heap block of 16 bytes`.
pub(crate) fn synchroniser(by: &Synchroniser) -> String {
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
            format!("the {kind} in a local variable of {}", shortened(function))
        }
        Object::ThreadLocal => format!("the {kind} in a thread-local variable"),
        Object::Unknown => format!("the {kind} at {:#x}", by.address),
    }
}

/// What keeps the two accesses from racing, and its origin.
pub(crate) fn ordered_by(by: &OrderedBy) -> String {
    let (by, excludes) = match by {
        OrderedBy::Isolation => return "isolated blocks, which both are in".to_owned(),
        OrderedBy::Lock { name, made } => {
            let name = match name {
                Some(name) => format!("the lock {name}"),
                None => "a lock".to_owned(),
            };
            let made = made
                .as_ref()
                .map(|made| format!("; made at {}", position(made)));
            return format!("{name}, which both hold{}", made.unwrap_or_default());
        }
        OrderedBy::Synchroniser {
            synchroniser,
            excludes,
        } => (synchroniser, *excludes),
    };
    let mut text = synchroniser(by);
    text += match (excludes, by.kind) {
        (true, _) => ", which both hold",
        (false, SynchroniserKind::Atomic) => ", released behind (1) and acquired before (2)",
        (false, _) => ", given up behind (1) and taken before (2)",
    };
    if let Some(origin) = object_origin(&by.object) {
        text += &format!("; {origin}");
    }
    text
}

/// The origin of a pair's object. None if it is unknown, and in a proof.
pub(crate) fn origin(finding: &Finding) -> Option<String> {
    match (&finding.location, &finding.allocated) {
        _ if finding.claim.is_some() => None,
        (Location::Bytes(bytes), _) => object_origin(&bytes.object),
        (location, Some(place)) => Some(format!(
            "{} was allocated at {}",
            object(location),
            position(place)
        )),
        (location, None) => Some(format!("{location} is a global variable")),
    }
}

/// The object that contains a location, or the location itself.
pub(crate) fn object(location: &Location) -> String {
    location
        .object()
        .map_or(location.to_string(), str::to_owned)
}

fn object_origin(object: &Object) -> Option<String> {
    match object {
        Object::Global {
            name,
            size,
            defined,
            ..
        } => {
            let size = count(*size, "byte", "bytes");
            let at = defined.as_ref();
            let at = at.map(|place| format!(", defined at {}:{}", place.file, place.line));
            Some(format!(
                "{name} is a static of {size}{}",
                at.unwrap_or_default()
            ))
        }
        Object::Heap {
            allocated, task, ..
        } => {
            let at = allocated.frame();
            let at = at.map_or("an unknown place".to_owned(), task::frame);
            let task = task::task(task);
            Some(format!("the block was allocated in {at}, by task {task}"))
        }
        Object::Stack { task, .. } => {
            let task = task::task(task);
            Some(format!("the variable is on the stack of task {task}"))
        }
        Object::ThreadLocal | Object::Unknown => None,
    }
}

/// `also at B[1], B[2] (3 locations, 5 times)`. None for a pair seen once.
pub(crate) fn elsewhere(finding: &Finding, longest: usize) -> Option<String> {
    let seen = &finding.seen;
    if let Location::Bytes(Bytes { bytes, .. }) = &finding.location {
        let all = count(seen.locations.count, "byte", "bytes");
        return (seen.locations.count > *bytes).then(|| format!("the same at {all} in all"));
    }
    let times = count(seen.times, "time", "times");
    if seen.locations.count > 1 {
        let shown = seen.locations.shown.iter();
        let others = Names {
            shown: shown
                .filter(|at| **at != finding.location)
                .cloned()
                .collect(),
            count: seen.locations.count - 1,
        };
        let locations = count(seen.locations.count, "location", "locations");
        let others = names(&others, longest);
        Some(format!("also at {others} ({locations}, {times})"))
    } else if seen.times > 1 {
        Some(format!("seen {times}"))
    } else {
        None
    }
}

/// Why nothing orders the two accesses. None in a proof.
pub(crate) fn why(finding: &Finding) -> Option<String> {
    let why = finding.why.as_ref()?;
    Some(match &finding.first.machine {
        Some(_) => why_in_process(finding, why),
        None => why_in_fin(finding, why),
    })
}

/// ` at 9:13`, with the file if it differs from that of the first access.
fn at(finding: &Finding, place: &Option<Place>) -> String {
    let file = finding.first.place().map_or("", |place| &place.file);
    let place = place.as_ref();
    place.map_or(String::new(), |place| {
        format!(" at {}", position_in(place, file))
    })
}

/// The task that nothing waits for in time, and the join that comes too late.
fn why_in_fin(finding: &Finding, why: &WhyParallel) -> String {
    let spawned = format!(
        "{} was spawned{}",
        culprit(finding, why),
        at(finding, &why.spawned)
    );
    if why.relation == Relation::SecondOutlives {
        let because = match why.promises {
            true => NO_PROMISE,
            false => "no join makes (2) wait for (1)",
        };
        return format!("{spawned}, before (1); {because}");
    }
    let Some(Join { construct, place }) = &why.join else {
        return format!("{spawned}; the program failed before any join waited for it");
    };
    let article = match construct {
        JoinConstruct::Sync => "the ",
        _ => "",
    };
    let at = match construct.names_its_line() {
        true => String::new(),
        false => at(finding, place),
    };
    if why.promises {
        return format!("{spawned}; {article}{construct}{at} comes after (2), and {NO_PROMISE}");
    }
    format!("{spawned}; the first join that waits for it is {article}{construct}{at}, after (2)")
}

/// Why promises do not order two accesses.
const NO_PROMISE: &str = "no promise that was set after (1) leads to a get before (2)";

/// The task that runs parallel to the second access. Its captures are given only if its label is
/// ambiguous, because another creation on either path has the same label.
fn culprit(finding: &Finding, why: &WhyParallel) -> String {
    let Some(step) = why.task.steps.last() else {
        return "main".to_owned();
    };
    let label = task::label(step);
    let tasks = [&finding.first.task, &finding.second.task];
    let steps = tasks.into_iter().flatten().flat_map(|task| &task.steps);
    let namesakes = steps.filter(|other| task::label(other) == label).count();
    match &step.created {
        Created::One(creation) if namesakes > 1 => label + &task::captures(creation, None),
        _ => label,
    }
}

fn why_in_process(finding: &Finding, why: &WhyParallel) -> String {
    let at = |place: &Option<Place>| at(finding, place);
    let kind = why.task.kind();
    let spawned = at(&why.spawned);
    let task = kind.map_or("the task spawned", NativeTaskKind::created);
    let task = format!("{task}{spawned}");
    let joined = match &why.join {
        Some(join) => format!("is joined only by {}{}", join.construct, at(&join.place)),
        None if kind == Some(NativeTaskKind::Thread) => "was not joined before (2)".to_owned(),
        None => "is joined by nothing but the end of the program".to_owned(),
    };
    let operation = |otherwise: &str| match &why.join {
        Some(Join {
            construct: JoinConstruct::Operation(operation),
            place,
        }) => (operation.clone(), at(place)),
        _ => (otherwise.to_owned(), String::new()),
    };
    match why.relation {
        Relation::Halves => match operation("join") {
            (name, at) if name.starts_with("join") => {
                format!("the two halves of the {name}{at} are not ordered")
            }
            (name, at) => format!(
                "(1) and (2) are in two parts of the {name}{at}, and its parts are not ordered"
            ),
        },
        Relation::Siblings => {
            let (name, end) = operation("scope");
            let both = format!("both end only with the {name}{end}; nothing orders them");
            match why.spawned == why.other_spawned {
                true => format!("two tasks created{spawned} {both}"),
                false => {
                    let other = at(&why.other_spawned);
                    format!("the tasks created{spawned} and{other} {both}")
                }
            }
        }
        Relation::FirstOutlives => match &why.join {
            Some(_) => format!("{task} {joined}, after (2)"),
            None => format!("{task} {joined}"),
        },
        Relation::SecondOutlives => {
            format!("{task} holds (2), was created before (1) and {joined}")
        }
        Relation::SameTask => {
            "both accesses are told to be of one task, and how they come to be parallel is not known"
                .to_owned()
        }
    }
}
