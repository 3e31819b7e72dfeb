//! Passes from IR to IR.
//!
//! - [`sequential`]: removes the checks that can't matter because no other task can be running.

#![forbid(unsafe_code)]

mod sequential;

pub use sequential::{REASON as SEQUENTIAL, sequential};
