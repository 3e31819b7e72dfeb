//! The tests of orders, histories and detectors. They are one binary, so that what they share is
//! compiled once.

mod cells_and_rows;
mod common;
mod detectors;
mod fast_path;
mod named_programs;
mod named_unstructured;
mod parallel;
mod promises;
mod random_streams;
mod ranges;
mod small_worlds;
mod unstructured;
