//! Functions of the C library that allocate and free, in the place of which the runtime stands.
//!
//! The program's calls arrive here because a symbol of the executable precedes those of libraries.
//! The library's own functions are called by their other names. A dialect with an allocator of its
//! own tells its blocks by the same three functions.

use crate::process::{place_in, with_checker};
use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
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

#[inline(always)]
pub(crate) fn freed(block: *mut c_void) {
    if !block.is_null() {
        with_checker(|checker| {
            let place = place_in(checker);
            checker.freed(block as u64, place);
        });
    }
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

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: the program's own call, here and below.
    allocated(unsafe { __libc_malloc(bytes) }, bytes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: as in `malloc`. A product that is too big gives no block.
    allocated(
        unsafe { __libc_calloc(count, bytes) },
        count.wrapping_mul(bytes),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: as in `malloc`.
    let moved = unsafe { __libc_realloc(block, bytes) };
    match moved.is_null() {
        true if bytes == 0 => freed(block),
        true => {}
        false => reallocated(block, moved, bytes),
    }
    moved
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    freed(block);
    // SAFETY: as in `malloc`.
    unsafe { __libc_free(block) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: as in `malloc`.
    allocated(unsafe { __libc_memalign(alignment, bytes) }, bytes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: as in `malloc`.
    allocated(unsafe { __libc_memalign(alignment, bytes) }, bytes)
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
    let block = unsafe { __libc_memalign(alignment, bytes) };
    if block.is_null() {
        return NO_MEMORY;
    }
    // SAFETY: the program's own place for the result.
    unsafe { *result = allocated(block, bytes) };
    0
}
