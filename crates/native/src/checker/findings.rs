//! From the checker to the findings file: which pairs, tasks, finishes and stacks are listed.
//!
//! The format is [`finishline_model::findings`]. The file names places by address; a tool outside
//! the process looks up names. Only tasks that take part in a listed pair are listed, with all
//! their ancestors and the finishes that wait for them.

use crate::checker::Checker;
use crate::facts::holding::Taken;
use crate::facts::races::{ConflictingAccess, ConflictingPair, Manner, Object, OrderedBy};
use crate::facts::structure::{Position, TaskKind};
use crate::facts::synchronisation::{Nature, Synchroniser};
use finishline_detect::history::Meeting;
use finishline_model::findings::{
    FindingsFile, FindingsStatistics, ListedAccess, ListedFinish, ListedLock, ListedModule,
    ListedObject, ListedOrder, ListedPair, ListedStart, ListedSynchroniser, ListedTask, ListedWait,
    Places,
};
use finishline_model::hash::{IdMap, IdSet};
use finishline_model::kinds::rayon::{Division, FirstHalf, INTERFACE_VERSION};
use finishline_model::kinds::{ConflictClass, NativeAccessKind, SynchroniserKind};
use finishline_model::{AccessKind, Detector, FinishId, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// The detector of native programs, as reports have always named it: by structure it answers as
/// ESP-bags does. Its order is [`OneAtATime`](finishline_detect::order::OneAtATime).
const DETECTOR: Detector = Detector::EspBags;

/// What the operating system knows of the process.
#[derive(Clone, Default, Debug)]
pub struct Process {
    pub number: u32,
    pub executable: String,
    pub arguments: Vec<String>,
    pub directory: String,
    pub modules: Vec<ListedModule>,
    /// The version of the drop-in's interface, if the drop-in was used.
    pub drop_in: Option<u32>,
    /// How finely parallel iterators were divided.
    pub division: Division,
    pub threads: u64,
    /// The process goes on, and these are its findings so far.
    pub goes_on: bool,
    /// Addresses of the atomic instructions that it reached without telling, if they are known.
    pub reached_unseen: Option<Vec<u64>>,
}

/// The findings so far.
pub fn findings(checker: &Checker, process: &Process) -> FindingsFile {
    let mut listing = Listing {
        checker,
        process,
        stacks: Stacks::default(),
        tasks: BTreeSet::new(),
    };
    let found = &checker.found;
    let classed = |pair| (conflict_class(checker, pair), pair);
    let races = found.races.iter().map(classed);
    let overlaps = found.overlaps.iter().map(classed);
    let by_thread = found.by_thread.iter();
    let by_thread = by_thread.map(|pair| (ConflictClass::ThreadOrdered, pair));
    let no_races = overlaps.chain(by_thread);
    let after_free = found.after_free.iter();
    let after_free = after_free.map(|pair| (ConflictClass::UseAfterFree, pair));
    let pairs = races.chain(after_free);
    let pairs = pairs.chain(no_races.filter(|_| checker.options.determinacy));
    let races = pairs.map(|(class, pair)| listing.pair(class, pair));
    let races: Vec<ListedPair> = races.collect();
    let stopped = found.stopped.map(|stopped| {
        listing.tasks.insert(stopped.task);
        ListedWait {
            what: stopped.waits,
            task: u64::from(stopped.task.0),
            stack: listing.stacks.number(checker, stopped.task, stopped.at),
        }
    });
    let starts = checker.thread_starts().iter();
    let thread_starts = starts.map(|&(at, creator, threads)| ListedStart {
        threads,
        stack: listing.stacks.number(checker, creator, at),
    });
    let thread_starts = thread_starts.collect();
    let (tasks, finishes) = listing.structure();
    let ordered_by = |class: ConflictClass| {
        let pairs = found.overlaps.iter();
        pairs
            .filter(|pair| conflict_class(checker, pair) == class)
            .count() as u64
    };
    FindingsFile {
        complete: checker.failure().is_none() && !process.goes_on && is_understood(process.drop_in),
        process: u64::from(process.number),
        executable: process.executable.clone(),
        arguments: process.arguments.clone(),
        directory: process.directory.clone(),
        modules: process.modules.clone(),
        drop_in: process.drop_in.is_some(),
        logical_threads: checker.options.logical_threads,
        division: process.division,
        first: match checker.options.right_first {
            true => FirstHalf::Right,
            false => FirstHalf::Left,
        },
        statistics: FindingsStatistics {
            accesses: checker.glance.accesses(),
            atomic_accesses: found.atomic_accesses,
            tasks: checker.structure.tasks() as u64,
            finishes: checker.structure.finishes() as u64,
            racing_bytes: found.races.addresses().count(),
            lock_ordered: ordered_by(ConflictClass::LockOrdered),
            atomic_ordered: ordered_by(ConflictClass::AtomicOrdered),
            thread_ordered: found.by_thread.iter().count() as u64 + found.through_threads,
        },
        threads: process.threads,
        thread_starts,
        synchronised: checker.synchronised(),
        ended_inside: !process.goes_on && checker.has_unfinished_tasks(),
        stopped,
        distinct_races: found.races.distinct() as u64,
        parallel_code: parallel_code(checker),
        reached_unseen: process.reached_unseen.clone(),
        stacks: listing.stacks.addresses,
        tasks,
        finishes,
        races,
        ..FindingsFile::new(DETECTOR)
    }
}

/// The places of all sites, and of the calls around them. An access becomes a site only while
/// something is parallel. Calls of a task's creators are left out: they were made before the task.
fn parallel_code(checker: &Checker) -> Places {
    let mut places = Vec::new();
    let mut around = IdSet::default();
    for site in checker.detection.sites.all() {
        // Accesses of code that is not instrumented have no place.
        places.extend((site.at.place != 0).then_some(site.at.place));
        let calls = checker.calls.outwards(site.at.calls);
        places.extend(
            calls
                .take_while(|(call, _)| around.insert(*call))
                .map(|(_, place)| place),
        );
    }
    places.into_iter().map(inside_call).collect()
}

/// Whether what the drop-in told means what the runtime takes it for.
fn is_understood(drop_in: Option<u32>) -> bool {
    drop_in.is_none_or(|version| version == INTERFACE_VERSION)
}

/// Whether the two accesses race, or what keeps them from racing: a lock that both hold, a lock
/// that one released and the other then took, atomic operations, or the thread of both.
fn conflict_class(checker: &Checker, pair: &ConflictingPair) -> ConflictClass {
    if pair.meeting == Meeting::Race {
        return ConflictClass::Race;
    }
    if matches!(pair.names.ordered_by, Some((OrderedBy::Thread, _))) {
        return ConflictClass::ThreadOrdered;
    }
    match synchroniser(checker, pair).map(|(by, _)| by.nature) {
        Some(Nature::Lock | Nature::ReaderWriterLock) => ConflictClass::LockOrdered,
        Some(Nature::Atomic) | None => ConflictClass::AtomicOrdered,
    }
}

/// What orders the two accesses, as far as is known by now.
fn synchroniser(checker: &Checker, pair: &ConflictingPair) -> Option<(Synchroniser, Object)> {
    let (by, object) = pair.names.ordered_by?;
    let by = match by {
        OrderedBy::Lock(lock) => checker.synchronisation.lock(lock),
        OrderedBy::Object(object) => checker.synchronisation.variable_of(object)?,
        OrderedBy::Thread => return None,
    };
    Some((by, object))
}

/// Lists pairs, and collects the stacks and tasks that the pairs name.
struct Listing<'a> {
    checker: &'a Checker,
    process: &'a Process,
    stacks: Stacks,
    tasks: BTreeSet<TaskId>,
}

