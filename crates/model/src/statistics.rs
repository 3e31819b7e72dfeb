//! Counts of the events and accesses of a run, kept by detectors.

use crate::event::{Access, Event, Observer};

/// Counts the events and accesses of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Statistics {
    pub tasks: u64,
    pub finishes: u64,
    pub isolated_blocks: u64,
    /// Checked accesses, counted by location.
    pub accesses: u64,
    pub locations: u64,
    /// The number of checks that covered several locations at once, and the number of these
    /// locations.
    pub ranges: u64,
    pub in_ranges: u64,
}

impl Statistics {
    /// Adds what another worker of the same run has counted.
    pub fn add(&mut self, other: &Statistics) {
        self.tasks += other.tasks;
        self.finishes += other.finishes;
        self.isolated_blocks += other.isolated_blocks;
        self.accesses += other.accesses;
        self.locations += other.locations;
        self.ranges += other.ranges;
        self.in_ranges += other.in_ranges;
    }

    /// A check of `count` locations.
    #[inline]
    pub fn count_check(&mut self, count: u64) {
        if count > 1 {
            self.count_ranges(1, count);
        } else {
            self.accesses += count;
        }
    }

    /// Checks of several locations each, and the number of all those.
    #[inline]
    pub fn count_ranges(&mut self, ranges: u64, locations: u64) {
        self.accesses += locations;
        self.ranges += ranges;
        self.in_ranges += locations;
    }
}

impl Observer for Statistics {
    #[inline]
    fn event(&mut self, event: &Event) {
        match event {
            Event::TaskBegin { .. } => self.tasks += 1,
            Event::FinishBegin { .. } => self.finishes += 1,
            Event::IsolatedBegin { .. } => self.isolated_blocks += 1,
            Event::Alloc { count, .. } => self.locations += count,
            Event::TaskEnd { .. }
            | Event::FinishJoin { .. }
            | Event::FinishEnd { .. }
            | Event::IsolatedEnd { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. }
            | Event::PromiseSet { .. }
            | Event::PromiseGet { .. }
            | Event::Suspend { .. }
            | Event::Resume { .. } => {}
        }
    }

    #[inline]
    fn access(&mut self, access: &Access) {
        self.count_check(access.count);
    }
}
