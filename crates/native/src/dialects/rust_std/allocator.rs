//! Memory that the program's allocator hands out and takes back, whichever allocator that is.
//!
//! Rust code allocates by four functions that the compiler makes for each program. Behind them is
//! the system's allocator, or the one that the program names by `#[global_allocator]`. The calls of
//! these four functions are checked, and what happens inside them is not: an allocator uses the
//! same memory for one task after the other, by rules of its own. Memory that comes from the C
//! library directly is seen in [`crate::abi::allocation`].

use crate::abi::allocation::{Ending, allocated, caught, ending, freed, kept, reallocated};
use crate::process;
use std::ffi::c_void;

unsafe extern "C" {
    fn __finishline_real_rust_alloc(bytes: usize, alignment: usize) -> *mut c_void;
    fn __finishline_real_rust_alloc_zeroed(bytes: usize, alignment: usize) -> *mut c_void;
    fn __finishline_real_rust_dealloc(block: *mut c_void, bytes: usize, alignment: usize);
    fn __finishline_real_rust_realloc(
        block: *mut c_void,
        bytes: usize,
        alignment: usize,
        new_bytes: usize,
    ) -> *mut c_void;
}

/// Calls the allocator while nobody listens.
#[inline(always)]
fn unheard<R>(call: impl FnOnce() -> R) -> R {
    // Another thread's, or the allocator's own.
    if !process::is_checked() {
        return call();
    }
    process::hand_over();
    let result = call();
    process::take_over();
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __finishline_wrap_rust_alloc(bytes: usize, alignment: usize) -> *mut c_void {
    // SAFETY: the program's own call, here and below. These functions have plain words for
    // arguments, so how they are called is the same in Rust and C.
    let block = unheard(|| unsafe { __finishline_real_rust_alloc(bytes, alignment) });
    allocated(block, bytes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __finishline_wrap_rust_alloc_zeroed(
    bytes: usize,
    alignment: usize,
) -> *mut c_void {
    // SAFETY: as above.
    let block = unheard(|| unsafe { __finishline_real_rust_alloc_zeroed(bytes, alignment) });
    allocated(block, bytes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __finishline_wrap_rust_dealloc(
    block: *mut c_void,
    bytes: usize,
    alignment: usize,
) {
    // SAFETY: as above.
    let free = || unheard(|| unsafe { __finishline_real_rust_dealloc(block, bytes, alignment) });
    match freed(block) {
        Ending::GivenBack => free(),
        Ending::Kept(known) => {
            if caught(block, known, free) {
                kept(block);
            }
        }
        Ending::Again => {}
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __finishline_wrap_rust_realloc(
    block: *mut c_void,
    bytes: usize,
    alignment: usize,
    new_bytes: usize,
) -> *mut c_void {
    let mut moved = std::ptr::null_mut();
    let mut reallocate = || {
        // SAFETY: as above.
        moved = unheard(|| unsafe {
            __finishline_real_rust_realloc(block, bytes, alignment, new_bytes)
        });
    };
    let waits = match ending(block) {
        Ending::GivenBack => {
            reallocate();
            false
        }
        Ending::Kept(known) => caught(block, known, reallocate),
        Ending::Again => {
            // SAFETY: as above. What the block had is gone: it was freed before.
            return unsafe { __finishline_wrap_rust_alloc(new_bytes, alignment) };
        }
    };
    reallocated(block, moved, new_bytes);
    if waits {
        kept(block);
    }
    moved
}
