//! Functions of the C library that the runtime stands before: those that allocate and free, that
//! begin and join threads, and that a thread may wait by.
//!
//! The program's calls arrive here because a symbol of the executable precedes those of libraries.
//! The library's own functions are called by their other names.

use crate::baton::{self, For};
use crate::checker::Checker;
use crate::process::{self, with_checker};
use crate::threads::{self, Start};
use finishline_model::kinds::WaitKind;
use std::arch::{asm, naked_asm};
use std::ffi::{c_int, c_long, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// How many calls there can be between an instrumented function and the allocator.
const MOST_CALLS_BETWEEN: usize = 64;

/// The place in the innermost instrumented function. The functions of std between it and the
/// runtime are not instrumented, but keep frame pointers. So the chain of frames leads to the frame
/// whose return address the instrumented function told when it was entered.
#[inline(always)]
fn innermost_place(frame: u64, stack: &Range<u64>, called_from: Option<u64>) -> u64 {
    let (mut frame, mut place) = (frame, 0);
    for _ in 0..MOST_CALLS_BETWEEN {
        // Whatever a function without frame pointers left in the register.
        if frame % 8 != 0 || !stack.contains(&frame) || !stack.contains(&(frame + 8)) {
            break;
        }
        // SAFETY: a frame begins with the caller's frame and the return address; the addresses are
        // above ours, in the stack.
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

/// The caller's place, as [`innermost_place`] tells it.
#[inline(always)]
fn place_in(checker: &Checker) -> u64 {
    innermost_place(
        frame_pointer(),
        &checker.thread.stack,
        checker.calls.innermost(),
    )
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

/// Where the thread that runs calls a function of the C library from.
#[inline(always)]
fn place_of_call() -> u64 {
    with_checker(|checker| place_in(checker)).unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const c_void,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    threads::create(thread, attributes, start, argument, place_of_call())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int {
    threads::join(thread, result, place_of_call())
}

/// The C library's own function, looked up once. All threads find the same.
fn found(function: &AtomicUsize, name: &std::ffi::CStr) -> usize {
    if function.load(Ordering::Relaxed) == 0 {
        function.store(threads::original(name) as usize, Ordering::Relaxed);
    }
    function.load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
    baton::give_way();
    // SAFETY: the C library has this function, of this type.
    let original: extern "C" fn() -> c_int =
        unsafe { std::mem::transmute(found(&ORIGINAL, c"sched_yield")) };
    original()
}

/// Functions by which a thread waits for something outside, or for some time.
macro_rules! pauses {
    ($($name:ident $text:literal ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
            let original = found(&ORIGINAL, $text);
            let original: unsafe extern "C" fn($($type),*) -> $result =
                // SAFETY: the C library has this function, of this type.
                unsafe { std::mem::transmute(original) };
            threads::waits(For::Something, true, WaitKind::Futex, 0, || {
                // SAFETY: the program's own call.
                unsafe { original($($argument),*) }
            })
        }
    )*};
}

pauses! {
    nanosleep c"nanosleep" (time: *const c_void, left: *mut c_void) -> c_int;
    clock_nanosleep c"clock_nanosleep"
        (clock: c_int, flags: c_int, time: *const c_void, left: *mut c_void) -> c_int;
}

static SYSCALL: AtomicUsize = AtomicUsize::new(0);

const FUTEX: u64 = 202;
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAKE: u64 = 1;
const FUTEX_WAIT_BITSET: u64 = 9;
const FUTEX_WAKE_BITSET: u64 = 10;
const FUTEX_COMMAND: u64 = 0x7f;

/// Locks, channels and condition variables wait by this call. It has up to seven arguments, which
/// are handed on as they are.
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
extern "C" fn before_syscall(number: u64, address: u64, operation: u64, value: u64) -> usize {
    if number == FUTEX {
        match operation & FUTEX_COMMAND {
            FUTEX_WAIT | FUTEX_WAIT_BITSET if process::is_checked() => {
                return futex_wait as *const () as usize;
            }
            FUTEX_WAKE | FUTEX_WAKE_BITSET => baton::wakes(address, value),
            _ => {}
        }
    }
    found(&SYSCALL, c"syscall")
}

type Syscall = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64) -> c_long;

/// The checked thread waits for a word, if it still has the value.
unsafe extern "C" fn futex_wait(
    number: u64,
    address: u64,
    operation: u64,
    value: u64,
    timeout: u64,
    other: u64,
    mask: u64,
) -> c_long {
    // SAFETY: the C library has this function, of this type, for seven arguments.
    let original: Syscall = unsafe { std::mem::transmute(found(&SYSCALL, c"syscall")) };
    let what = For::Word {
        address,
        value: value as u32,
    };
    // SAFETY: the program's own call.
    let original = || unsafe { original(number, address, operation, value, timeout, other, mask) };
    // SAFETY: the program's own variable, which it hands to the kernel.
    let word = unsafe { AtomicU32::from_ptr(address as *mut u32) };
    if word.load(Ordering::Relaxed) != value as u32 {
        return original();
    }
    let (place, limited, mut error) = (place_of_call(), timeout != 0, 0);
    // SAFETY: the frame begins with the caller's frame and the return address.
    let [_, called_from] = unsafe { *(frame_pointer() as *const [u64; 2]) };
    let result = threads::waits(what, limited, WaitKind::Futex, place, || {
        let result = original();
        // SAFETY: this thread's own variable.
        error = unsafe { *__errno_location() };
        result
    });
    // A caller that is not instrumented reads the word again, and acquires.
    if called_from != place {
        with_checker(|checker| checker.relied_on(address));
    }
    // SAFETY: as above. What came after the call has left something else there, perhaps.
    unsafe { *__errno_location() = error };
    result
}

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}
