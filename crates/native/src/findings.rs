//! The findings file: what was found, in addresses, as JSON. A tool outside gives the addresses names.
//!
//! One object. `stacks` are lists of addresses inside the calling instructions, innermost first; tasks, finishes and races name
//! theirs by number. Only the tasks that take part in a race are listed, with all that created them, and the finishes that wait for them.

use crate::checker::{Checker, Waits};
use crate::races::{Access, Object, Race};
use crate::structure::{Position, TaskKind};
use finishline_detect::hash::IdMap;
use finishline_detect::history::Meeting;
use finishline_model::{AccessKind, FinishId, LockId, TaskId};
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
    let mut stacks = Stacks::default();
    let mut tasks = BTreeSet::new();
    let mut races = Vec::new();
    let overlaps = checker
        .overlaps
        .iter()
        .filter(|_| checker.options.determinacy);
    for race in checker.races.iter().chain(overlaps) {
        let class = match race.meeting {
            Meeting::Race => "race",
            _ if by_atomics(race) => "atomic-ordered",
            _ => "lock-ordered",
        };
        let object = match race.object {
            Object::Heap {
                start,
                bytes,
                allocated,
                task,
            } => {
                tasks.insert(task);
                let stack = stacks.number(checker, allocated);
                format!(
                    r#"{{"kind":"heap","start":{start},"size":{bytes},"stack":{stack},"task":{}}}"#,
                    task.0
                )
            }
            Object::Stack { place, task } => {
                format!(r#"{{"kind":"stack","function":{place},"task":{}}}"#, task.0)
            }
            Object::Other if in_module(process, race.overlap.start) => {
                r#"{"kind":"global"}"#.to_owned()
            }
            Object::Other => r#"{"kind":"unknown"}"#.to_owned(),
        };
        let mut access = |access: &Access| {
            tasks.insert(access.task);
            let kind = match access.kind {
                AccessKind::Read => "read",
                AccessKind::Write => "write",
            };
            let stack = stacks.number(checker, access.at);
            format!(
                r#"{{"kind":"{kind}","atomic":{},"address":{},"size":{},"stack":{stack},"task":{},"locks":[]}}"#,
                access.atomic, race.overlap.start, access.bytes, access.task.0
            )
        };
        let (first, second) = (access(&race.first), access(&race.second));
        races.push(format!(
            r#"{{"class":"{class}","address":{},"bytes":{},"object":{object},"first":{first},"second":{second},"locations":{}}}"#,
            race.overlap.start,
            race.overlap.end - race.overlap.start,
            race.addresses.count()
        ));
    }
    let stopped = match &checker.stopped {
        Some(stopped) => {
            tasks.insert(stopped.task);
            let what = match stopped.waits {
                Waits::Futex => "futex",
                Waits::Spin => "spin",
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
        overlaps.filter(|race| by_atomics(race) == atomics).count()
    };
    format!(
        concat!(
            r#"{{"format":1,"complete":{},"executable":{},"arguments":[{}],"directory":{},"modules":[{}],"#,
            r#""drop_in":{},"logical_threads":{},"first":"{}","#,
            r#""statistics":{{"accesses":{},"atomic_accesses":{},"tasks":{},"finishes":{},"racing_bytes":{},"lock_ordered":{},"atomic_ordered":{}}},"#,
            r#""threads":{},"synchronised":{},"stopped":{},"distinct_races":{},"#,
            r#""stacks":[{}],"tasks":[{}],"finishes":[{}],"locks":[],"races":[{}]}}"#,
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

/// Whether two accesses that don't race are kept from it by atomic operations, and not by a lock that both hold.
fn by_atomics(race: &Race) -> bool {
    matches!(
        race.meeting,
        Meeting::Excused | Meeting::Overlap(LockId::ATOMIC)
    )
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
