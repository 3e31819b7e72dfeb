//! The tests of graphs and their checkers. They are one binary. Programs in the notation of the
//! tests of `detect`, and random ones, come from there.

mod building;
mod collapsing;
mod judge;
mod named_programs;
mod printed;
mod printed_programs;
mod random;
mod refusals;
mod sizes;
mod small_worlds;

#[allow(dead_code)]
#[path = "../../../detect/tests/detect/common/interleaved.rs"]
mod interleaved;
#[path = "../../../detect/tests/detect/common/streams.rs"]
mod streams;
#[allow(dead_code)]
#[path = "../../../detect/tests/detect/common/words.rs"]
mod words;
