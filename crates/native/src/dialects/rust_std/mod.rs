//! The standard library of Rust: functions of the precompiled part that the runtime stands before,
//! because their atomic operations are not instrumented.
//!
//! The linker's `--wrap` leads a program's calls here; `crates/native/symbols.txt` lists the
//! functions. The runtime acts before or after the function itself, or both, and gets its first two
//! arguments.

#[allow(unsafe_code)]
mod allocator;
mod counted;

pub(crate) use counted::is_drop_slow;

use crate::checker::Checker;
use crate::facts::synchronisation::{How, Operation};
use crate::process::{references, with_checker};
use std::arch::naked_asm;
use std::sync::atomic::{AtomicU32, Ordering};

/// `__finishline_wrap_$name` tells `$before` the first two arguments, calls the function with all,
/// and tells `$after` these two, what `$before` answered, and the result. It keeps to the frame
/// that unwinding needs.
macro_rules! wrap {
    ($($wrap:ident $real:ident $before:path, $after:path;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $wrap() {
                naked_asm!(
                    ".cfi_startproc",
                    "push rbp",
                    ".cfi_def_cfa_offset 16",
                    ".cfi_offset rbp, -16",
                    "mov rbp, rsp",
                    ".cfi_def_cfa_register rbp",
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
                    "push rax",
                    "sub rsp, 8",
                    "mov rdi, [rbp - 8]",
                    "mov rsi, [rbp - 16]",
                    "call {real}",
                    "mov [rsp], rax",
                    "mov rdi, [rbp - 8]",
                    "mov rsi, [rbp - 16]",
                    "mov rdx, [rbp - 24]",
                    "mov rcx, rax",
                    "call {after}",
                    "mov rax, [rsp]",
                    "mov rsp, rbp",
                    "pop rbp",
                    ".cfi_def_cfa rsp, 8",
                    "ret",
                    ".cfi_endproc",
                    before = sym $before,
                    real = sym $real,
                    after = sym $after,
                )
            }
        )*

        unsafe extern "C" {
            $(fn $real();)*
        }
    };
}

wrap! {
    __finishline_wrap_current_thread __finishline_real_current_thread asks, nothing_more;
    __finishline_wrap_once_call __finishline_real_once_call nothing, once_is_done;
    __finishline_wrap_scope_ends __finishline_real_scope_ends thread_of_scope_ends, nothing_more;
    __finishline_wrap_mutex_lock __finishline_real_mutex_lock nothing, mutex_is_locked;
    __finishline_wrap_rwlock_read __finishline_real_rwlock_read nothing, rwlock_is_read;
    __finishline_wrap_rwlock_write __finishline_real_rwlock_write nothing, rwlock_is_written;
    __finishline_wrap_condition_wait __finishline_real_condition_wait
        condition_waits, condition_waited;
    __finishline_wrap_condition_wait_timeout __finishline_real_condition_wait_timeout
        condition_waits, condition_waited;
    __finishline_wrap_barrier_wait __finishline_real_barrier_wait barrier_waits, barrier_waited;
    __finishline_wrap_park __finishline_real_park nothing, has_parked;
    __finishline_wrap_park_timeout __finishline_real_park_timeout nothing, has_parked;
}

extern "C" fn nothing(_: u64, _: u64) -> u64 {
    0
}

/// The handle of the current thread tells it from others.
extern "C" fn asks(_: u64, _: u64) -> u64 {
    with_checker(Checker::asks);
    0
}

extern "C" fn nothing_more(_: u64, _: u64, _: u64, _: u64) {}

/// An initialiser has run, in this call or before. What it did happens before this call returns.
/// The first argument is the address of the state.
extern "C" fn once_is_done(state: u64, _: u64, _: u64, _: u64) {
    with_checker(|checker| checker.done_once(state));
}

/// The scope's data are a count, a flag and a reference, in an order that the compiler chooses.
const WORDS_OF_SCOPE: u64 = 3;

