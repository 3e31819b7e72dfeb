//! The IR: what a Fin program is once names and types are gone, and what running it means.
//!
//! - [`module`]: functions as control-flow graphs in SSA form with block parameters. A race check is an
//!   instruction of its own, apart from the load or store it guards.
//! - [`text`]: the printed form, for people and snapshot tests.
//! - [`verify`]: what every pass may rely on and must keep.
//! - [`dominators`]: the dominator tree. [`loops`]: the natural loops.
//! - [`range`]: what a check of several locations covers.
//! - [`cost`]: what the memory budget counts.
//! - [`listener`]: who hears what happens in a run.
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
pub mod text;
mod uses;
pub mod verify;

pub use module::*;
