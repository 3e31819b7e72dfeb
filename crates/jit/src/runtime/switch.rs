//! From one stack to another, in the few instructions that no other language has.
//!
//! A cooperative program has a stack for each task that may wait, a *strand*. The runtime runs on
//! the worker's stack: compiled code calls its functions through the trampolines below. Each
//! trampoline leaves the address of the strand's stack in the context, takes the worker's, and
//! calls the function.
//!
//! ```text
//! on_worker_stack!   the caller goes on behind the call, as always
//! switching!         the strand goes on whose context the function returns
//! ```
//!
//! A function that may switch returns to a strand that has called another one, so all of them
//! return the same: whether the caller has [`Passed`]. In a cooperative program all strands have
//! the same context, and take turns in it. In a parallel one each has its own.
//!
//! So a switch is an assignment of the runtime. The suspended strand has all registers that a call
//! preserves on top of its stack, and below them the address where it goes on. Compiled code leaves
//! the modes of the floating-point unit alone. Nothing is unwound through these functions: the
//! functions of the runtime abort if they panic.

use super::Entry;
use super::context::Context;
use super::parallel::Record;
use std::arch::naked_asm;
use std::mem::offset_of;

/// Whether the caller got past what it may have to wait for, and the context of the strand that
/// goes on. A strand that goes on after others has not got past: it asks again.
///
/// The convention for calls returns both in registers.
#[repr(C)]
pub(super) struct Passed {
    answer: u64,
    context: *mut Context,
}

impl Passed {
    pub(super) fn yes(context: *mut Context) -> Passed {
        Passed { answer: 1, context }
    }

    pub(super) fn not_yet(context: *mut Context) -> Passed {
        Passed { answer: 0, context }
    }

    pub(super) fn context(&self) -> *mut Context {
        self.context
    }

    /// The caller is to run this task first, and then ask again.
    pub(super) fn after(task: *mut Record, context: *mut Context) -> Passed {
        let answer = task.expose_provenance() as u64;
        Passed { answer, context }
    }
}

/// Where the context has the stack pointers.
pub(super) const STRAND: usize = offset_of!(Context, strand_pointer);
pub(super) const WORKER: usize = offset_of!(Context, worker_pointer);

/// Defines a function that calls another one on the worker's stack, with the same arguments. The
/// first one is the context. `Checker`, `Schedule` and `switch` must be in scope, here and below.
macro_rules! on_worker_stack {
    ($name:ident calls $($function:ident)::+) => {
        on_worker_stack!($name [C: Checker, S: Schedule] [$($function)::+::<C, S>]);
    };
    ($name:ident<C> calls $($function:ident)::+) => {
        on_worker_stack!($name [C: Checker] [$($function)::+::<C>]);
    };
    ($name:ident [$($generics:tt)*] [$($function:tt)*]) => {
        // SAFETY: the body keeps to the convention for calls: the callee preserves `rbp`, and the
        // worker's stack is aligned.
        #[unsafe(naked)]
        unsafe extern "C" fn $name<$($generics)*>() {
            std::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "mov [rdi + {strand}], rsp",
                "mov rsp, [rdi + {worker}]",
                "call {function}",
                "mov rsp, rbp",
                "pop rbp",
                "ret",
                strand = const switch::STRAND,
                worker = const switch::WORKER,
                function = sym $($function)*,
            )
        }
    };
}
pub(super) use on_worker_stack;

/// The same, for a function that may let another strand go on.
macro_rules! switching {
    ($name:ident calls $($function:ident)::+) => {
        // SAFETY: as above, for the strand that goes on: what a call preserves is on its stack.
        #[unsafe(naked)]
        unsafe extern "C" fn $name<C: Checker>() {
            std::arch::naked_asm!(
                "push rbp",
                "push rbx",
                "push r12",
                "push r13",
                "push r14",
                "push r15",
                "mov [rdi + {strand}], rsp",
                "mov rsp, [rdi + {worker}]",
                "call {function}",
                "mov rsp, [rdx + {strand}]",
                "pop r15",
                "pop r14",
                "pop r13",
                "pop r12",
                "pop rbx",
                "pop rbp",
                "ret",
                strand = const switch::STRAND,
                worker = const switch::WORKER,
                function = sym $($function)::+::<C>,
            )
        }
    };
}
pub(super) use switching;

/// Where a suspended strand goes on, and the registers that a call preserves, from the lowest
/// address on.
const SAVED_WORDS: usize = 7;

/// Prepares a stack whose highest address is `base`. It will begin with the entry, with the words
/// as arguments, and then call `end`, again and again. Returns its stack pointer.
///
/// # Safety
///
/// The stack must have room, and nobody may use it. The context must stay valid, and the entry must
/// be one for as many words.
pub(super) unsafe fn prepare(
    base: usize,
    words: &[u64],
    context: *mut Context,
    entry: Entry,
    end: usize,
) -> usize {
    let arguments = (base - size_of_val(words)) & !15;
    let pointer = arguments - SAVED_WORDS * size_of::<u64>();
    let (r15, r14, r13, r12) = (0, end, entry as usize, arguments);
    let (rbx, rbp) = (context as usize, 0);
    let saved = [
        r15,
        r14,
        r13,
        r12,
        rbx,
        rbp,
        begin_strand as *const () as usize,
    ];
    // SAFETY: below the base is room for all of this, as the caller promises.
    unsafe {
        let words_at = std::ptr::with_exposed_provenance_mut::<u64>(arguments);
        words_at.copy_from_nonoverlapping(words.as_ptr(), words.len());
        std::ptr::with_exposed_provenance_mut::<[usize; SAVED_WORDS]>(pointer).write(saved);
    }
    pointer
}

/// Where a strand begins, with the registers that [`prepare`] gave it.
// SAFETY: reached by the end of a switch alone. The stack is aligned there.
#[unsafe(naked)]
unsafe extern "C" fn begin_strand() {
    naked_asm!(
        "mov rdi, rbx",
        "mov rsi, r12",
        "xor edx, edx",
        "call r13",
        "2:",
        "mov rdi, rbx",
        "call r14",
        "jmp 2b",
    )
}

/// Lets the strand run that the context has. Returns when the worker [leaves](leave), for which it
/// needs what this writes to `pointer`.
// SAFETY: the body keeps to the convention for calls: `leave` restores what a call preserves.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn enter(context: *mut Context, pointer: *mut u64) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        // With the return address 64 bytes: the stack is aligned, as it is at a call.
        "sub rsp, 8",
        "mov [rdi + {worker}], rsp",
        "mov [rsi], rsp",
        "mov rsp, [rdi + {strand}]",
        // A strand that has waited asks again.
        "xor eax, eax",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        strand = const STRAND,
        worker = const WORKER,
    )
}

/// Returns from [`enter`].
///
/// # Safety
///
/// It must be called by functions that `enter` led to, and these must own nothing.
// SAFETY: the body restores what `enter` saved.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn leave(pointer: u64) -> ! {
    naked_asm!(
        "mov rsp, rdi",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}
