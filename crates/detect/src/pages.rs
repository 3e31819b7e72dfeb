//! Memory from the operating system, without any allocator. It can be used inside an allocator,
//! even one that a program interposes.
//!
//! The calls are declared here, as in Linux on 64-bit processors, because the crate has no
//! dependencies.

use std::ffi::{c_int, c_long, c_void};
use std::ptr::{NonNull, null_mut};

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        bytes: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        from: c_long,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
    fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int;
}

const READ_AND_WRITE: c_int = 0x1 | 0x2;
const PRIVATE: c_int = 0x2;
const ANONYMOUS: c_int = 0x20;
const NO_RESERVE: c_int = 0x4000;
const HUGE_PAGES: c_int = 14;
const NOT_NEEDED: c_int = 4;

/// Fresh pages of zeros, committed when touched.
pub fn map(bytes: usize) -> Option<NonNull<u8>> {
    let flags = PRIVATE | ANONYMOUS | NO_RESERVE;
    // SAFETY: a new anonymous mapping at an address of the system's choice overlaps nothing.
    let base = unsafe { mmap(null_mut(), bytes, READ_AND_WRITE, flags, -1, 0) };
    // A refusal is an address with all bits set.
    NonNull::new(base.cast::<u8>()).filter(|base| base.as_ptr().addr() != usize::MAX)
}

/// Returns pages to the system.
///
/// # Safety
///
/// The pages were mapped here, all in one piece, and nobody uses them any more.
pub unsafe fn unmap(base: NonNull<u8>, bytes: usize) {
    // SAFETY: by the contract.
    let failed = unsafe { munmap(base.as_ptr().cast(), bytes) };
    debug_assert_eq!(failed, 0);
}

/// Asks for huge pages. A system without them refuses, which does no harm.
///
/// # Safety
///
/// The pages were mapped here.
pub unsafe fn ask_for_huge(base: NonNull<u8>, bytes: usize) {
    // SAFETY: the advice changes no contents.
    unsafe { madvise(base.as_ptr().cast(), bytes, HUGE_PAGES) };
}

/// Makes pages zero again and returns their memory until they are touched. True if it was done.
///
/// # Safety
///
/// The pages were mapped here, and nobody borrows from them.
pub unsafe fn make_zero(base: NonNull<u8>, bytes: usize) -> bool {
    // SAFETY: by the contract. Private anonymous pages are zeros when they are touched next.
    unsafe { madvise(base.as_ptr().cast(), bytes, NOT_NEEDED) == 0 }
}
