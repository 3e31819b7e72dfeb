//! Loads that are answered with the value before the latest.
//!
//! Whether a lock has readers can't be seen while tasks run one after the other: it is free
//! whenever somebody takes it. But the code that takes it knows. So a task that looks at the lock
//! is told once that somebody is still inside. If it then tries to go in as well, there are readers
//! ([`crate::facts::synchronisation`] has the rest of the evidence). The attempt fails, since it
//! expects what it was told, and the task looks again. Whoever must wait looks again, too.
//!
//! **What it is told is true in another schedule**, and it can't know better in this one. In the
//! memory model of Rust and C++ a load may find any value but those that were replaced in what
//! happened before it, and those older than what it, or anything before it, has found. Here the
//! latest write is by a task that is parallel to the load, and no operation on the variable came
//! behind it. What is sequentially consistent restricts loads further, so the load is not, and
//! nothing was since the write. Nor does the load acquire: else what the older value carries would
//! have to be known.

use super::Checker;
use crate::facts::synchronisation::{Moment, Operation, Share};
use finishline_detect::order::{Order, Running};
use finishline_trace::process::Call;

impl Checker {
    /// A sequentially consistent operation, or fence.
    pub fn sequential(&mut self) {
        self.sequential += 1;
    }

    /// When the running task makes an operation at this place.
    pub(super) fn moment(&mut self, place: u64) -> Moment {
        Moment {
            at: self.position(place),
            step: self.detection.detector.contexts().inner().stamp(Running),
            sequential: self.sequential,
        }
    }

    /// What the running task is told in place of the latest value, if this operation reads it.
    pub(super) fn older_value(&mut self, operation: &Operation) -> Option<Share> {
        if operation.after.is_some() || operation.acquires || self.glance.is_alone() {
            return None;
        }
        let (share, left) = self.synchronisation.left_by_reader(operation.address)?;
        let order = self.detection.detector.contexts().inner();
        let tells = left.sequential == self.sequential && order.parallel(Running, left.step);
        tells.then_some(share)
    }

    /// What the latest load of this variable finds, if not the latest value.
    pub fn is_told(&self, address: u64) -> Option<u64> {
        let told = self.thread.told?;
        (told.address == address).then_some(told.held)
    }

    /// The running task tries to replace one value by another, in vain.
    pub fn tries(&mut self, address: u64, expected: u64, new: u64) {
        let Some(told) = self.thread.told.take() else {
            return;
        };
        let goes_in = expected == told.held && new == told.held.wrapping_add(told.more);
        if told.address == address && goes_in {
            self.are_readers(address);
        }
    }

    /// Those who hold shares of this lock are readers.
    pub fn are_readers(&mut self, address: u64) {
        self.note(|| Call::Readers(address));
        self.synchronisation.are_readers(address);
    }
}
