//! Detection in parallel runs.
//!
//! The halves are the same as in serial runs, an **order** and a **history**, but all workers use
//! them at once:
//!
//! - A [`SharedOrder`] gives each live task a *strand*, which only the worker that runs the task
//!   touches. What strands leave behind for others is written once and never changes ([`rows`]).
//!   So a question needs no lock. One file of [`order`] has one order.
//! - A [`SharedHistory`] is a transition on a small value, as in serial runs. One file of
//!   [`history`] has one history.
//! - A [cell](cell) has the value of a location, and all workers change it.
//! - A worker that changes many cells in a row tells the others of it: [`spans`].
//! - An object that is only read for a while needs no cells meanwhile: [`phases`].
//! - A [`Worker`] follows tasks, and checks accesses, for one thread of a parallel run.
//! - [`InTurn`] follows a run that is told event by event. It is how these detectors judge serial
//!   runs and recorded ones, and how they are compared with the oracle on any schedule.

pub mod cell;
pub mod history;
mod in_turn;
mod locksets;
pub mod order;
mod owners;
pub mod phases;
pub mod rows;
mod sections;
pub mod spans;
mod trust;
mod version;
mod words;
mod worker;

pub use in_turn::InTurn;
pub use locksets::{Lockset, Locksets};
pub use trust::Trust;
pub use worker::{
    Accessed, CarriedByFinish, CarriedByTask, OUTCOMES, Outcome, Outcomes, SCATTER, SCATTER_SHIFT,
    Shared, Worker,
};

use crate::Failure;
use crate::detectors::Uses;
use crate::order::{LOCKS, NOBODY, PROMISES, Stamp};
use cell::AtomicCell;
use finishline_model::{AccessKind, LockId, TaskId};
use phases::Phase;

/// Whether an earlier access may run in parallel with the current one, asked by all workers.
pub trait SharedOrder: Sized + Sync {
    /// What a live task carries with it.
    type Strand: Send;
    /// What an open finish carries with it. Its owner has it, and tasks that end look at it.
    type Finish: Send + Sync;
    /// What a worker keeps for itself.
    type Memo: Default + Send;

    /// Whether workers remember what became of values in a step. This is ours: detectors of papers
    /// remember what their papers say.
    const REMEMBERS_OUTCOMES: bool = false;

    /// An order for programs that use these constructs.
    fn new(uses: Uses) -> Result<Self, Failure>;

    /// The strand of `main`.
    fn main(&self) -> Result<Self::Strand, Failure>;

    /// The strand of a task that is created. The innermost finish around its creator waits for it.
    fn create(
        &self,
        memo: &mut Self::Memo,
        creator: &mut Self::Strand,
    ) -> Result<Self::Strand, Failure>;

    /// A task has ended that this finish waits for.
    fn end(&self, _task: Self::Strand, _finish: &Self::Finish) -> Result<(), Failure> {
        Ok(())
    }

    /// A finish is opened.
    fn open(&self, memo: &mut Self::Memo, task: &mut Self::Strand)
    -> Result<Self::Finish, Failure>;

    /// All tasks of the innermost open finish have ended, and so does it.
    fn close(
        &self,
        memo: &mut Self::Memo,
        task: &mut Self::Strand,
        finish: Self::Finish,
    ) -> Result<(), Failure>;

    /// A promise is set. Returns a number for those that get it.
    fn set(&self, _memo: &mut Self::Memo, _task: &mut Self::Strand) -> Result<u32, Failure> {
        Err(Failure::Unsupported(PROMISES))
    }

    /// A promise is got.
    fn get(&self, _task: &mut Self::Strand, _set: u32) -> Result<(), Failure> {
        Err(Failure::Unsupported(PROMISES))
    }

    /// A task has taken a lock, or is about to give it up. An isolated block is one, too.
    fn acquire(
        &self,
        _memo: &mut Self::Memo,
        _task: &mut Self::Strand,
        _id: TaskId,
        lock: LockId,
    ) -> Result<(), Failure> {
        Err(Failure::Unsupported(lock_name(lock)))
    }
    fn release(
        &self,
        _memo: &mut Self::Memo,
        _task: &mut Self::Strand,
        lock: LockId,
    ) -> Result<(), Failure> {
        Err(Failure::Unsupported(lock_name(lock)))
    }

    /// The stamp of an access made now.
    fn stamp(&self, memo: &mut Self::Memo, strand: &mut Self::Strand) -> Result<Stamp, Failure>;

