//! The findings file: what an instrumented process wrote down about its run, as ids and addresses.
//!
//! The file comes from a process that may have crashed, been killed or written over its own memory, so nothing in it is believed:
//! [`parse`] accepts it only if every stack, task and finish it names exists, no id is defined twice, and every task descends from
//! `main` and every finish is owned by a task. What comes after can therefore follow ids without asking. Fields that are not known are
//! skipped, so that a newer runtime can say more. Cost: linear in the file.

use finishline_model::native::{
    ConflictClass, NativeAccessKind, NativeFinishKind, NativeTaskKind, SynchroniserKind,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Deserializer, de};
use std::fmt;
use std::path::Path;

/// The version of the format that is understood.
const FORMAT: u64 = 1;

/// Files larger than this are refused: pairs are limited in number, so no honest file comes near.
const LARGEST: u64 = 1 << 30;

/// A findings file, checked.
#[derive(Clone, Debug, Deserialize)]
pub struct Findings {
    pub complete: bool,
    pub executable: String,
    #[serde(default)]
    pub arguments: Vec<String>,
    #[serde(default)]
    pub directory: String,
    #[serde(default)]
    pub modules: Vec<Module>,
    pub drop_in: bool,
    pub logical_threads: u32,
    #[serde(default)]
    pub first: First,
    /// The detector's name, from a runtime that has more than one.
    #[serde(default)]
    pub detector: Option<String>,
    #[serde(default)]
    pub statistics: Statistics,
    #[serde(default)]
    pub threads: u64,
    #[serde(default)]
    pub synchronised: bool,
    #[serde(default)]
    pub stopped: Option<Stop>,
    #[serde(default)]
    pub stacks: Vec<Vec<u64>>,
    #[serde(default)]
    pub tasks: Vec<Task>,
    #[serde(default)]
    pub finishes: Vec<Finish>,
    #[serde(default)]
    pub races: Vec<Pair>,
    /// How many distinct pairs there were, if more than are listed.
    #[serde(default)]
    pub distinct_races: u64,
    #[serde(skip)]
    task_index: FxHashMap<u64, usize>,
    #[serde(skip)]
    finish_index: FxHashMap<u64, usize>,
}

/// A file mapped into the process: an address in it minus the bias is an address of the ELF file.
#[derive(Clone, Debug, Deserialize)]
pub struct Module {
    pub path: String,
    pub bias: u64,
    pub start: u64,
    pub end: u64,
}

