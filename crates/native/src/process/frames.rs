//! The place of a call that reaches the runtime through code that is not instrumented.
//!
//! An instrumented function calls std, std calls the C library, and the runtime stands before that.
//! The place in the instrumented function is what a report can name.

use super::owner::with_checker;
use crate::checker::Checker;
use std::arch::asm;
use std::ops::Range;

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
pub(crate) fn place_in(checker: &Checker) -> u64 {
    innermost_place(
        frame_pointer(),
        &checker.thread.stack,
        checker.calls.innermost(),
    )
}

/// Where the thread that runs calls a function of the C library from.
#[inline(always)]
pub(crate) fn place_of_call() -> u64 {
    with_checker(|checker| place_in(checker)).unwrap_or(0)
}
