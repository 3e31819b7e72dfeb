//! The tests of the IR, one module for each part of the crate. They are one binary: linking a
//! binary takes longer than running most of them.

mod builder;
mod collector;
mod listener;
mod machine;
mod text;
mod verify;