/// Which half of a join ran first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum First {
    #[default]
    Left,
    Right,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Statistics {
    pub accesses: u64,
    pub atomic_accesses: u64,
    pub tasks: u64,
    pub finishes: u64,
    pub racing_bytes: u64,
    /// Conflicts of parallel tasks that a common lock, or that both being atomic, keeps from being races, whether listed or not; none from a
    /// runtime that does not count them.
    pub lock_ordered: Option<u64>,
    pub atomic_ordered: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Stop {
    pub what: String,
    pub task: u64,
    pub stack: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Task {
    pub id: u64,
    #[serde(deserialize_with = "task_kind")]
    pub kind: NativeTaskKind,
    #[serde(default)]
    pub parent: u64,
    /// What waits for it; 0: nothing but the end of the program.
    #[serde(default)]
    pub finish: u64,
    pub stack: Option<usize>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Finish {
    pub id: u64,
    #[serde(deserialize_with = "finish_kind")]
    pub kind: NativeFinishKind,
    /// The task that waits at its end.
    pub task: u64,
    pub stack: Option<usize>,
}

/// A variable that keeps tasks in order.
#[derive(Clone, Debug, Deserialize)]
pub struct Synchroniser {
    #[serde(deserialize_with = "synchroniser_kind")]
    pub kind: SynchroniserKind,
    pub address: u64,
    pub object: Object,
}

/// A lock held at an access, and where it was taken.
#[derive(Clone, Debug, Deserialize)]
pub struct HeldLock {
    #[serde(flatten)]
    pub lock: Synchroniser,
    pub stack: usize,
}

/// What keeps the two accesses of a pair from being a race.
#[derive(Clone, Debug, Deserialize)]
pub struct OrderedBy {
    #[serde(flatten)]
    pub synchroniser: Synchroniser,
    pub excludes: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Pair {
    #[serde(deserialize_with = "class")]
    pub class: ConflictClass,
    pub address: u64,
    pub bytes: u64,
    pub object: Object,
    #[serde(default)]
    pub ordered_by: Option<OrderedBy>,
    pub first: Access,
    pub second: Access,
    #[serde(default)]
    pub locations: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Object {
    Heap {
        start: u64,
        size: u64,
        stack: usize,
        task: u64,
    },
    Global,
    Stack {
        function: u64,
        task: u64,
    },
    Unknown,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Access {
    #[serde(deserialize_with = "access_kind")]
    pub kind: NativeAccessKind,
    #[serde(default)]
    pub atomic: bool,
    pub address: u64,
    pub size: u64,
    pub stack: usize,
    pub task: u64,
    #[serde(default)]
    pub locks: Vec<HeldLock>,
}

fn task_kind<'de, D: Deserializer<'de>>(from: D) -> Result<NativeTaskKind, D::Error> {
    let word = String::deserialize(from)?;
    NativeTaskKind::from_word(&word)
        .ok_or_else(|| de::Error::custom(format!("no kind of task is called {word:?}")))
}

fn access_kind<'de, D: Deserializer<'de>>(from: D) -> Result<NativeAccessKind, D::Error> {
    let word = String::deserialize(from)?;
    NativeAccessKind::from_word(&word)
        .ok_or_else(|| de::Error::custom(format!("no kind of access is called {word:?}")))
}

fn synchroniser_kind<'de, D: Deserializer<'de>>(from: D) -> Result<SynchroniserKind, D::Error> {
    let word = String::deserialize(from)?;
    SynchroniserKind::from_word(&word)
        .ok_or_else(|| de::Error::custom(format!("nothing that orders tasks is called {word:?}")))
}

fn finish_kind<'de, D: Deserializer<'de>>(from: D) -> Result<NativeFinishKind, D::Error> {
    let word = String::deserialize(from)?;
    NativeFinishKind::from_word(&word)
        .ok_or_else(|| de::Error::custom(format!("no kind of finish is called {word:?}")))
}

fn class<'de, D: Deserializer<'de>>(from: D) -> Result<ConflictClass, D::Error> {
    let word = String::deserialize(from)?;
    ConflictClass::from_word(&word)
        .ok_or_else(|| de::Error::custom(format!("no class of pairs is called {word:?}")))
}

/// Findings that can't be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    pub why: String,
}

impl Unusable {
    fn new(why: impl Into<String>) -> Unusable {
        Unusable { why: why.into() }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Unusable {}

/// Reads and checks a findings file.
pub fn read(path: &Path) -> Result<Findings, Unusable> {
    let told = |why: &dyn fmt::Display| Unusable::new(format!("{}: {why}", path.display()));
    let metadata = std::fs::metadata(path).map_err(|error| told(&error))?;
    if !metadata.is_file() {
        return Err(told(&"not a file"));
    }
    if metadata.len() > LARGEST {
        return Err(told(&"too large for a findings file"));
    }
    let text = std::fs::read(path).map_err(|error| told(&error))?;
    parse(&text).map_err(|unusable| told(&unusable))
}

/// Understands and checks the text of a findings file.
pub fn parse(text: &[u8]) -> Result<Findings, Unusable> {
    #[derive(Deserialize)]
    struct Header {
        format: u64,
    }
    let explained = |error: serde_json::Error| {
        if error.is_eof() {
            Unusable::new(format!(
                "the findings are cut short, so the process ended while it wrote them ({error})"
            ))
        } else {
            Unusable::new(format!("not a findings file: {error}"))
        }
    };
    let header: Header = serde_json::from_slice(text).map_err(explained)?;
    if header.format != FORMAT {
        return Err(Unusable::new(format!(
            "the findings have format {}, and only format {FORMAT} is understood: tool and runtime are of different versions",
            header.format
        )));
    }
    let mut findings: Findings = serde_json::from_slice(text).map_err(explained)?;
    findings.index()?;
    findings.check()?;
    Ok(findings)
}

impl Findings {
    pub fn task(&self, id: u64) -> Option<&Task> {
        self.task_index.get(&id).map(|index| &self.tasks[*index])
    }

    pub fn finish(&self, id: u64) -> Option<&Finish> {
        let index = self.finish_index.get(&id);
        index.map(|index| &self.finishes[*index])
    }

    /// Whether anything was parallel that was heard of.
    pub fn has_parallelism(&self) -> bool {
        self.drop_in || self.threads > 0
    }

    /// The tasks from `main`'s child down to this one; empty for `main`.
    pub fn path(&self, task: u64) -> Vec<&Task> {
        let parent = |task: &&Task| self.task(task.parent);
        let chain = std::iter::successors(self.task(task), parent);
        let mut path: Vec<&Task> = chain
            .take_while(|task| task.kind != NativeTaskKind::Main)
            .collect();
        path.reverse();
        path
    }

    fn index(&mut self) -> Result<(), Unusable> {
        let twice =
            |what: &str, id: u64| Err(Unusable::new(format!("{what} {id} is listed twice")));
        for (index, task) in self.tasks.iter().enumerate() {
            if self.task_index.insert(task.id, index).is_some() {
                return twice("task", task.id);
            }
        }
        for (index, finish) in self.finishes.iter().enumerate() {
            if self.finish_index.insert(finish.id, index).is_some() {
                return twice("finish", finish.id);
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Unusable> {
        self.every_task_descends_from_main()?;
        let task_exists = |id| match self.task(id) {
            Some(_) => Ok(()),
            None => Err(Unusable::new(format!("task {id} is not listed"))),
        };
        let stack_exists = |stack: usize| match self.stacks.get(stack) {
            Some(_) => Ok(()),
            None => Err(Unusable::new(format!("stack {stack} is not listed"))),
        };
        for task in &self.tasks {
            task.stack.map_or(Ok(()), stack_exists)?;
            if task.finish != 0 && self.finish(task.finish).is_none() {
                let (id, finish) = (task.id, task.finish);
                let why = format!("finish {finish} of task {id} is not listed");
                return Err(Unusable::new(why));
            }
        }
        for finish in &self.finishes {
            task_exists(finish.task)?;
            finish.stack.map_or(Ok(()), stack_exists)?;
        }
        if let Some(stop) = &self.stopped {
            task_exists(stop.task)?;
            stack_exists(stop.stack)?;
        }
        let object_exists = |object: &Object| match *object {
            Object::Heap { stack, task, .. } => stack_exists(stack).and(task_exists(task)),
            Object::Stack { task, .. } => task_exists(task),
            Object::Global | Object::Unknown => Ok(()),
        };
        for pair in &self.races {
            for access in [&pair.first, &pair.second] {
                task_exists(access.task)?;
                stack_exists(access.stack)?;
                for held in &access.locks {
                    stack_exists(held.stack)?;
                    object_exists(&held.lock.object)?;
                }
            }
            if let Some(ordered_by) = &pair.ordered_by {
                object_exists(&ordered_by.synchroniser.object)?;
            }
            object_exists(&pair.object)?;
        }
        Ok(())
    }

    fn every_task_descends_from_main(&self) -> Result<(), Unusable> {
        let mut descends: FxHashSet<u64> = FxHashSet::default();
        for task in &self.tasks {
            let mut fresh = Vec::new();
            let mut at = task;
            while at.kind != NativeTaskKind::Main && !descends.contains(&at.id) {
                if fresh.len() > self.tasks.len() {
                    let why = format!("task {} descends from itself", task.id);
                    return Err(Unusable::new(why));
                }
                fresh.push(at.id);
                let Some(parent) = self.task(at.parent) else {
                    let (id, parent) = (at.id, at.parent);
                    let why = format!("task {parent}, the parent of task {id}, is not listed");
                    return Err(Unusable::new(why));
                };
                at = parent;
            }
            descends.extend(fresh);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn small() -> Value {
        json!({
            "format": 1, "complete": true, "executable": "a.out", "drop_in": true, "logical_threads": 16,
            "stacks": [[1, 2], [3]],
            "tasks": [
                {"id": 0, "kind": "main"},
                {"id": 1, "kind": "join-left", "parent": 0, "finish": 1, "stack": 0},
                {"id": 2, "kind": "spawn", "parent": 1, "finish": 0, "stack": 1},
            ],
            "finishes": [{"id": 1, "kind": "join", "task": 0, "parent": null, "stack": 0}],
            "races": [{
                "class": "race", "address": 16, "bytes": 8, "object": {"kind": "global"}, "locations": 8,
                "ordered_by": {"kind": "atomic", "address": 8, "object": {"kind": "unknown"}, "excludes": false},
                "first": {
                    "kind": "write", "atomic": false, "address": 16, "size": 8, "stack": 0, "task": 2,
                    "locks": [{"kind": "lock", "address": 8, "object": {"kind": "unknown"}, "stack": 1}],
                },
                "second": {"kind": "read", "address": 16, "size": 8, "stack": 1, "task": 0, "locks": []},
            }],
            "said by a newer runtime": {"a": [1]},
        })
    }

    fn why(value: &Value) -> String {
        parse(value.to_string().as_bytes())
            .expect_err("unusable")
            .to_string()
    }

    #[test]
    fn a_task_is_reached_from_main() {
        let findings = parse(small().to_string().as_bytes()).expect("usable");
        let ids = |task| findings.path(task).iter().map(|t| t.id).collect::<Vec<_>>();
        assert_eq!((ids(0), ids(1), ids(2)), (vec![], vec![1], vec![1, 2]));
    }

    #[test]
    fn every_reference_must_exist() {
        for (pointer, value, expected) in [
            ("/format", json!(2), "format 2"),
            ("/tasks/1/parent", json!(7), "task 7, the parent of task 1"),
            ("/tasks/1/parent", json!(2), "descends from itself"),
            ("/tasks/1/parent", json!(1), "descends from itself"),
            ("/tasks/1/id", json!(2), "task 2 is listed twice"),
            ("/tasks/1/finish", json!(9), "finish 9 of task 1"),
            ("/tasks/1/stack", json!(2), "stack 2"),
            ("/tasks/1/kind", json!("fork"), "\"fork\""),
            ("/finishes/0/kind", json!("end"), "\"end\""),
            ("/finishes/0/task", json!(5), "task 5"),
            ("/finishes/0/stack", json!(5), "stack 5"),
            ("/races/0/first/stack", json!(5), "stack 5"),
            ("/races/0/second/task", json!(5), "task 5"),
            ("/races/0/first/locks/0/stack", json!(5), "stack 5"),
            ("/races/0/first/locks/0/kind", json!("latch"), "\"latch\""),
            (
                "/races/0/first/locks/0/object",
                json!({"kind": "stack", "function": 0, "task": 7}),
                "task 7",
            ),
            (
                "/races/0/ordered_by/object",
                json!({"kind": "heap", "start": 0, "size": 8, "stack": 8, "task": 0}),
                "stack 8",
            ),
            ("/races/0/class", json!("rice"), "\"rice\""),
            ("/races/0/first/kind", json!("touch"), "touch"),
            ("/races/0/address", json!(-1), "-1"),
            (
                "/races/0/object",
                json!({"kind": "heap", "start": 0, "size": 8, "stack": 6, "task": 0}),
                "stack 6",
            ),
            (
                "/races/0/object",
                json!({"kind": "stack", "function": 0, "task": 6}),
                "task 6",
            ),
        ] {
            let mut broken = small();
            *broken.pointer_mut(pointer).expect("the field exists") = value.clone();
            let why = why(&broken);
            assert!(why.contains(expected), "{pointer} = {value}: {why}");
        }
        let mut broken = small();
        broken["stopped"] =
            json!({"why": "waits", "what": "spin", "task": 0, "stack": 4, "address": 0});
        assert!(why(&broken).contains("stack 4"));
    }

    #[test]
    fn every_prefix_of_a_file_is_refused_with_a_reason() {
        let text = small().to_string();
        for end in 0..text.len() {
            let Err(unusable) = parse(&text.as_bytes()[..end]) else {
                panic!("{}", &text[..end]);
            };
            assert!(unusable.why.contains("cut short"), "{unusable}");
        }
        parse(b"\xff\xfe").expect_err("no text");
        parse("[".repeat(100_000).as_bytes()).expect_err("nested too deep");
    }

    #[test]
    fn every_damaged_byte_is_refused_or_understood() {
        let text = small().to_string();
        for at in 0..text.len() {
            for byte in [b'0', b'9', b'"', b'}', b',', 0xff] {
                let mut damaged = text.clone().into_bytes();
                damaged[at] = byte;
                if let Ok(findings) = parse(&damaged) {
                    for task in &findings.tasks {
                        findings.path(task.id);
                    }
                }
            }
        }
    }
}
