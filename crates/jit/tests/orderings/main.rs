//! The memory orderings of parallel runs, under loom. `crates/detect/tests/orderings` says how.
//!
//! This crate compiles the files of `finishline-jit` with the lock-free structures, as they are.
//! What they need besides is replaced by as little as possible.

// Each crate uses some of them.
#[allow(dead_code, unused_imports)]
#[path = "../../../detect/tests/orderings/atomics.rs"]
mod atomics;

mod checker {
    pub(crate) struct Carried;

    impl Carried {
        pub(crate) const fn nothing() -> Carried {
            Carried
        }
    }
}

// The tests don't use all of the files.
#[allow(dead_code)]
mod runtime;
