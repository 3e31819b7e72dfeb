//! Detection in parallel runs.
//!
//! The halves are the same as in serial runs, an **order** and a **history**, but all workers use
//! them at once:
//!
//! - A [`SharedOrder`] gives each live task a *strand*, which only the worker that runs the task
//!   touches. What strands leave behind for others is written once and never changes ([`rows`]).
//!   So a question needs no lock.
//! - A [`SharedHistory`] is a pure transition on a small cell, as in serial runs. Whoever drives it
//!   decides how a cell is replaced.
//! - [`InTurn`] follows a run of one worker, told event by event. It is how these detectors judge
//!   serial runs and recorded ones, and how they are compared with the oracle on any schedule.
//!
//! - [`OfWorker`] is what a worker of a parallel run does, with [cells](cell) that all workers
//!   access at once.
//!
//! One file has one order or one history: [`Tree`] and [`TwoReaders`] are SPD3.

pub mod cell;
mod in_turn;
pub mod rows;
mod tree;
mod two_readers;
mod worker;

pub use in_turn::InTurn;
pub use tree::Tree;
pub use two_readers::TwoReaders;
pub use worker::{CarriedByFinish, CarriedByTask, OfWorker};

use crate::Failure;
use crate::order::Stamp;
use crate::table::Zeroed;
use finishline_model::AccessKind;

/// Whether an earlier access may run in parallel with the current one, asked by all workers.
pub trait SharedOrder: Sized + Sync {
    /// What a live task carries with it.
    type Strand: Send;
    /// What an open finish carries with it. The task that opened it has it.
    type Finish: Send;

    fn new() -> Result<Self, Failure>;

    /// The strand of `main`.
    fn main(&self) -> Result<Self::Strand, Failure>;

    /// The strand of a task that is created. The innermost finish around its creator waits for it.
    fn create(&self, creator: &mut Self::Strand) -> Result<Self::Strand, Failure>;

    /// A finish is opened.
    fn open(&self, task: &mut Self::Strand) -> Result<Self::Finish, Failure>;

    /// All tasks of the innermost open finish have ended, and so does it.
    fn close(&self, task: &mut Self::Strand, finish: Self::Finish) -> Result<(), Failure>;

    /// The stamp of an access made now.
    fn stamp(&self, strand: &Self::Strand) -> Stamp;

    /// Whether the access with this stamp may run in parallel with one made now.
    fn parallel(&self, strand: &Self::Strand, earlier: Stamp) -> bool;

    fn used_bytes(&self) -> usize;
}

/// Of three accesses that are parallel to each other, which two stand for all.
pub trait TwoOfThree: SharedOrder {
    /// Whatever comes later and is parallel to one of the three is parallel to one of these two.
    fn two_of_three(&self, stamps: [Stamp; 3]) -> [Stamp; 2];
}

/// What is remembered of the accesses to a location.
pub trait SharedHistory<O: SharedOrder> {
    /// All zeros if there were none.
    type Cell: Zeroed + Eq + std::fmt::Debug;

    /// The cell after an access, and whether the access races with a remembered one.
    fn access(
        cell: Self::Cell,
        kind: AccessKind,
        order: &O,
        strand: &O::Strand,
    ) -> (Self::Cell, bool);
}
