//! Functions of the C library that are told before they do their work: memory that is allocated and freed, threads that begin,
//! waiting for another thread.
//!
//! The program's calls come here because a symbol of the executable goes before those of libraries; the library's own functions
//! are called by their other names.

use crate::checker::Waits;
use crate::process::{self, checker};
use crate::threads::{self, Start};
use std::arch::{asm, naked_asm};
use std::ffi::{c_int, c_void};
use std::ops::Range;

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// How many calls there can be between an instrumented function and the allocator.
const MOST_CALLS_BETWEEN: usize = 64;

/// Where the innermost instrumented function is. Between it and here are functions of std that are not instrumented; they keep frame
/// pointers, and so the chain of frames leads to the one whose return address the instrumented function told when it was entered.
#[inline(always)]
fn innermost_place(frame: u64, stack: &Range<u64>, called_from: Option<u64>) -> u64 {
    let (mut frame, mut place) = (frame, 0);
    for _ in 0..MOST_CALLS_BETWEEN {
        // Whatever a function without frame pointers left in the register.
        if frame % 8 != 0 || !stack.contains(&frame) || !stack.contains(&(frame + 8)) {
            break;
        }
        // SAFETY: a frame begins with the caller's frame and the return address; the addresses are above ours, in the stack.
        let [outer, returns_to] = unsafe { *(frame as *const [u64; 2]) };
        if Some(returns_to) == called_from || outer <= frame {
            break;
        }
        (frame, place) = (outer, returns_to);
    }
    place
}

/// The frame of the function that this is inlined into.
#[inline(always)]
pub(crate) fn frame_pointer() -> u64 {
    let frame;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags)) };
    frame
}

#[inline(always)]
fn allocated(block: *mut c_void, bytes: usize) -> *mut c_void {
    if let Some(checker) = checker()
        && !block.is_null()
    {
        let place = innermost_place(frame_pointer(), &checker.stack, checker.calls.innermost());
        checker.allocated(block as u64, bytes as u64, place);
    }
    block
}

fn freed(block: *mut c_void) {
    if let Some(checker) = checker()
        && !block.is_null()
    {
        checker.freed(block as u64);
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
    if !moved.is_null() || bytes == 0 {
        freed(block);
    }
    allocated(moved, bytes)
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

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const c_void,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let place = checker().map_or(0, |checker| {
        innermost_place(frame_pointer(), &checker.stack, checker.calls.innermost())
    });
    threads::create(thread, attributes, start, argument, place)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int {
    threads::join(thread, result)
}

/// The C library's own `syscall`, and whether it was looked for.
static mut SYSCALL: usize = 0;

const FUTEX: u64 = 202;
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAIT_BITSET: u64 = 9;
const FUTEX_COMMAND: u64 = 0x7f;

/// Locks, channels and condition variables wait by this call. It has up to seven arguments, which are handed on as they are.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn syscall() {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "call {before}",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rbp",
        "jmp rax",
        before = sym before_syscall,
    )
}

/// Where to go on.
extern "C" fn before_syscall(
    number: u64,
    address: u64,
    operation: u64,
    _value: u64,
    timeout: u64,
) -> usize {
    let command = operation & FUTEX_COMMAND;
    let waits =
        number == FUTEX && timeout == 0 && matches!(command, FUTEX_WAIT | FUTEX_WAIT_BITSET);
    if waits && process::nobody_else_runs() {
        let place = checker().map_or(0, |checker| {
            innermost_place(frame_pointer(), &checker.stack, checker.calls.innermost())
        });
        threads::waits(Waits::Futex, address, place);
    }
    // SAFETY: a word that is written once with one value.
    unsafe {
        if SYSCALL == 0 {
            SYSCALL = threads::original(c"syscall") as usize;
        }
        SYSCALL
    }
}
