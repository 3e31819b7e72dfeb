//! Reads and checks the findings of an instrumented process.
//!
//! The format is [`finishline_model::findings`]. The process may have crashed, been killed or
//! overwritten its own memory, so nothing in the file is believed. [`parse`] refuses a file of
//! another format or version. It also refuses a file that names a missing stack, task or finish,
//! lists an id twice, or has a task that does not descend from `main`. Later code can follow ids
//! without further checks. Cost: linear in the file.

use finishline_model::findings::{FindingsFile, ListedFinish, ListedObject, ListedTask, Parsed};
use finishline_model::kinds::NativeTaskKind;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use std::fmt;
use std::ops::Deref;
use std::path::Path;

/// The largest file that is read. The number of pairs is limited, so no honest file comes near.
const LARGEST: u64 = 1 << 30;

/// A findings file, checked.
#[derive(Clone, Debug)]
pub struct Findings {
    file: FindingsFile,
    task_index: FxHashMap<u64, usize>,
    finish_index: FxHashMap<u64, usize>,
}

impl Deref for Findings {
    type Target = FindingsFile;

    fn deref(&self) -> &FindingsFile {
        &self.file
    }
}

/// A value from serde's parser.
#[derive(Clone, Copy)]
struct ParsedJson<'a>(&'a Value);

impl Parsed for ParsedJson<'_> {
    fn field(self, name: &str) -> Option<Self> {
        self.0.get(name).map(ParsedJson)
    }

    fn items(self) -> Option<Vec<Self>> {
        let items = self.0.as_array()?;
        Some(items.iter().map(ParsedJson).collect())
    }

    fn number(self) -> Option<u64> {
        self.0.as_u64()
    }

    fn text(&self) -> Option<&str> {
        self.0.as_str()
    }

    fn flag(self) -> Option<bool> {
        self.0.as_bool()
    }

    fn is_null(self) -> bool {
        self.0.is_null()
    }
}

/// Why findings can't be used.
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
    let explained = |error: serde_json::Error| {
        if error.is_eof() {
            Unusable::new(format!(
                "the findings are cut short, so the process ended while it wrote them ({error})"
            ))
        } else {
            Unusable::new(format!("not a findings file: {error}"))
        }
    };
    let value: Value = serde_json::from_slice(text).map_err(explained)?;
    let file = FindingsFile::read(ParsedJson(&value));
    let mut findings = Findings {
        file: file.map_err(|malformed| Unusable::new(malformed.to_string()))?,
        task_index: FxHashMap::default(),
        finish_index: FxHashMap::default(),
    };
    findings.index()?;
    findings.check()?;
    Ok(findings)
}

impl Findings {
    pub fn task(&self, id: u64) -> Option<&ListedTask> {
        self.task_index.get(&id).map(|index| &self.tasks[*index])
    }

    pub fn finish(&self, id: u64) -> Option<&ListedFinish> {
        let index = self.finish_index.get(&id);
        index.map(|index| &self.finishes[*index])
    }

    /// Whether anything in the recorded run was parallel.
    pub fn has_parallelism(&self) -> bool {
        self.drop_in || self.threads > 0
    }

    /// The tasks from `main`'s child down to this one. Empty for `main`.
    pub fn path(&self, task: u64) -> Vec<&ListedTask> {
        let parent = |task: &&ListedTask| self.task(task.parent);
        let chain = std::iter::successors(self.task(task), parent);
        let mut path: Vec<&ListedTask> = chain
            .take_while(|task| task.kind != NativeTaskKind::Main)
            .collect();
        path.reverse();
        path
    }

