//! Facts about tasks and objects that no detector needs, but reports do.

use finishline_model::{AllocationId, Construct, Location, SiteId, TaskId};

/// How a task came to be, told after its `TaskBegin`. Not told of `main`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Creation<'a> {
    pub task: TaskId,
    pub parent: TaskId,
    pub site: SiteId,
    pub construct: Construct,
    /// How many tasks its parent had created before.
    pub index: u32,
    /// The number of the function that it runs.
    pub function: u32,
    /// The captured values of this function, as bits. Hidden ones are left out.
    pub captures: &'a [u64],
}

/// A new object with `count` locations from `first`. Stands for its `Alloc`, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object<'a> {
    pub task: TaskId,
    pub allocation: AllocationId,
    pub first: Location,
    pub count: u64,
    pub shape: Shape<'a>,
    /// How many objects of the same name were made before.
    pub earlier: u64,
}

/// How the locations of an object are called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape<'a> {
    Globals,
    /// The number of the struct.
    Struct(u32),
    /// The size of each dimension, at least one; elements are in row-major order.
    Array(&'a [u64]),
    Promise,
    Lock,
}

impl Shape<'_> {
    /// The number of the shape in a file.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Shape::Globals => 0,
            Shape::Struct(_) => 1,
            Shape::Array(_) => 2,
            Shape::Promise => 3,
            Shape::Lock => 4,
        }
    }
}
