//! Histories of parallel runs: one file has one history.
//!
//! ```text
//! TwoReaders    the last writer and two readers                spd3
//! ByLockset     for each lockset what may still race           ptracer, finishline
//! ```
//!
//! [`stamps`] has sets of stamps that fit into half a word.

mod by_lockset;
mod stamps;
mod two_readers;

pub use by_lockset::ByLockset;
pub use two_readers::TwoReaders;
