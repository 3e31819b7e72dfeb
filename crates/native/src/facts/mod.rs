//! What the checker keeps of a run. Each file is about one thing, and knows neither the checker nor
//! a process.
//!
//! ```text
//! addresses   calls ─ structure ─── holding ─┬─ heap
//! shadow                                     ├─ races
//!                                            └─ synchronisation
//! ```

pub mod addresses;
pub mod calls;
pub mod heap;
pub mod holding;
pub mod races;
#[allow(unsafe_code)]
pub mod shadow;
pub mod structure;
pub mod synchronisation;
