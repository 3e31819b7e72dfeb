//! The events of a running program: task structure, isolated blocks, allocations, accesses.
//!
//! Every event names its task. There is no ambient current task, so the same stream serves
//! depth-first, cooperative and parallel runs. A well-formed stream obeys these rules:
//!
//! - It begins with `TaskBegin` of task 0 (`main`) with finish 0, then `FinishBegin` of finish 0
//!   (kind `Root`). It ends with `FinishEnd` of finish 0 and `TaskEnd` of task 0.
//! - A child's `TaskBegin` names its parent and its immediately enclosing finish. That is the
//!   innermost finish open in the parent, or the parent's own finish if the parent opened none. A
//!   task that *escapes* names a finish further out that is in reach of the parent.
//! - A task closes the finishes it opened, innermost first, before it ends.
//! - Between `IsolatedBegin` and `IsolatedEnd` a task only makes accesses and allocations, and sets
//!   promises.
//! - A task releases its locks before it ends. An exclusive lock is held by one task at a time.
//! - A location is accessed only after the `Alloc` that covers it.
//! - A promise is set at most once, and got only after that.
//!
//! A finish is *in reach* of a task in three cases. The task opened it; or it waits for the task;
//! or it was in reach of the opener of the finish that waits for the task, when that one was
//! opened.
//!
//! An atomic access is one made while holding [`LockId::ATOMIC`]. Locks exclude each other. A
//! `Release` followed by an `Acquire` says that a written value was read: everything before the
//! release happens before everything after the acquire. A `Glimpse` acquires too, but only until
//! the end of the glimpse. Later accesses must not rely on it, because in another schedule the task
//! would not have got there.
//!
//! In a depth-first run all events of a child lie between its `TaskBegin` and the next event of its
//! parent. In other runs events of several tasks interleave. A third kind of run is depth-first,
//! except that tasks of the root finish are suspended and resumed. A task can be suspended only
//! while it has no open finish and no running child. Between its `Resume` and its next `Suspend` or
//! its end, the task takes the place of a child of the task that was running.

use crate::ids::{AccessId, AllocationId, FinishId, Location, LockId, ObjectId, SiteId, TaskId};
use crate::kinds::NativeAccessKind;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum TaskKind {
    Main,
    /// `async`, or one iteration of `forall`.
    Async,
    /// Cilk's `spawn`.
    Spawn,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FinishKind {
    /// The implicit finish around `main`.
    Root,
    /// `finish { … }`, and the finish of a `forall`.
    Lexical,
    /// `begin_finish` … `end_finish`.
    Dynamic,
    /// The scope of Cilk's `sync`. It opens on entry of a function or async body that contains
    /// `spawn` or `sync` and closes on its exit. Each scope is a procedure instance of SP-bags.
    SyncScope,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AccessKind {
    Read,
    Write,
}

impl From<AccessKind> for NativeAccessKind {
    fn from(kind: AccessKind) -> NativeAccessKind {
        match kind {
            AccessKind::Read => NativeAccessKind::Read,
            AccessKind::Write => NativeAccessKind::Write,
        }
    }
}

impl AccessKind {
    pub const fn word(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
        }
    }
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum LockMode {
    /// Together with others that hold it shared.
    Shared,
    Exclusive,
}

/// `count` locations from `first`, `stride` apart, accessed by one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    pub task: TaskId,
    pub kind: AccessKind,
    pub first: Location,
    pub count: u64,
    pub stride: u64,
    pub id: AccessId,
}

impl Access {
    pub fn locations(&self) -> impl Iterator<Item = Location> {
        let (first, stride) = (self.first, self.stride);
        (0..self.count).map(move |k| first.offset(k * stride))
    }
}

/// All events except accesses. They are rare compared with accesses: at most a few a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    TaskBegin {
        task: TaskId,
        /// None only for `main`.
        parent: Option<TaskId>,
        kind: TaskKind,
        /// The immediately enclosing finish. Its end waits for this task.
        finish: FinishId,
        site: SiteId,
    },
    TaskEnd {
        task: TaskId,
    },
    FinishBegin {
        task: TaskId,
        finish: FinishId,
        kind: FinishKind,
        site: SiteId,
    },
    /// `sync`: all tasks created in the finish so far have ended. The finish stays open.
    FinishJoin {
        task: TaskId,
        finish: FinishId,
        site: SiteId,
    },
    /// All tasks created in the finish have ended. The finish is closed.
    FinishEnd {
        task: TaskId,
        finish: FinishId,
        site: SiteId,
    },
    IsolatedBegin {
        task: TaskId,
        site: SiteId,
    },
    IsolatedEnd {
        task: TaskId,
        site: SiteId,
    },
    /// The task holds the lock from here on.
    Lock {
        task: TaskId,
        lock: LockId,
        mode: LockMode,
    },
    /// The task gives up its latest hold on the lock.
    Unlock {
        task: TaskId,
        lock: LockId,
    },
    /// Everything the task has done so far happens before everything that follows an acquire.
    Release {
        task: TaskId,
        object: ObjectId,
        /// Earlier releases of the object still count. An atomic read-modify-write continues them.
        continues: bool,
    },
    /// The latest releases of the object happen before everything that the task does from here on.
    Acquire {
        task: TaskId,
        object: ObjectId,
    },
    /// From here on `to` also holds what `from` holds. Two examples: a written value passes on
    /// earlier releases, or a value is read now and acquired later.
    Relay {
        task: TaskId,
        from: ObjectId,
        to: ObjectId,
        /// The earlier contents of `to` still count.
        continues: bool,
    },
    /// Like `Acquire`, but expires at the next `GlimpseEnd`.
    Glimpse {
        task: TaskId,
        object: ObjectId,
    },
    /// Ends the glimpses since the last `GlimpseEnd`. With `keep` they become acquires; otherwise
    /// they expire.
    GlimpseEnd {
        task: TaskId,
        keep: bool,
    },
    /// The task gives the promise its value. Everything it has done so far happens before
    /// everything that follows a get of the promise.
    PromiseSet {
        task: TaskId,
        /// The first location of the promise.
        promise: Location,
        site: SiteId,
    },
    /// The task has got the value of the promise, which was set before.
    PromiseGet {
        task: TaskId,
        promise: Location,
        site: SiteId,
    },
    /// The task does nothing until it is resumed.
    Suspend {
        task: TaskId,
    },
    /// A suspended task goes on, no matter which task is running. It is the running task until it
    /// ends or is suspended again.
    Resume {
        task: TaskId,
    },
    /// A new object with `count` locations from `first`. No earlier object had them.
    Alloc {
        task: TaskId,
        allocation: AllocationId,
        first: Location,
        count: u64,
    },
}

