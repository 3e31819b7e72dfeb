//! Answers: what was asked, what was established, and the findings.
//!
//! `engine`, `symbols` and `poly` supply facts, [`rules`] chooses the verdict, and `report` formats
//! the [`Answer`]. An answer has no ids of a run any more. [`verdict`] says what an answer means,
//! once, for the help text, the documentation and every report. [`suppressions`] is the one file
//! format that all front ends read.

#![forbid(unsafe_code)]

pub mod answer;
pub mod baseline;
pub mod claim;
pub mod exit_status;
pub mod explain;
pub mod finding;
pub mod location;
pub mod partition;
pub mod picture;
pub mod place;
pub mod process;
pub mod proof;
pub mod rules;
pub mod shell;
mod stored;
pub mod suppressions;
pub mod task;
pub mod unsafe_code;
pub mod verdict;

pub use answer::{About, Answer, Check, Suite};
pub use exit_status::{exit_status, suite_exit_status};
pub use explain::{Explanation, Fate};
pub use finding::{Finding, FoundAccess, Rule};
pub use location::Location;
pub use partition::Partition;
pub use place::Place;
pub use shell::shell_word;
pub use verdict::{Extent, Verdict};
