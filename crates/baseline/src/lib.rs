//! Four of the benchmarks of `programs/esp-bags` in plain, safe, sequential Rust. Compiled Fin is
//! measured against them.
//!
//! Each module is the Fin program of its name, with the same data, the same loops in the same order
//! and the same validation. So the two do the same work. `run` returns the line that the Fin
//! program prints, and panics if the result is wrong. A test compares the lines at size small.

#![forbid(unsafe_code)]

pub mod crypt;
pub mod matmul;
mod random;
pub mod series;
pub mod sor;

/// The sizes of the benchmarks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    Small,
    A,
    B,
    C,
}

impl Size {
    /// The argument that selects this size in the Fin programs.
    pub const fn argument(self) -> i64 {
        match self {
            Size::Small => 0,
            Size::A => 1,
            Size::B => 2,
            Size::C => 3,
        }
    }
}