/// A thread of a scope says that it has ended. What it did happens before the scope finds that. The
/// first argument is the scope's data, which has the count of threads.
extern "C" fn thread_of_scope_ends(scope: u64, _: u64) -> u64 {
    with_checker(|checker| {
        for word in 0..WORDS_OF_SCOPE {
            checker.published(scope + 8 * word);
        }
    });
    0
}

/// What a futex has in it.
fn value(futex: u64) -> u64 {
    // SAFETY: the function that was called has worked on it.
    let word = unsafe { AtomicU32::from_ptr(futex as *mut u32) };
    u64::from(word.load(Ordering::Relaxed))
}

/// Takes, or gives up, a lock by replacing one value by another.
fn replaced(futex: u64, before: u64, after: u64, takes: bool) {
    let operation = Operation {
        address: futex,
        before: Some(before),
        after: Some(after),
        how: How::Replaced,
        acquires: takes,
        releases: !takes,
    };
    with_checker(|checker| checker.unseen(&operation));
}

const UNLOCKED: u64 = 0;

/// A mutex that somebody else had has been waited for.
extern "C" fn mutex_is_locked(mutex: u64, _: u64, _: u64, _: u64) {
    replaced(mutex, UNLOCKED, value(mutex), true);
}

/// The bits of a reader-writer lock's state that count its readers, all of them set for a writer;
/// the others say who waits.
const READERS: u64 = 0x3fff_ffff;

extern "C" fn rwlock_is_read(lock: u64, _: u64, _: u64, _: u64) {
    let state = value(lock);
    replaced(lock, state.wrapping_sub(1), state, true);
}

extern "C" fn rwlock_is_written(lock: u64, _: u64, _: u64, _: u64) {
    let state = value(lock);
    replaced(lock, state & !READERS, state, true);
}

/// A condition variable releases the mutex, its second argument, while it waits.
extern "C" fn condition_waits(_: u64, mutex: u64) -> u64 {
    replaced(mutex, value(mutex), UNLOCKED, false);
    0
}

extern "C" fn condition_waited(_: u64, mutex: u64, _: u64, _: u64) {
    replaced(mutex, UNLOCKED, value(mutex), true);
}

/// What is before a barrier in one thread happens before what is behind it in each.
extern "C" fn barrier_waits(barrier: u64, _: u64) -> u64 {
    with_checker(|checker| checker.arrives_at_barrier(barrier)).unwrap_or(0)
}

/// The result tells whether this thread was the last, with which the barrier begins anew.
extern "C" fn barrier_waited(barrier: u64, _: u64, round: u64, result: u64) {
    with_checker(|checker| checker.leaves_barrier(barrier, round, result & 0xff != 0));
}

/// A thread's description is shared: its block begins with two counts.
const BYTES_OF_COUNTS: u64 = 16;
/// They are followed by a name, a number and the word by which the thread parks.
const MOST_BYTES_OF_THREAD: u64 = 64;

/// The thread has taken the token that another thread put there, perhaps without waiting. Putting
/// the token there was seen: it is a release of a word in the thread's description, which a
/// thread-local variable refers to. A token that is taken leaves a zero.
extern "C" fn has_parked(_: u64, _: u64, _: u64, _: u64) {
    with_checker(takes_token);
}

fn takes_token(checker: &mut Checker) {
    for description in references(&checker.thread.thread_locals) {
        let block = description.checked_sub(BYTES_OF_COUNTS);
        let block = block.and_then(|start| checker.heap.live(start));
        let Some(block) = block.filter(|block| block.bytes <= MOST_BYTES_OF_THREAD) else {
            continue;
        };
        for word in (checker.synchronisation).released_in(description..block.start + block.bytes) {
            if word.is_multiple_of(4) && value(word) == 0 {
                checker.relied_on(word);
            }
        }
    }
}
