//! What a running program tells: task structure, isolated blocks, allocations, accesses.
//!
//! Every event carries the task it belongs to; there is no ambient current task, so the same
//! stream serves depth-first, cooperative and parallel runs. A well-formed stream is:
//!
//! - `TaskBegin` of task 0 (`main`) with finish 0, then `FinishBegin` of finish 0 (kind `Root`);
//!   at the end `FinishEnd` of finish 0 and `TaskEnd` of task 0;
//! - a child's `TaskBegin` names its parent and its immediately enclosing finish: the innermost
//!   finish open in the parent, or, if the parent opened none itself, the parent's own; a task that
//!   *escapes* names one further out that is in reach there;
//! - a task closes the finishes it opened, innermost first, before it ends;
//! - between `IsolatedBegin` and `IsolatedEnd` a task does nothing but accesses and allocations;
//! - a task releases the locks that it holds, before it ends;
//! - a location is accessed only after the `Alloc` that covers it.
//!
//! A finish is *in reach* of a task if the task opened it, if it waits for the task, or if it was
//! in reach of whoever opened the one that waits for the task when that was opened.
//!
//! An atomic access is one made while holding [`LockId::ATOMIC`]. Locks exclude each other;
//! `Release` and `Acquire` tell that something written was read: whatever came before the release
//! has happened before the acquire. What is *glimpsed* is acquired too, but nothing that comes
//! behind the end of the glimpse may rely on it: in another schedule the task would not have got
//! there.
//!
//! In a depth-first run a child's whole life lies between its `TaskBegin` and the next event of its
//! parent; in other runs events of several tasks interleave. In between are runs that are
//! depth-first but for tasks of the root finish that are suspended, while they have no finish open
//! and no child running, and resumed: between its `Resume` and its next `Suspend` or its end a task
//! is in the place of a child of whoever was running.

use crate::ids::{AccessId, AllocationId, FinishId, Location, LockId, ObjectId, SiteId, TaskId};
use crate::kinds::NativeAccessKind;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum TaskKind {
    Main,
    /// `async`, and each iteration of `forall`.
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
    /// The scope of Cilk's `sync`: opened on entry of a function or async body that contains
    /// `spawn` or `sync`, closed on its exit. Each one is a procedure instance of SP-bags.
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

/// Everything but accesses. Rare compared with them: at most a few events a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    TaskBegin {
        task: TaskId,
        /// None only for `main`.
        parent: Option<TaskId>,
        kind: TaskKind,
        /// The immediately enclosing finish, whose end waits for this task.
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
    /// `sync`: everything created in the finish so far has ended; the finish stays open.
    FinishJoin {
        task: TaskId,
        finish: FinishId,
        site: SiteId,
    },
    /// Everything created in the finish has ended; the finish is closed.
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
    /// The task gives up the lock, which it took last of those with this id.
    Unlock {
        task: TaskId,
        lock: LockId,
    },
    /// What the task has done so far happens before whatever follows an acquire of the object.
    Release {
        task: TaskId,
        object: ObjectId,
        /// The earlier releases of the object still count, as where a value was read and replaced
        /// in one.
        continues: bool,
    },
    /// The task has seen what the latest releases of the object left in it.
    Acquire {
        task: TaskId,
        object: ObjectId,
    },
    /// What the one object holds the other one holds as well from here on: as where a value is
    /// written that passes on what was released before, or one is read that will be acquired later.
    Relay {
        task: TaskId,
        from: ObjectId,
        to: ObjectId,
        /// What the other one held before still counts.
        continues: bool,
    },
    /// As `Acquire`, but what the task has learnt so it may rely on only until the next
    /// `GlimpseEnd`.
    Glimpse {
        task: TaskId,
        object: ObjectId,
    },
    /// What the task has glimpsed since the last one it knows for good, or no longer.
    GlimpseEnd {
        task: TaskId,
        keep: bool,
    },
    /// The task does nothing until it is resumed.
    Suspend {
        task: TaskId,
    },
    /// A suspended task goes on, whichever is running. It is the running one until it ends or is
    /// suspended again.
    Resume {
        task: TaskId,
    },
    /// A new object with `count` locations from `first`, all of them fresh.
    Alloc {
        task: TaskId,
        allocation: AllocationId,
        first: Location,
        count: u64,
    },
}

/// Whoever listens to a run. Generic on the path of an access: an executor is compiled for each
/// observer it drives.
pub trait Observer {
    fn event(&mut self, event: &Event);
    fn access(&mut self, access: &Access);
}

/// Nobody listens: a plain run.
impl Observer for () {
    #[inline]
    fn event(&mut self, _: &Event) {}
    #[inline]
    fn access(&mut self, _: &Access) {}
}

/// Two listeners, the first one first.
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

/// A recorder.
impl Observer for Vec<Record> {
    fn event(&mut self, event: &Event) {
        self.push(Record::Event(*event));
    }
    fn access(&mut self, access: &Access) {
        self.push(Record::Access(*access));
    }
}

/// Tells a recorded stream to an observer.
pub fn replay(records: &[Record], observer: &mut impl Observer) {
    for record in records {
        match record {
            Record::Event(event) => observer.event(event),
            Record::Access(access) => observer.access(access),
        }
    }
}
