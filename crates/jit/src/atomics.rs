//! The atomic operations of the lock-free files, in one place: `tests/orderings` compiles these
//! files in a crate whose `atomics` are those of loom, which tries every interleaving.

pub(crate) use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering};
