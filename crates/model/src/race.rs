//! A race as a detector sees it: two accesses by id. The engine adds names and reasons.

use crate::event::AccessKind;
use crate::ids::{AccessId, Location, LockId, TaskId};

/// One of the two accesses of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct AccessPoint {
    pub task: TaskId,
    pub access: AccessId,
    pub kind: AccessKind,
    /// Whether the access was made inside an isolated block.
    pub isolated: bool,
}

/// Two conflicting accesses that the task structure does not order. The earlier one comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    pub location: Location,
    pub first: AccessPoint,
    pub second: AccessPoint,
    /// The observed order of isolated and locked blocks orders the two accesses, so the race is
    /// only apparent. Another order might show the race or exclude it.
    pub ordered_by_isolation: bool,
    /// The lock that both accesses hold, if they only conflict and do not race.
    pub excluded_by: Option<LockId>,
}
