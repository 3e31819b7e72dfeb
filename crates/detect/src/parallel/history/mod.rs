//! Histories of parallel runs: one file has one history.
//!
//! ```text
//! TwoReaders          the last writer and two readers            spd3
//! OutermostReaders    the last writer and the outermost readers  c-racer
//! ByLockset           for each lockset what may still race       ptracer, fastracer, finishline
//!                     without locksets: the last writer and      fasttrack
//!                     one reader, or all that are parallel
//! ```
//!
//! [`stamps`] has sets of stamps that fit into half a word.

mod by_lockset;
mod outermost_readers;
mod stamps;
mod two_readers;

pub use by_lockset::ByLockset;
pub use outermost_readers::OutermostReaders;
pub use two_readers::TwoReaders;
