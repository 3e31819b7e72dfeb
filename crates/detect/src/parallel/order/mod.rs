//! Orders of parallel runs: one file has one order.
//!
//! ```text
//! Tree          the structure tree, lowest common ancestors    spd3, ptracer
//! Labels        its paths packed into words                    finishline
//! ```

mod labels;
mod learnt;
mod tree;

pub use labels::Labels;
pub use tree::Tree;
