//! Waiting for a word of memory by the kernel's futex, past the function of the C library, before
//! which the runtime itself stands.

use std::arch::asm;
use std::sync::atomic::AtomicU32;

const FUTEX: i64 = 202;
const WAIT: i64 = 0;
const WAKE: i64 = 1;
const TIMED_OUT: i64 = -110;

/// `struct timespec`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Time {
    seconds: i64,
    nanoseconds: i64,
}

impl Time {
    pub(crate) const fn milliseconds(milliseconds: i64) -> Time {
        Time {
            seconds: 0,
            nanoseconds: milliseconds * 1_000_000,
        }
    }
}

/// Whether the time is over.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, longest: Option<Time>) -> bool {
    let longest = longest
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    futex(word, WAIT, i64::from(value), longest) == TIMED_OUT
}

pub(crate) fn futex_wake(word: &AtomicU32) {
    futex(word, WAKE, 1, std::ptr::null());
}

pub(super) fn futex_wake_all(word: &AtomicU32) {
    futex(word, WAKE, i64::from(i32::MAX), std::ptr::null());
}

/// The system call, past our own function for it.
fn futex(word: &AtomicU32, operation: i64, value: i64, time: *const Time) -> i64 {
    let result;
    // SAFETY: the kernel reads the word and the time, and changes no memory.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") FUTEX => result,
            in("rdi") word.as_ptr(),
            in("rsi") operation,
            in("rdx") value,
            in("r10") time,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result
}
