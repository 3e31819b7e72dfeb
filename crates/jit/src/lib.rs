//! Fin programs as machine code.
//!
//! - [`heap`]: the objects of a running program and their reclamation.

pub mod heap;
