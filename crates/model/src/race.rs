//! A race as a detector sees it: two accesses by id. Names and reasons are added by the engine.

use crate::event::AccessKind;
use crate::ids::{AccessId, Location, TaskId};

/// One of the two accesses of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct AccessPoint {
    pub task: TaskId,
    pub access: AccessId,
    pub kind: AccessKind,
    /// Whether it was made inside an isolated block.
    pub isolated: bool,
}

/// Two conflicting accesses that no task structure orders, the earlier of the run first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    pub location: Location,
    pub first: AccessPoint,
    pub second: AccessPoint,
    /// The order in which this run's isolated blocks happened to run orders the two accesses:
    /// the race is only apparent, another order might show it or exclude it.
    pub ordered_by_isolation: bool,
}
