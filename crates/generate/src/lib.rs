//! Programs for the tests: random ones, all small ones, every construct in every other, mutilated ones;
//! and the shrinker that makes a failing one readable.
//!
//! All programs are made as a tree ([`shape`]) or as text, by what knows nothing of the front end that will
//! read them and is a pure function of a seed or an index: what failed once can be made again from one number.
//!
//! | module | what it makes |
//! |---|---|
//! | [`shape`], [`render`](mod@render) | the tree of a program, and its text |
//! | [`random`] | a program from a seed, with bounds on what it executes and, if asked, free of races by construction |
//! | [`affine`] | a program from a seed whose bounds, conditions and indices are affine in its parameters |
//! | [`small`] | every program of n statements over `async`, `finish`, `isolated` and accesses of two variables |
//! | [`matrix`] | each construct inside and after each other, with what the front end must say |
//! | [`mutate`] | damaged sources, for a front end that must survive any bytes |
//! | [`shrink`](mod@shrink) | a smaller program that fails in the same way |
//! | [`campaign`] | nothing itself: goes through many seeds, on all cores |

#![forbid(unsafe_code)]

pub mod affine;
pub mod campaign;
pub mod matrix;
pub mod mutate;
pub mod random;
pub mod render;
pub mod rng;
pub mod shape;
pub mod shrink;
pub mod small;

pub use random::{Settings, program};
pub use render::render;
pub use shape::Program;
pub use shrink::shrink;
