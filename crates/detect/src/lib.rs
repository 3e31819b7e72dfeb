//! Race detectors: a detector is an **order** times a **history**.
//!
//! - [`order`] decides whether an earlier access and the current one are parallel, for every
//!   schedule: [`order::EspBags`] for tasks and finishes, [`order::SpBags`] for spawn and sync. In
//!   runs that are not depth-first, [`order::Labelled`] and [`order::Drdp`] know promises too. The
//!   bags keep their tasks in the disjoint-set forest [`order::bags`], and [`order::DepthFirst`]
//!   refuses for them runs in which somebody waits for a lock. `Labelled` also knows the releases
//!   and acquires of native programs, which [`order::OneAtATime`] follows, and [`order::isolation`]
//!   knows the order of isolated blocks.
//! - [`history`] decides what is remembered of a location, and which accesses race, as a pure
//!   function on a small cell: [`history::LastWriterOneReader`], [`history::Isolated`], and for the
//!   second pass [`history::ObservedOrder`]. [`history::ByLockset`] is for locations accessed under
//!   locks. [`locks`] follows the locks.
//! - [`serial`] drives an order and a history over a depth-first run and finds the exact set of
//!   racing locations.
//! - [`inline`] does the same for compiled code. That code decides most checks itself and hands
//!   over cells, one at a time or in ranges.
//! - [`any_order`] does it for runs in which tasks take turns, and [`listed`] with the history of
//!   DRDP.
//! - [`parallel`] has the orders and histories of parallel runs, which all workers share.
//! - [`sited`] runs again over the racing locations only and names the two accesses of each race.
//!   [`named`] does it for runs in which tasks take turns.
//! - [`steps`] makes the steps of a run and the edges between them.
//! - [`oracle`] closes the computation graph of these. It is slow, obvious, and independent of all
//!   the above.
//! - [`detectors`] makes a detector from its name. The executor is compiled for each of them.
//!
//! Underneath: [`table`], memory that never moves; [`locations`], a set of locations in order of
//! discovery; [`pairs`], races counted by their two accesses; `atomics`, the operations of
//! lock-free files.
//!
//! The crate sees only ids: it knows nothing of Fin, of source text or of how a program is run. A
//! detector never stops a run. If it can't go on, it returns a [`Failure`] at the end.

#![deny(unsafe_code)]

pub mod any_order;
mod atomics;
pub mod detectors;
mod failure;
mod findings;
pub mod history;
pub mod inline;
pub mod listed;
pub mod locations;
pub mod lock_chains;
mod lock_order;
pub mod locks;
pub mod named;
pub mod oracle;
pub mod order;
pub mod overlaps;
#[allow(unsafe_code)]
pub mod pages;
pub mod pairs;
#[allow(unsafe_code)]
pub mod parallel;
pub mod serial;
pub mod sited;
pub mod steps;
#[allow(unsafe_code)]
pub mod table;

pub use detectors::{Drive, first_pass, second_pass};
pub use failure::Failure;
pub use findings::Findings;
pub use locations::LocationSet;
pub use pairs::{RacePair, RacePairs};
