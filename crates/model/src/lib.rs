//! Ids, events and the other terms that detectors need.
//!
//! This crate has no algorithms and no dependencies. Only `detect`, `trace`, `native` and this
//! crate are compiled into users' programs. A detector sees only [`event`]s made of ids. The tables
//! of [`source`] turn ids back into the user's words.

#![forbid(unsafe_code)]

pub mod checks;
pub mod construct;
pub mod detector;
pub mod event;
pub mod findings;
pub mod hash;
pub mod ids;
pub mod kinds;
pub mod race;
pub mod source;
pub mod statistics;

pub use checks::{Pass, Passes};
pub use construct::Construct;
pub use detector::Detector;
pub use event::{Access, AccessKind, Event, FinishKind, LockMode, Observer, TaskKind};
pub use ids::{AccessId, AllocationId, FinishId, Location, LockId, ObjectId, SiteId, TaskId};
pub use race::{AccessPoint, Race};
pub use source::{AccessInfo, Site, SourceMap};
pub use statistics::Statistics;
