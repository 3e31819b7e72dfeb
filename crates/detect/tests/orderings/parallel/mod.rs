//! The lock-free files of `finishline_detect::parallel`.

#[path = "../../../src/parallel/cell.rs"]
pub(crate) mod cell;
mod objects;
mod order;
#[path = "../../../src/parallel/phases.rs"]
mod phases;
mod plain_stores;
#[path = "../../../src/parallel/rows.rs"]
pub(crate) mod rows;
#[path = "../../../src/parallel/spans.rs"]
mod spans;
#[path = "../../../src/parallel/version.rs"]
mod version;
mod versions;
mod words;