impl Event {
    /// The task that the event is about.
    #[inline]
    pub const fn task(&self) -> TaskId {
        match *self {
            Event::TaskBegin { task, .. }
            | Event::TaskEnd { task }
            | Event::FinishBegin { task, .. }
            | Event::FinishJoin { task, .. }
            | Event::FinishEnd { task, .. }
            | Event::IsolatedBegin { task, .. }
            | Event::IsolatedEnd { task, .. }
            | Event::Lock { task, .. }
            | Event::Unlock { task, .. }
            | Event::Release { task, .. }
            | Event::Acquire { task, .. }
            | Event::Relay { task, .. }
            | Event::Glimpse { task, .. }
            | Event::GlimpseEnd { task, .. }
            | Event::PromiseSet { task, .. }
            | Event::PromiseGet { task, .. }
            | Event::Suspend { task }
            | Event::Resume { task }
            | Event::Alloc { task, .. } => task,
        }
    }

    /// The place in the source. None for events that only native programs have, and for ends of
    /// tasks.
    pub const fn site(&self) -> Option<SiteId> {
        match *self {
            Event::TaskBegin { site, .. }
            | Event::FinishBegin { site, .. }
            | Event::FinishJoin { site, .. }
            | Event::FinishEnd { site, .. }
            | Event::IsolatedBegin { site, .. }
            | Event::IsolatedEnd { site, .. }
            | Event::PromiseSet { site, .. }
            | Event::PromiseGet { site, .. } => Some(site),
            Event::TaskEnd { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. }
            | Event::Suspend { .. }
            | Event::Resume { .. }
            | Event::Alloc { .. } => None,
        }
    }
}

/// A listener to a run. Executors are generic over it, so an access costs no dynamic call.
pub trait Observer {
    fn event(&mut self, event: &Event);
    fn access(&mut self, access: &Access);
}

/// No listener: a plain run.
impl Observer for () {
    #[inline]
    fn event(&mut self, _: &Event) {}
    #[inline]
    fn access(&mut self, _: &Access) {}
}

/// Two listeners. The first one hears each event first.
impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline]
    fn event(&mut self, event: &Event) {
        self.0.event(event);
        self.1.event(event);
    }
    #[inline]
    fn access(&mut self, access: &Access) {
        self.0.access(access);
        self.1.access(access);
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    #[inline]
    fn event(&mut self, event: &Event) {
        (**self).event(event);
    }
    #[inline]
    fn access(&mut self, access: &Access) {
        (**self).access(access);
    }
}

/// One entry of a recorded stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    Event(Event),
    Access(Access),
}

/// Records the stream.
impl Observer for Vec<Record> {
    fn event(&mut self, event: &Event) {
        self.push(Record::Event(*event));
    }
    fn access(&mut self, access: &Access) {
        self.push(Record::Access(*access));
    }
}

/// Sends a recorded stream to an observer.
pub fn replay(records: &[Record], observer: &mut impl Observer) {
    for record in records {
        match record {
            Record::Event(event) => observer.event(event),
            Record::Access(access) => observer.access(access),
        }
    }
}
