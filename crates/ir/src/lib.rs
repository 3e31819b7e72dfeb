//! The IR: Fin programs without names and types, and the meaning of running them.
//!
//! - [`module`]: functions as control-flow graphs in SSA form with block parameters. A race check
//!   is an instruction of its own, apart from the load or store it guards.
//! - [`text`]: the text form, for people and tests. It can be printed and read.
//! - [`verify`]: the rules that every pass may rely on and must keep.
//! - [`dominators`]: the dominator tree. [`loops`]: the natural loops.
//! - [`range`]: the locations that a check of several locations covers.
//! - [`updates`]: the accesses that only update a location, so that their order does not matter.
//! - [`steering`]: the reads that decide what an isolated block accesses.
//! - [`cost`]: the costs that the memory budget counts.
//! - [`listener`]: the interface by which an executor tells what happens in a run.
//! - [`machine`]: the reference interpreter. It defines what a program means.
//!
//! This crate knows nothing of detectors: an executor tells a [`listener::Listener`] what happens.

#![forbid(unsafe_code)]

pub mod cost;
pub mod dominators;
pub mod listener;
pub mod loops;
pub mod machine;
pub mod module;
pub mod range;
pub mod steering;
pub mod text;
pub mod updates;
mod uses;
pub mod verify;

pub use module::*;