impl Listing<'_> {
    fn pair(&mut self, class: ConflictClass, pair: &ConflictingPair) -> ListedPair {
        let [first_locks, second_locks] = &pair.names.locks;
        ListedPair {
            class,
            address: pair.overlap.start,
            bytes: pair.overlap.end - pair.overlap.start,
            object: self.object(&pair.names.object, pair.overlap.start),
            ordered_by: synchroniser(self.checker, pair).map(|(by, object)| ListedOrder {
                synchroniser: self.synchroniser(by, &object),
                excludes: matches!(pair.meeting, Meeting::Overlap(_)),
            }),
            first: self.access(pair, &pair.first, first_locks),
            second: self.access(pair, &pair.second, second_locks),
            locations: pair.addresses.count(),
        }
    }

    fn access(
        &mut self,
        pair: &ConflictingPair,
        access: &ConflictingAccess,
        locks: &[(Taken, Object)],
    ) -> ListedAccess {
        self.tasks.insert(access.task);
        let mut held = Vec::new();
        for (taken, object) in locks {
            let lock = self.checker.synchronisation.lock(taken.lock);
            // A variable that was never released as a lock is released was no lock.
            if lock.nature != Nature::Atomic {
                held.push(ListedLock {
                    stack: self.stacks.number(self.checker, access.task, taken.at),
                    lock: self.synchroniser(lock, object),
                });
            }
        }
        ListedAccess {
            kind: match (access.manner, access.kind) {
                (Manner::Free, _) => NativeAccessKind::Free,
                (_, AccessKind::Read) => NativeAccessKind::Read,
                (_, AccessKind::Write) => NativeAccessKind::Write,
            },
            atomic: access.manner == Manner::Atomic,
            address: pair.overlap.start,
            size: u64::from(access.bytes),
            stack: self.stacks.number(self.checker, access.task, access.at),
            task: u64::from(access.task.0),
            locks: held,
        }
    }

    fn synchroniser(&mut self, by: Synchroniser, object: &Object) -> ListedSynchroniser {
        ListedSynchroniser {
            kind: match by.nature {
                Nature::Atomic => SynchroniserKind::Atomic,
                Nature::Lock => SynchroniserKind::Lock,
                Nature::ReaderWriterLock => SynchroniserKind::Rwlock,
            },
            address: by.address,
            object: self.object(object, by.address),
        }
    }

    fn object(&mut self, object: &Object, address: u64) -> ListedObject {
        match *object {
            Object::Heap {
                start,
                bytes,
                allocated,
                task,
            } => {
                self.tasks.insert(task);
                ListedObject::Heap {
                    start,
                    size: bytes,
                    stack: self.stacks.number(self.checker, task, allocated),
                    task: u64::from(task.0),
                }
            }
            Object::Stack { place, task } => {
                self.tasks.insert(task);
                ListedObject::Stack {
                    function: place,
                    task: u64::from(task.0),
                }
            }
            Object::ThreadLocal => ListedObject::ThreadLocal {},
            Object::Other if in_module(self.process, address) => ListedObject::Global {},
            Object::Other => ListedObject::Unknown {},
        }
    }

    /// The named tasks with all their ancestors, and the finishes that wait for one of them or that
    /// one of them runs inside.
    fn structure(&mut self) -> (Vec<ListedTask>, Vec<ListedFinish>) {
        let structure = &self.checker.structure;
        let mut tasks = BTreeMap::new();
        let mut finishes = BTreeMap::new();
        for mut id in std::mem::take(&mut self.tasks) {
            while !tasks.contains_key(&id) {
                let task = structure.task(id);
                let stack = self.stacks.number(self.checker, task.parent, task.created);
                let listed = ListedTask {
                    id: u64::from(id.0),
                    kind: task.kind,
                    parent: u64::from(task.parent.0),
                    finish: u64::from(task.finish.0),
                    stack: (task.kind != TaskKind::Main).then_some(stack),
                };
                tasks.insert(id, listed);
                let mut finish = task.finish;
                while finish != FinishId::ROOT && !finishes.contains_key(&finish) {
                    let opened = structure.finish(finish);
                    let listed = ListedFinish {
                        id: u64::from(finish.0),
                        kind: opened.kind,
                        task: u64::from(opened.task.0),
                        stack: Some(
                            self.stacks
                                .number(self.checker, opened.task, opened.created),
                        ),
                    };
                    finishes.insert(finish, listed);
                    finish = opened.parent;
                }
                id = task.parent;
            }
        }
        let tasks = tasks.into_values().collect();
        (tasks, finishes.into_values().collect())
    }
}

fn in_module(process: &Process, address: u64) -> bool {
    let inside = |module: &ListedModule| (module.start..module.end).contains(&address);
    process.modules.iter().any(inside)
}

/// Stacks by number, each listed once.
#[derive(Default)]
struct Stacks {
    numbers: IdMap<Vec<u64>, usize>,
    addresses: Vec<Vec<u64>>,
}

impl Stacks {
    /// The number of the stack at a task's position.
    fn number(&mut self, checker: &Checker, task: TaskId, position: Position) -> usize {
        let mut stack = vec![inside_call(position.place)];
        let mut on_stack = Some((task, position.calls));
        while let Some((task, calls)) = on_stack {
            stack.extend(checker.calls.places(calls).map(inside_call));
            let below = checker.structure.below(task);
            on_stack = below.map(|(creator, created)| (creator, created.calls));
        }
        *self.numbers.entry(stack).or_insert_with_key(|stack| {
            self.addresses.push(stack.clone());
            self.addresses.len() - 1
        })
    }
}

/// A place is the address behind the call.
fn inside_call(place: u64) -> u64 {
    place.saturating_sub(1)
}
