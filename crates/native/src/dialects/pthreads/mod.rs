//! The threads of the C library: functions that the runtime stands before, which begin and join
//! threads, by which a thread may wait, and which it calls as itself.
//!
//! The program's calls arrive here because a symbol of the executable precedes those of libraries.
//! The library's own functions are called by their other names.

#[allow(unsafe_code)]
mod own_thread;
#[allow(unsafe_code)]
mod threads;

use crate::process::{self, frame_pointer, place_of_call, with_checker};
use crate::turns::{self, For};
use finishline_model::kinds::WaitKind;
use std::arch::naked_asm;
use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use threads::Start;

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
    turns::give_way();
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
            FUTEX_WAKE | FUTEX_WAKE_BITSET => turns::wakes(address, value),
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
