//! Functions of the C library that allocate and free, in the place of which the runtime stands.
//!
//! The program's calls arrive here because a symbol of the executable precedes those of libraries.
//! The library's own functions are called by their other names. A dialect with an allocator of its
//! own tells its blocks by the functions of this file.
//!
//! A freed block first waits in the [quarantine]. So a block that gets another size moves: what
//! still points to the old one is found out.

use super::quarantine;
use crate::process::{place_in, with_checker};
use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn malloc_usable_size(block: *mut c_void) -> usize;
    fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
}

#[inline(always)]
pub(crate) fn allocated(block: *mut c_void, bytes: usize) -> *mut c_void {
    if !block.is_null() {
        with_checker(|checker| {
            let place = place_in(checker);
            checker.allocated(block as u64, bytes as u64, place);
        });
    }
    block
}

/// What becomes of a block that the program frees.
#[derive(Clone, Copy)]
pub(crate) enum Ending {
    /// Its allocator gets it.
    GivenBack,
    /// It has this number of bytes and is to wait, if the allocator gives it up.
    Kept(u64),
    /// It waits already, so it was freed before.
    Again,
}

/// Tells that a block is freed. What waits already must not reach its allocator.
#[inline(always)]
pub(crate) fn freed(block: *mut c_void) -> Ending {
    if block.is_null() {
        return Ending::GivenBack;
    }
    let ending = with_checker(|checker| {
        let place = place_in(checker);
        if checker.heap.kept(block as u64).is_some() {
            checker.freed_again(block as u64, place);
            return Ending::Again;
        }
        let kept = quarantine::bytes_to_keep(checker, block);
        checker.freed(block as u64, place);
        kept.map_or(Ending::GivenBack, Ending::Kept)
    });
    ending.unwrap_or(Ending::GivenBack)
}

/// Calls an allocator to free a block, and tells whether the block waits now.
#[inline(always)]
pub(crate) fn caught(block: *mut c_void, bytes: u64, free: impl FnOnce()) -> bool {
    quarantine::expect(block, bytes);
    free();
    quarantine::has_come(block)
}

/// Tells that a freed block waits.
#[inline(always)]
pub(crate) fn kept(block: *mut c_void) {
    let budget = with_checker(|checker| {
        let place = place_in(checker);
        checker.kept(block as u64, place);
        checker.options.quarantine
    });
    quarantine::trim(budget.unwrap_or(u64::MAX));
}

/// What is to become of a block that gets another size.
#[inline(always)]
pub(crate) fn ending(block: *mut c_void) -> Ending {
    let ending = with_checker(|checker| {
        if checker.heap.kept(block as u64).is_some() {
            let place = place_in(checker);
            checker.freed_again(block as u64, place);
            return Ending::Again;
        }
        quarantine::bytes_to_keep(checker, block).map_or(Ending::GivenBack, Ending::Kept)
    });
    ending.unwrap_or(Ending::GivenBack)
}

/// A block was moved, or has another size; nothing was done if there is none now.
#[inline(always)]
pub(crate) fn reallocated(block: *mut c_void, moved: *mut c_void, bytes: usize) {
    if !moved.is_null() {
        with_checker(|checker| {
            let place = place_in(checker);
            checker.reallocated(block as u64, moved as u64, bytes as u64, place);
        });
    }
}

/// Allocates. If there is no memory, what waits in the quarantine is given back first.
#[inline(always)]
fn obtained(allocate: impl Fn() -> *mut c_void) -> *mut c_void {
    let block = allocate();
    match block.is_null() && quarantine::drain() {
        true => allocate(),
        false => block,
    }
}

/// A new block with the contents of one that ends.
///
/// # Safety
///
/// The C library has allocated the block and not got it back.
unsafe fn copied(block: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: as in `malloc`.
    let moved = obtained(|| unsafe { __libc_malloc(bytes) });
    if !moved.is_null() {
        // SAFETY: both blocks have this number of bytes, and do not overlap.
        unsafe { memcpy(moved, block, bytes.min(malloc_usable_size(block))) };
    }
    moved
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: the program's own call, here and below.
    allocated(obtained(|| unsafe { __libc_malloc(bytes) }), bytes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: as in `malloc`. A product that is too big gives no block.
    allocated(
        obtained(|| unsafe { __libc_calloc(count, bytes) }),
        count.wrapping_mul(bytes),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    if block.is_null() {
        // SAFETY: as in `malloc`.
        return unsafe { malloc(bytes) };
    }
    if bytes == 0 {
        // SAFETY: as in `malloc`.
        unsafe { free(block) };
        return std::ptr::null_mut();
    }
    if quarantine::expects(block) {
        // SAFETY: an allocator passes on its caller's block.
        let moved = unsafe { copied(block, bytes) };
        if !moved.is_null() && !quarantine::catches(block) {
            // SAFETY: as in `malloc`: nobody else frees it.
            unsafe { __libc_free(block) };
        }
        return moved;
    }
    match ending(block) {
        Ending::GivenBack => {
            // SAFETY: as in `malloc`.
            let moved = obtained(|| unsafe { __libc_realloc(block, bytes) });
            reallocated(block, moved, bytes);
            moved
        }
        Ending::Kept(old) => {
            // SAFETY: the block is live.
            let moved = unsafe { copied(block, bytes) };
            reallocated(block, moved, bytes);
            if moved.is_null() {
                return moved;
            }
            match quarantine::put(block, old) {
                true => kept(block),
                // SAFETY: the block has just ended, and does not wait.
                false => unsafe { __libc_free(block) },
            }
            moved
        }
        Ending::Again => {
            // SAFETY: the block waits, so its memory is there.
            let moved = unsafe { copied(block, bytes) };
            allocated(moved, bytes)
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    if quarantine::expects(block) && quarantine::catches(block) {
        return;
    }
    match freed(block) {
        // SAFETY: as in `malloc`.
        Ending::GivenBack => unsafe { __libc_free(block) },
        Ending::Kept(bytes) if quarantine::put(block, bytes) => kept(block),
        // SAFETY: as in `malloc`.
        Ending::Kept(_) => unsafe { __libc_free(block) },
        Ending::Again => {}
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: as in `malloc`.
    allocated(
        obtained(|| unsafe { __libc_memalign(alignment, bytes) }),
        bytes,
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: as in `malloc`.
    allocated(
        obtained(|| unsafe { __libc_memalign(alignment, bytes) }),
        bytes,
    )
}

const INVALID: c_int = 22;
const NO_MEMORY: c_int = 12;

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(
    result: *mut *mut c_void,
    alignment: usize,
    bytes: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return INVALID;
    }
    // SAFETY: as in `malloc`.
    let block = obtained(|| unsafe { __libc_memalign(alignment, bytes) });
    if block.is_null() {
        return NO_MEMORY;
    }
    // SAFETY: the program's own place for the result.
    unsafe { *result = allocated(block, bytes) };
    0
}
