//! The findings file: what was found, in addresses, as JSON. A tool outside gives the addresses names.
//!
//! One object. `stacks` are lists of addresses inside the calling instructions, innermost first; tasks, finishes and races name
//! theirs by number. Only the tasks that take part in a race are listed, with all that created them, and the finishes that wait for them.

use crate::checker::{Checker, Waits};
use crate::holding::Taken;
use crate::races::{Access, Manner, Object, OrderedBy, Race};
use crate::structure::{Position, TaskKind};
use crate::synchronisation::{Nature, Synchroniser};
use finishline_detect::hash::IdMap;
use finishline_detect::history::Meeting;
use finishline_model::{AccessKind, FinishId, TaskId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What the operating system knows of the process.
#[derive(Clone, Default, Debug)]
pub struct Process {
    pub executable: String,
    pub arguments: Vec<String>,
    pub directory: String,
    pub modules: Vec<Module>,
    pub drop_in: bool,
    pub threads: u64,
    /// It goes on, and these are its findings so far.
    pub goes_on: bool,
}

/// A file mapped into the process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    pub path: String,
    /// An address less this is the one in the file.
    pub bias: u64,
    pub start: u64,
    pub end: u64,
}

/// The file's text.
pub fn write(checker: &Checker, process: &Process) -> String {
    let mut teller = Teller {
        checker,
        process,
        stacks: Stacks::default(),
        tasks: BTreeSet::new(),
    };
    let overlaps = checker
        .overlaps
        .iter()
        .filter(|_| checker.options.determinacy);
    let pairs = checker.races.iter().chain(overlaps);
    let races: Vec<String> = pairs.map(|race| teller.pair(race)).collect();
    let Teller {
        mut stacks,
        mut tasks,
        ..
    } = teller;
    let stopped = match &checker.stopped {
        Some(stopped) => {
            tasks.insert(stopped.task);
            let what = match stopped.waits {
                Waits::Futex => "futex",
                Waits::Spin => "spin",
                Waits::Join => "join",
                Waits::Creator => "creator",
            };
            format!(
                r#"{{"why":"waits","what":"{what}","task":{},"stack":{},"address":{}}}"#,
                stopped.task.0,
                stacks.number(checker, stopped.at),
                stopped.address
            )
        }
        None => "null".to_owned(),
    };
    let (tasks, finishes) = structure(checker, tasks, &mut stacks);
    let modules = process.modules.iter().map(|module| {
        format!(
            r#"{{"path":{},"bias":{},"start":{},"end":{}}}"#,
            quoted(&module.path),
            module.bias,
            module.start,
            module.end
        )
    });
    let arguments = process.arguments.iter().map(|argument| quoted(argument));
    let first = if checker.options.right_first {
        "right"
    } else {
        "left"
    };
    let ordered = |atomics: bool| {
        let overlaps = checker.overlaps.iter();
        let by_atomics = |race: &&Race| class(checker, race) == ATOMIC_ORDERED;
        overlaps.filter(|race| by_atomics(race) == atomics).count()
    };
    format!(
        concat!(
            r#"{{"format":1,"complete":{},"executable":{},"arguments":[{}],"directory":{},"modules":[{}],"#,
            r#""drop_in":{},"logical_threads":{},"first":"{}","#,
            r#""statistics":{{"accesses":{},"atomic_accesses":{},"tasks":{},"finishes":{},"racing_bytes":{},"lock_ordered":{},"atomic_ordered":{}}},"#,
            r#""threads":{},"synchronised":{},"stopped":{},"distinct_races":{},"#,
            r#""stacks":[{}],"tasks":[{}],"finishes":[{}],"races":[{}]}}"#,
            "\n"
        ),
        checker.failure().is_none() && !process.goes_on,
        quoted(&process.executable),
        joined(arguments),
        quoted(&process.directory),
        joined(modules),
        process.drop_in,
        checker.options.logical_threads,
        first,
        checker.glance.accesses,
        checker.atomic_accesses,
        checker.structure.tasks(),
        checker.structure.finishes(),
        checker.races.addresses().count(),
        ordered(false),
        ordered(true),
        process.threads,
        checker.synchronised(),
        stopped,
        checker.races.distinct(),
        joined(stacks.texts.into_iter()),
        joined(tasks.into_iter()),
        joined(finishes.into_iter()),
        joined(races.into_iter()),
    )
}

const ATOMIC_ORDERED: &str = "atomic-ordered";

/// Whether the two accesses race, or what keeps them from it: a lock that both hold or that one gave up and the other took, or atomic
/// operations.
fn class(checker: &Checker, race: &Race) -> &'static str {
    if race.meeting == Meeting::Race {
        return "race";
    }
    match synchroniser(checker, race).map(|(by, _)| by.nature) {
        Some(Nature::Lock | Nature::ReaderWriterLock) => "lock-ordered",
        Some(Nature::Atomic) | None => ATOMIC_ORDERED,
    }
}

/// What orders the two accesses, as it is known by now.
fn synchroniser(checker: &Checker, race: &Race) -> Option<(Synchroniser, Object)> {
    let (by, object) = race.names.ordered_by?;
    let by = match by {
        OrderedBy::Lock(lock) => checker.synchronisation.lock(lock),
        OrderedBy::Object(object) => checker.synchronisation.variable_of(object)?,
    };
    Some((by, object))
}

/// Tells pairs, and collects the stacks and tasks that they name.
struct Teller<'a> {
    checker: &'a Checker,
    process: &'a Process,
    stacks: Stacks,
    tasks: BTreeSet<TaskId>,
}

