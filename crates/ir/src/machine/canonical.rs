//! The state of a machine in names that do not depend on the schedule.
//!
//! Ids of tasks, objects and locations count in the order of events. Here the name of a task is its
//! path of spawn indices. The name of an object is the task that made it and the number of objects
//! that this task had made before. Two schedules that lead to the same state give the same words.

use super::*;
use std::collections::BTreeMap;

/// An object by its creator's path and how many objects that task had made before.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectName {
    pub creator: Vec<u32>,
    pub ordinal: u32,
}

impl Machine<'_> {
    pub fn object_name(&self, id: Handle) -> ObjectName {
        let object = self.heap.object(id);
        ObjectName {
            creator: self.path(object.creator),
            ordinal: object.ordinal,
        }
    }

    /// All objects and their contents, as words.
    pub fn canonical_heap(&self) -> Vec<u64> {
        let mut words = Vec::new();
        self.write_heap(&self.names(), &mut words);
        words
    }

    /// Everything that decides how the run can go on, short of the limits, and the heap, as words.
    /// The output is not in it; who is in an isolated block follows from where the tasks are.
    pub fn canonical_state(&self) -> Vec<u64> {
        let names = self.names();
        let mut words = Vec::new();
        self.write_heap(&names, &mut words);
        let live: BTreeMap<Vec<u32>, &Task<'_>> = (self.tasks.iter())
            .filter(|task| !task.frames.is_empty())
            .map(|task| (self.path(task.id), task))
            .collect();
        let rank: BTreeMap<TaskId, u64> = live
            .values()
            .enumerate()
            .map(|(rank, task)| (task.id, rank as u64))
            .collect();
        words.push(live.len() as u64);
        for (path, task) in &live {
            write_path(path, &mut words);
            words.extend([u64::from(task.created), u64::from(task.allocated)]);
            self.write_finishes(task, &rank, &mut words);
            self.write_held(task.id, &mut words);
            words.push(task.frames.len() as u64);
            for frame in &task.frames {
                let result = frame.result.map_or(u64::MAX, |value| u64::from(value.0));
                words.extend([u64::from(frame.function.0), u64::from(frame.block.0)]);
                words.extend([frame.next as u64, result]);
            }
            for register in &task.registers {
                write_datum(*register, &names, &mut words);
            }
        }
        words
    }

    /// The rank of every object in the order of names.
    fn names(&self) -> BTreeMap<Handle, u64> {
        let mut sorted: Vec<_> = self
            .heap
            .objects()
            .map(|(id, _)| (self.object_name(id), id))
            .collect();
        sorted.sort_unstable();
        sorted
            .into_iter()
            .enumerate()
            .map(|(rank, (_, id))| (id, rank as u64))
            .collect()
    }

    fn write_heap(&self, names: &BTreeMap<Handle, u64>, words: &mut Vec<u64>) {
        let mut by_rank: Vec<_> = names.iter().map(|(id, rank)| (*rank, *id)).collect();
        by_rank.sort_unstable();
        words.push(by_rank.len() as u64);
        for (_, id) in by_rank {
            let name = self.object_name(id);
            write_path(&name.creator, words);
            let object = self.heap.object(id);
            words.extend([u64::from(name.ordinal), u64::from(object.allocation.0)]);
            words.push(object.count());
            words.extend(object.sizes());
            for offset in 0..object.count() {
                write_datum(object.get(offset), names, words);
            }
        }
    }

    /// The finishes a task has open and its own, the latter by owner and depth: owners are live.
    fn write_finishes(&self, task: &Task<'_>, rank: &BTreeMap<TaskId, u64>, words: &mut Vec<u64>) {
        words.push(task.open.len() as u64);
        for &place in &task.open {
            let finish = &self.finishes[place as usize];
            words.extend([finish.kind as u64, u64::from(finish.live)]);
        }
        let owner = self.finishes[task.enclosing as usize].owner;
        let open = &self
            .task(owner)
            .expect("the owner of an open finish is live")
            .open;
        let depth = open.iter().position(|&place| place == task.enclosing);
        words.extend([rank[&owner], depth.expect("an open finish") as u64]);
    }
}

fn write_path(path: &[u32], words: &mut Vec<u64>) {
    words.push(path.len() as u64);
    words.extend(path.iter().map(|&index| u64::from(index)));
}

/// The type is said too: a register may hold different types at different times.
fn write_datum(datum: Datum, names: &BTreeMap<Handle, u64>, words: &mut Vec<u64>) {
    let bits = match datum {
        Datum::Int(value) => value as u64,
        Datum::Float(value) => value.to_bits(),
        Datum::Bool(value) => u64::from(value),
        Datum::Byte(value) => u64::from(value),
        Datum::Ref(None) => u64::MAX,
        Datum::Ref(Some(object)) => names[&object],
    };
    words.extend([datum.ty() as u64, bits]);
}
