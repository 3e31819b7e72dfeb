//! Computation graphs: the steps of one run, what precedes what, and what each accessed.
//!
//! - [`graph`] builds the [`Graph`] of a run from its events.
//! - [`check`] is the interface of checkers: a graph in, its racing locations out, each with one
//!   pair of nodes, or a refusal that names the construct.
//! - [`closure`] is `cg`: the transitive closure, then every pair of concurrent nodes.
//! - [`zipper`] is `zipper`: nodes filed by isolated blocks and branches.
//! - [`labels`] is `labels`: structure and two numbers a step, near-linear. It also judges a run
//!   while it goes on, without a graph.
//! - [`collapse`] makes groups of like nodes, for a drawing of a large graph.
//! - [`growth`] makes graphs of any size, to measure the three.
//!
//! All three answer for the observed order of isolated blocks: two nodes are concurrent if neither
//! task structure nor the chain of isolated blocks orders them. They are compared with each other
//! and with the oracle of `detect`.

#![forbid(unsafe_code)]

pub mod check;
pub mod closure;
pub mod collapse;
pub mod graph;
pub mod growth;
pub mod labels;
pub mod zipper;

pub use check::{CHECKERS, Checker, RacingLocation};
pub use graph::{Graph, GraphBuilder, NodeId, NodeKind};
