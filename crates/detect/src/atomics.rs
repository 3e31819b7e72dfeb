//! The atomic operations of the lock-free files, in one place: `tests/orderings` compiles these
//! files in a crate whose `atomics` are those of loom, which tries every interleaving.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use std::thread::yield_now;

/// Orders what the thread did up to a read-modify-write, with it, before what the thread does
/// later, for all threads. The processor has done so already.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn fence_after_swap() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn fence_after_swap() {
    fence(Ordering::SeqCst);
}
