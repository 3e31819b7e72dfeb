//! The results of a first pass, and the state from which they are made.

use crate::Failure;
use crate::locations::LocationSet;
use crate::order::{Effort, Order};
use finishline_model::Location;
use finishline_model::Statistics;

/// The results of a first pass.
#[derive(Debug)]
pub struct Findings {
    /// The racing locations, in the order of the first race on each.
    pub racing: LocationSet,
    /// Two parallel isolated blocks conflict: the result may depend on their order.
    pub isolated_conflict: bool,
    /// Only what was observed in this run orders some conflict.
    pub synchronised: bool,
    /// Two accesses conflict, and only a lock or the atomicity of both keeps them apart.
    pub overlap: bool,
    /// Locks were taken one inside the other in orders that form a cycle.
    pub lock_cycle: bool,
    pub statistics: Statistics,
    /// Of a run on several threads with a race: the tasks that were in isolated and locked blocks,
    /// by their paths of spawn indices, in the order of the blocks. None if it is not known.
    pub blocks: Option<Vec<Vec<u32>>>,
    /// The work of the order's answers, if it counts it.
    pub effort: Effort,
    /// Memory the detector used for tasks, and for locations.
    pub task_bytes: usize,
    pub location_bytes: usize,
}

/// The results so far, and whether the detector can go on.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) racing: LocationSet,
    pub(crate) isolated_conflict: bool,
    pub(crate) synchronised: bool,
    pub(crate) overlap: bool,
    pub(crate) lock_cycle: bool,
    pub(crate) statistics: Statistics,
    pub(crate) failure: Option<Failure>,
}

impl Found {
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Found {
            racing: LocationSet::new()?,
            isolated_conflict: false,
            synchronised: false,
            overlap: false,
            lock_cycle: false,
            statistics: Statistics::default(),
            failure: None,
        })
    }

    pub(crate) fn racing(&self) -> &LocationSet {
        &self.racing
    }

    #[cold]
    pub(crate) fn race(&mut self, location: Location) {
        if let Err(full) = self.racing.insert(location) {
            self.fail(full.into());
        }
    }

    /// Notes a failure. Only the first one is reported.
    #[cold]
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    pub(crate) fn clear(&mut self) {
        self.racing.clear();
        (self.isolated_conflict, self.synchronised) = (false, false);
        (self.overlap, self.lock_cycle) = (false, false);
        self.statistics = Statistics::default();
        self.failure = None;
    }

    /// The answer of a detector with its order, and its memory for locations without these
    /// findings.
    pub(crate) fn finish(
        self,
        order: &impl Order,
        location_bytes: usize,
    ) -> Result<Findings, Failure> {
        self.finish_with(order.effort(), order.used_bytes(), location_bytes)
    }

    /// The same by the effort of the order and its memory for tasks.
    pub(crate) fn finish_with(
        self,
        effort: Effort,
        task_bytes: usize,
        location_bytes: usize,
    ) -> Result<Findings, Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(Findings {
                effort,
                task_bytes,
                location_bytes: location_bytes + self.racing.used_bytes(),
                racing: self.racing,
                isolated_conflict: self.isolated_conflict,
                synchronised: self.synchronised,
                overlap: self.overlap,
                lock_cycle: self.lock_cycle,
                statistics: self.statistics,
                blocks: None,
            }),
        }
    }
}
