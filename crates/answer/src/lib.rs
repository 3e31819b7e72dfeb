//! Answers: what was asked, what was established, the findings, and the words for all of it.
//!
//! `engine`, `symbols` and `poly` fill an answer in, and `report` formats it. Nothing in an answer
//! refers to ids of a run any more. [`verdict`] says what an answer means, once, for the help text,
//! the documentation and every report. [`suppressions`] is the one file format all front ends read.

#![forbid(unsafe_code)]

pub mod explain;
pub mod native;
pub mod proof;
pub mod shell;
pub mod summary;
pub mod suppressions;
pub mod verdict;

pub use explain::{Explanation, Fate};
pub use shell::shell_word;
pub use verdict::{Extent, Verdict};
