//! What a first pass finds, and what it keeps of it while the run goes on.

use crate::Failure;
use crate::locations::LocationSet;
use finishline_model::Location;
use finishline_model::Statistics;

/// What a first pass found.
#[derive(Debug)]
pub struct Findings {
    /// The racing locations, in the order of the first race on each.
    pub racing: LocationSet,
    /// Two parallel isolated blocks conflict: the result may depend on their order.
    pub isolated_conflict: bool,
    /// Some conflict was ordered by nothing but what was observed in this run.
    pub synchronised: bool,
    /// Two accesses conflict that nothing but a lock, or that both are atomic, keeps apart.
    pub overlap: bool,
    pub statistics: Statistics,
    /// Memory the detector used for tasks, and for locations.
    pub task_bytes: usize,
    pub location_bytes: usize,
}

/// What was found so far, and whether the detector can go on.
#[derive(Debug)]
pub(crate) struct Found {
    racing: LocationSet,
    pub(crate) isolated_conflict: bool,
    pub(crate) synchronised: bool,
    pub(crate) overlap: bool,
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

    /// The first failure is the one that is told.
    #[cold]
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    pub(crate) fn clear(&mut self) {
        self.racing.clear();
        (self.isolated_conflict, self.synchronised, self.overlap) = (false, false, false);
        self.statistics = Statistics::default();
        self.failure = None;
    }

    /// The answer of a detector that used this much memory for tasks and, these findings left out,
    /// for locations.
    pub(crate) fn finish(
        self,
        task_bytes: usize,
        location_bytes: usize,
    ) -> Result<Findings, Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(Findings {
                task_bytes,
                location_bytes: location_bytes + self.racing.used_bytes(),
                racing: self.racing,
                isolated_conflict: self.isolated_conflict,
                synchronised: self.synchronised,
                overlap: self.overlap,
                statistics: self.statistics,
            }),
        }
    }
}
