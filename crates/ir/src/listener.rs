//! Facts that an executor of the IR tells besides events: the captures of a task and the shape of
//! an object.
//!
//! Detectors need events alone and know nothing of the IR. They are plain [`Observer`]s, and
//! [`EventsAlone`] lets one listen. Names for people need more. A listener must note these facts
//! while the program runs: afterwards they are gone.

use crate::machine::Datum;
use crate::module::{Construct, FunctionId, StructId};
use finishline_model::event::Record;
use finishline_model::{Access, AllocationId, Event, Location, Observer, SiteId, TaskId};

/// Whoever listens to a run closely.
pub trait Listener: Observer {
    /// A task was created: after its `TaskBegin`, before its first step. Not called for `main`.
    fn created(&mut self, _task: TaskId, _creation: &Creation<'_>) {}

    /// An object was made: after its `Alloc`.
    fn allocated(&mut self, _object: &Allocated<'_>) {}
}

/// How a task came to be. By parents and indices a task has the same name in every schedule.
#[derive(Clone, Copy)]
pub struct Creation<'a> {
    pub parent: TaskId,
    /// How many tasks its creator had created before.
    pub index: u32,
    pub site: SiteId,
    pub construct: Construct,
    /// What it runs: its parameters are the names of the captures.
    pub function: FunctionId,
    /// What it got from its creator. Most listeners do not ask.
    pub captures: &'a dyn Fn() -> Vec<Datum>,
}

/// A new object, with `count` locations from `first`.
#[derive(Clone, Copy, Debug)]
pub struct Allocated<'a> {
    pub allocation: AllocationId,
    pub first: Location,
    pub count: u64,
    pub shape: Shape<&'a [u64]>,
    /// How many objects of the same name were made before. Only a recorded run tells, because it
    /// may leave objects out. Others can be counted.
    pub earlier: Option<u64>,
}

/// How the locations of an object are called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape<Sizes> {
    Globals,
    Struct(StructId),
    /// The size of each dimension, at least one; elements are in row-major order.
    Array(Sizes),
    /// The value, and a mark that no access sees.
    Promise,
    /// No access sees its locations. The first lock made is lock 0, and so on.
    Lock,
}

impl Shape<&[u64]> {
    /// The same, to be kept.
    pub fn kept(self) -> Shape<Box<[u64]>> {
        match self {
            Shape::Globals => Shape::Globals,
            Shape::Struct(layout) => Shape::Struct(layout),
            Shape::Promise => Shape::Promise,
            Shape::Lock => Shape::Lock,
            Shape::Array(sizes) => Shape::Array(sizes.into()),
        }
    }
}

/// Nobody listens: a plain run.
impl Listener for () {}

/// A recorder of events.
impl Listener for Vec<Record> {}

/// Two listeners, the first one first.
impl<A: Listener, B: Listener> Listener for (A, B) {
    #[inline]
    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        self.0.created(task, creation);
        self.1.created(task, creation);
    }
    #[inline]
    fn allocated(&mut self, object: &Allocated<'_>) {
        self.0.allocated(object);
        self.1.allocated(object);
    }
}

impl<L: Listener + ?Sized> Listener for &mut L {
    #[inline]
    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        (**self).created(task, creation);
    }
    #[inline]
    fn allocated(&mut self, object: &Allocated<'_>) {
        (**self).allocated(object);
    }
}

/// An observer that hears events and nothing more.
pub struct EventsAlone<O>(pub O);

impl<O: Observer> Observer for EventsAlone<O> {
    #[inline]
    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }
    #[inline]
    fn access(&mut self, access: &Access) {
        self.0.access(access);
    }
}

impl<O: Observer> Listener for EventsAlone<O> {}