    fn index(&mut self) -> Result<(), Unusable> {
        let twice =
            |what: &str, id: u64| Err(Unusable::new(format!("{what} {id} is listed twice")));
        for (index, task) in self.file.tasks.iter().enumerate() {
            if self.task_index.insert(task.id, index).is_some() {
                return twice("task", task.id);
            }
        }
        for (index, finish) in self.file.finishes.iter().enumerate() {
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
        for start in &self.thread_starts {
            stack_exists(start.stack)?;
        }
        let object_exists = |object: &ListedObject| match *object {
            ListedObject::Heap { stack, task, .. } => stack_exists(stack).and(task_exists(task)),
            ListedObject::Stack { task, .. } => task_exists(task),
            ListedObject::Global {} | ListedObject::ThreadLocal {} | ListedObject::Unknown {} => {
                Ok(())
            }
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
    use finishline_model::Detector;
    use finishline_model::findings::{
        ListedAccess, ListedLock, ListedOrder, ListedPair, ListedSynchroniser, VERSION,
    };
    use finishline_model::kinds::{
        ConflictClass, NativeAccessKind, NativeFinishKind, SynchroniserKind, rayon,
    };
    use serde_json::json;

    /// A file with one entry of each kind.
    fn small() -> Value {
        let object = ListedObject::Unknown {};
        let synchroniser = |kind| ListedSynchroniser {
            kind,
            address: 8,
            object,
        };
        let access = |kind, stack, task, locks| ListedAccess {
            kind,
            atomic: false,
            address: 16,
            size: 8,
            stack,
            task,
            locks,
        };
        let held = ListedLock {
            lock: synchroniser(SynchroniserKind::Lock),
            stack: 1,
        };
        let task = |id, kind, parent, finish, stack| ListedTask {
            id,
            kind,
            parent,
            finish,
            stack,
        };
        let file = FindingsFile {
            complete: true,
            executable: "a.out".to_owned(),
            drop_in: true,
            logical_threads: 16,
            parallel_code: [20, 7, 20, 8].into_iter().collect(),
            stacks: vec![vec![1, 2], vec![3]],
            tasks: vec![
                task(0, NativeTaskKind::Main, 0, 0, None),
                task(
                    1,
                    NativeTaskKind::Rayon(rayon::TaskKind::JoinLeft),
                    0,
                    1,
                    Some(0),
                ),
                task(
                    2,
                    NativeTaskKind::Rayon(rayon::TaskKind::Spawn),
                    1,
                    0,
                    Some(1),
                ),
            ],
            finishes: vec![ListedFinish {
                id: 1,
                kind: NativeFinishKind::Rayon(rayon::FinishKind::Join),
                task: 0,
                stack: Some(0),
            }],
            races: vec![ListedPair {
                class: ConflictClass::Race,
                address: 16,
                bytes: 8,
                object: ListedObject::Global {},
                ordered_by: Some(ListedOrder {
                    synchroniser: synchroniser(SynchroniserKind::Atomic),
                    excludes: false,
                }),
                first: access(NativeAccessKind::Write, 0, 2, vec![held]),
                second: access(NativeAccessKind::Read, 1, 0, Vec::new()),
                locations: 8,
            }],
            ..FindingsFile::new(Detector::EspBags)
        };
        serde_json::from_str(&file.text()).expect("JSON")
    }

    /// Everything that the writer can write is read back unchanged.
    #[test]
    fn what_is_written_is_read() {
        let mut value = small();
        value["stopped"] = json!({"what": "creator", "task": 2, "stack": 1});
        value["executable"] = json!("a \"quoted\"\n\\ näme");
        value["races"][0]["object"] =
            json!({"kind": "heap", "start": 8, "size": 32, "stack": 1, "task": 2});
        value["races"][0]["second"]["kind"] = json!("free");
        let findings = parse(value.to_string().as_bytes()).expect("usable");
        let again = parse(findings.text().as_bytes()).expect("usable");
        assert_eq!(findings.file, again.file);
        let written: Value = serde_json::from_str(&findings.text()).expect("JSON");
        assert_eq!(written, value);
        // The first address, then the steps from one to the next.
        assert_eq!(written["parallel_code"], json!([7, 1, 12]));
        assert_eq!(findings.parallel_code.addresses(), [7, 8, 20]);
    }

    #[test]
    fn another_format_or_version_is_refused_and_told() {
        let mut value = small();
        for (version, age) in [(VERSION - 1, "older"), (VERSION + 1, "newer")] {
            value["version"] = json!(version);
            let why = why(&value);
            let told = why.contains(&format!("version {version} ")) && why.contains(age);
            assert!(told, "{why}");
        }
        // The first version looked like this.
        value["format"] = json!(1);
        assert!(why(&value).contains("older"), "{}", why(&value));
        for foreign in [json!("SARIF"), json!(null), json!(-1)] {
            value["format"] = foreign;
            assert!(why(&value).contains("not a findings file"));
        }
        assert!(why(&json!([1, 2])).contains("not a findings file"));
    }

    #[test]
    fn no_field_may_be_missing() {
        let value = small();
        let fields = value.as_object().expect("an object").keys();
        for field in fields.filter(|field| *field != "format") {
            let mut broken = value.clone();
            broken.as_object_mut().expect("an object").remove(field);
            let why = why(&broken);
            assert_eq!(why, format!("{field}: missing"));
        }
        let mut broken = value;
        let first = broken["races"][0]["first"].as_object_mut();
        first.expect("an object").remove("task");
        assert_eq!(why(&broken), "races[0].first.task: missing");
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
            ("/detector", json!("guess"), "\"guess\""),
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
            (
                "/races/0/first/locks/0/lock/kind",
                json!("latch"),
                "\"latch\"",
            ),
            (
                "/races/0/first/locks/0/lock/object",
                json!({"kind": "stack", "function": 0, "task": 7}),
                "task 7",
            ),
            (
                "/races/0/ordered_by/synchroniser/object",
                json!({"kind": "heap", "start": 0, "size": 8, "stack": 8, "task": 0}),
                "stack 8",
            ),
            ("/parallel_code/1", json!(0), "addresses do not ascend"),
            (
                "/parallel_code/2",
                json!(u64::MAX),
                "addresses do not ascend",
            ),
            ("/parallel_code/2", json!("8"), "parallel_code[2]"),
            ("/races/0/class", json!("rice"), "\"rice\""),
            ("/races/0/first/kind", json!("touch"), "touch"),
            ("/races/0/address", json!(-1), "races[0].address"),
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
        broken["stopped"] = json!({"what": "spin", "task": 0, "stack": 4});
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
