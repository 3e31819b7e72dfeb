//! Programs for the tests, changes that keep their answers, and the shrinker of those that fail.
//!
//! A program is a tree ([`shape`]) or text. The generators know nothing of the front end that will
//! read it. Each program is a pure function of a seed or an index, so one number repeats a failure.
//!
//! | module | what it makes |
//! |---|---|
//! | [`shape`], [`render`](mod@render) | the tree of a program, and its text |
//! | [`random`] | a program from a seed: every construct, bounded, free of races if asked |
//! | [`affine`] | a program from a seed: affine bounds, conditions and indices |
//! | [`small`] | every program of n statements |
//! | [`matrix`] | each construct inside and after each other, with what the front end must say |
//! | [`mutate`] | damaged sources, for a front end that must survive any bytes |
//! | [`metamorphic`] | a changed program that must get the same answer |
//! | [`extremes`] | integers at the ends of 64 bits, for programs and their arguments |
//! | [`shrink`](mod@shrink) | a smaller program that fails in the same way |
//! | [`campaign`] | nothing: goes through many seeds, on all cores |

#![forbid(unsafe_code)]

pub mod affine;
pub mod campaign;
pub mod extremes;
pub mod matrix;
pub mod metamorphic;
pub mod mutate;
pub mod orders;
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
