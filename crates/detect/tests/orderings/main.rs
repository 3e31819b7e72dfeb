//! The memory orderings of the lock-free structures, under loom.
//!
//! Loom runs a small program of a few threads in every interleaving with a bounded number of
//! preemptions. A load returns each value that its ordering allows. So a test here fails if an
//! ordering is too weak, also on a processor that would forgive it.
//!
//! This crate compiles the files of `finishline-detect` that have atomic operations, as they are,
//! with the `atomics` of loom and with `words` that loom follows. Hence these files have no tests
//! inside: `tests/detect` has them.
//!
//! **Weakened once.** Each acquire, release and fence in these files is needed: with a weaker one a
//! test here fails. Keep it so: weaken a new one, and see a test fail.

// Each crate uses some of them.
#[allow(dead_code, unused_imports)]
mod atomics;
mod cells;

mod order {
    pub(crate) use finishline_detect::order::Stamp;
}

mod table {
    pub(crate) use finishline_detect::table::{TableError, Zeroed};
}

// The tests don't use all of these files.
#[allow(dead_code, unreachable_pub)]
mod parallel;
