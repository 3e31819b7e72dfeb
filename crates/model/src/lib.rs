//! The words every room of Finishline shares: ids, places in the source, events, races, verdicts.
//!
//! Nothing here decides anything about a program. A detector sees only [`event`]s made of ids; a report turns ids
//! back into words with the tables of [`source`]; [`verdict`] says what an answer means, once, for
//! the help text, the documentation and every report. [`suppressions`] is the one file format all front ends read.

#![forbid(unsafe_code)]

pub mod bench;
pub mod checks;
pub mod construct;
pub mod event;
pub mod explain;
pub mod ids;
pub mod native;
pub mod proof;
pub mod race;
pub mod source;
pub mod summary;
pub mod suppressions;
pub mod verdict;

pub use checks::{Pass, Passes};
pub use construct::Construct;
pub use event::{Access, AccessKind, Event, FinishKind, LockMode, Observer, TaskKind};
pub use explain::{Explanation, Fate};
pub use ids::{AccessId, AllocationId, FinishId, Location, LockId, ObjectId, SiteId, TaskId};
pub use race::{AccessPoint, Race};
pub use source::{AccessInfo, Site, SourceMap};
pub use verdict::{Detector, Extent, Verdict};
