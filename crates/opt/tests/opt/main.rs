//! The tests of all passes. They are one binary: linking a binary takes longer than running most of
//! them.

mod common;
mod conditions;
mod edges;
mod figures;
mod intent;
mod irreducible;
mod nests;
mod programs;
mod proved;
mod random_programs;
mod sequential;
mod subsets;
mod whole_program;