impl Teller<'_> {
    fn pair(&mut self, race: &Race) -> String {
        let class = class(self.checker, race);
        let object = self.object(&race.names.object, race.overlap.start);
        let ordered_by = match synchroniser(self.checker, race) {
            Some((by, object)) => {
                let excludes = matches!(race.meeting, Meeting::Overlap(_));
                let by = self.synchroniser(by, &object);
                format!(r#"{{{by},"excludes":{excludes}}}"#)
            }
            None => "null".to_owned(),
        };
        let [first_locks, second_locks] = &race.names.locks;
        let first = self.access(race, &race.first, first_locks);
        let second = self.access(race, &race.second, second_locks);
        format!(
            r#"{{"class":"{class}","address":{},"bytes":{},"object":{object},"ordered_by":{ordered_by},"first":{first},"second":{second},"locations":{}}}"#,
            race.overlap.start,
            race.overlap.end - race.overlap.start,
            race.addresses.count()
        )
    }

    fn access(&mut self, race: &Race, access: &Access, locks: &[(Taken, Object)]) -> String {
        self.tasks.insert(access.task);
        let kind = match (access.manner, access.kind) {
            (Manner::Free, _) => "free",
            (_, AccessKind::Read) => "read",
            (_, AccessKind::Write) => "write",
        };
        let mut held = Vec::new();
        for (taken, object) in locks {
            let lock = self.checker.synchronisation.lock(taken.lock);
            // What was never given up as a lock is given up was none.
            if lock.nature != Nature::Atomic {
                let stack = self.stacks.number(self.checker, taken.at);
                let lock = self.synchroniser(lock, object);
                held.push(format!(r#"{{{lock},"stack":{stack}}}"#));
            }
        }
        let stack = self.stacks.number(self.checker, access.at);
        format!(
            r#"{{"kind":"{kind}","atomic":{},"address":{},"size":{},"stack":{stack},"task":{},"locks":[{}]}}"#,
            access.manner == Manner::Atomic,
            race.overlap.start,
            access.bytes,
            access.task.0,
            held.join(",")
        )
    }

    /// The fields that tell what a lock or an atomic variable is.
    fn synchroniser(&mut self, by: Synchroniser, object: &Object) -> String {
        let kind = match by.nature {
            Nature::Atomic => "atomic",
            Nature::Lock => "lock",
            Nature::ReaderWriterLock => "rwlock",
        };
        let object = self.object(object, by.address);
        format!(
            r#""kind":"{kind}","address":{},"object":{object}"#,
            by.address
        )
    }

    /// What the address belongs to.
    fn object(&mut self, object: &Object, address: u64) -> String {
        match *object {
            Object::Heap {
                start,
                bytes,
                allocated,
                task,
            } => {
                self.tasks.insert(task);
                let stack = self.stacks.number(self.checker, allocated);
                format!(
                    r#"{{"kind":"heap","start":{start},"size":{bytes},"stack":{stack},"task":{}}}"#,
                    task.0
                )
            }
            Object::Stack { place, task } => {
                self.tasks.insert(task);
                format!(r#"{{"kind":"stack","function":{place},"task":{}}}"#, task.0)
            }
            Object::Other if in_module(self.process, address) => r#"{"kind":"global"}"#.to_owned(),
            Object::Other => r#"{"kind":"unknown"}"#.to_owned(),
        }
    }
}

fn in_module(process: &Process, address: u64) -> bool {
    let inside = |module: &Module| (module.start..module.end).contains(&address);
    process.modules.iter().any(inside)
}

/// These tasks with all that created them, and the finishes that wait for one of them or that one of them is inside of.
fn structure(
    checker: &Checker,
    named: BTreeSet<TaskId>,
    stacks: &mut Stacks,
) -> (Vec<String>, Vec<String>) {
    let mut tasks = BTreeMap::new();
    let mut finishes = BTreeMap::new();
    for mut id in named {
        while !tasks.contains_key(&id) {
            let task = checker.structure.task(id);
            let stack = stacks.number(checker, task.created);
            let text = match task.kind {
                TaskKind::Main => format!(r#"{{"id":{},"kind":"main"}}"#, id.0),
                kind => format!(
                    r#"{{"id":{},"kind":"{}","parent":{},"finish":{},"stack":{stack}}}"#,
                    id.0,
                    kind.word(),
                    task.parent.0,
                    task.finish.0
                ),
            };
            tasks.insert(id, text);
            let mut finish = task.finish;
            while finish != FinishId::ROOT && !finishes.contains_key(&finish) {
                let record = checker.structure.finish(finish);
                let stack = stacks.number(checker, record.created);
                let parent = match record.parent {
                    FinishId::ROOT => "null".to_owned(),
                    parent => parent.0.to_string(),
                };
                let text = format!(
                    r#"{{"id":{},"kind":"{}","task":{},"parent":{parent},"stack":{stack}}}"#,
                    finish.0,
                    record.kind.word(),
                    record.task.0
                );
                finishes.insert(finish, text);
                finish = record.parent;
            }
            id = task.parent;
        }
    }
    (
        tasks.into_values().collect(),
        finishes.into_values().collect(),
    )
}

/// Stacks by number, each listed once.
#[derive(Default)]
struct Stacks {
    numbers: IdMap<Position, usize>,
    texts: Vec<String>,
}

impl Stacks {
    fn number(&mut self, checker: &Checker, position: Position) -> usize {
        *self.numbers.entry(position).or_insert_with(|| {
            let places =
                std::iter::once(position.place).chain(checker.calls.places(position.calls));
            // What is told is the address behind the call.
            let places = places.map(|place| place.saturating_sub(1).to_string());
            self.texts.push(format!("[{}]", joined(places)));
            self.texts.len() - 1
        })
    }
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", control as u32);
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(quoted("a\"b\\c\n\u{1}é"), r#""a\"b\\c\u000a\u0001é""#);
    }
}
