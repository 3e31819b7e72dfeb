//! The prover against runs, the oracle and itself. The tests are one binary: each one links the
//! compiler and isl, which takes longer than running most of them.

mod any_programs;
mod checked;
mod default_check;
mod kept;
mod metamorphic;
mod random_programs;