    /// The same, if an access was made before in this step, else [`NO_STAMP`].
    fn stamp_so_far(&self, strand: &Self::Strand) -> Stamp;

    /// Whether the access with this stamp may run in parallel with one made now. `stamp` was asked
    /// before in this step.
    fn parallel(&self, memo: &mut Self::Memo, strand: &Self::Strand, earlier: Stamp) -> bool;

    /// The locks under which the access with this stamp was made, if they don't order accesses.
    fn locks_of(&self, _stamp: Stamp) -> Lockset {
        Lockset::NONE
    }

    fn locksets(&self) -> Option<&Locksets> {
        None
    }

    /// The [phase](phases) that the task is in.
    fn phase(&self, _strand: &Self::Strand) -> Phase {
        Phase::RECORDED
    }

    /// Whether what a step does with an object that it makes precedes what others do with it.
    fn lets_steps_own(&self) -> bool {
        false
    }

    /// Whether the task is `main`, as far as phases ask.
    fn is_main(&self, _strand: &Self::Strand) -> bool {
        true
    }

    /// Accesses with smaller stamps precede whatever follows in any task.
    fn past(&self, _strand: &Self::Strand) -> Stamp {
        NOBODY
    }

    /// What stands for an earlier access and for one made now that is parallel to it: later ones
    /// are parallel to it iff they are parallel to one of the two. The earlier one itself, if it
    /// stands for both. None if there need not be anything.
    fn both(
        &self,
        _memo: &mut Self::Memo,
        _strand: &Self::Strand,
        _earlier: Stamp,
    ) -> Result<Option<Stamp>, Failure> {
        Ok(None)
    }

    /// Whether the first stamp stands for the second one, as far as order is concerned: whatever
    /// follows and is parallel to the second is parallel to the first.
    fn stands_for(&self, _one: Stamp, _other: Stamp) -> bool {
        false
    }

    /// Of three accesses that are parallel to each other, two that stand for all: whatever comes
    /// later and is parallel to one of the three is parallel to one of these. None if there need
    /// not be two.
    fn two_of_three(&self, _stamps: [Stamp; 3]) -> Option<[Stamp; 2]> {
        None
    }

    /// Whether the order in which locks were taken has ordered accesses. Then nothing is known of
    /// other orders.
    fn orders_by_locks(&self) -> bool {
        false
    }

    fn used_bytes(&self) -> usize;
}

/// An order that is the intersection of two total ones.
pub trait InTwoLists: SharedOrder {
    /// The later one of two steps in a list. The first may be nobody.
    fn last(&self, list: usize, a: Stamp, b: Stamp) -> Stamp;
}

/// No access has this stamp.
pub const NO_STAMP: Stamp = Stamp::MAX;

fn lock_name(lock: LockId) -> &'static str {
    match lock {
        LockId::ISOLATED => "isolated",
        _ => LOCKS,
    }
}

/// An access that is made now, and whom to ask about it.
pub struct Now<'a, O: SharedOrder> {
    pub order: &'a O,
    pub memo: &'a mut O::Memo,
    pub strand: &'a O::Strand,
    pub stamp: Stamp,
    pub kind: AccessKind,
}

impl<O: SharedOrder> Now<'_, O> {
    /// Whether the access with this stamp may run in parallel with this one.
    #[inline]
    pub fn parallel(&mut self, earlier: Stamp) -> bool {
        self.order.parallel(self.memo, self.strand, earlier)
    }

    /// Whether the access with this stamp precedes whatever follows in any task.
    #[inline]
    pub fn is_past(&self, earlier: Stamp) -> bool {
        earlier < self.order.past(self.strand)
    }
}

/// What an access meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Meets {
    pub race: bool,
    /// A conflict that only a lock keeps from being a race, and one that only isolation does.
    pub overlap: bool,
    pub isolated: bool,
}

/// The value of a cell.
pub type Value<O, H> = <<H as SharedHistory<O>>::Cell as AtomicCell>::Value;

/// What is remembered of the accesses to a location.
pub trait SharedHistory<O: SharedOrder>: Sized + Sync {
    type Cell: AtomicCell;

    fn new() -> Result<Self, Failure>;

    /// What is remembered after an access, and what the access meets among what was remembered.
    fn access(
        &self,
        before: Value<O, Self>,
        now: &mut Now<'_, O>,
    ) -> Result<(Value<O, Self>, Meets), Failure>;

    fn used_bytes(&self) -> usize {
        0
    }
}
