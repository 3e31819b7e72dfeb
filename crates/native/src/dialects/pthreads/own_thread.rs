//! What a thread does as itself, whatever thread pointer it has [borrowed](process::visit).
//!
//! **Signals.** The kernel runs a handler on the stack and with the thread pointer of the code that
//! it interrupts. A handler looks for what belongs to its thread: that of std asks whether the
//! stack of the thread has overflowed. So the runtime has the kernel call [`handle`] for the
//! program's handler, which runs with the thread's own pointer. What it does on a loan is not
//! checked, since the checked thread is known by the borrowed one.
//!
//! **Stacks.** The stack of the thread whose pointer is borrowed is not the one in use.

use super::{found, threads};
use crate::process;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// `struct sigaction` of the C library.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

/// Signals are numbered from 1 to 64.
const SIGNALS: usize = 65;
/// `SIG_DFL` and `SIG_IGN` are 0 and 1.
const FIRST_HANDLER: usize = 2;
/// `SA_SIGINFO`: the handler takes three arguments.
const THREE_ARGUMENTS: c_int = 4;

/// The program's handlers, by signal.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

type SigAction = unsafe extern "C" fn(c_int, *const Action, *mut Action) -> c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: the C library has this function, of this type.
    let original: SigAction = unsafe { std::mem::transmute(found(&ORIGINAL, c"sigaction")) };
    let known = usize::try_from(signal)
        .ok()
        .and_then(|signal| HANDLERS.get(signal));
    let Some(known) = known else {
        // SAFETY: the program's own call.
        return unsafe { original(signal, new, old) };
    };
    if signal == process::SIGNAL_OF_MARKS && !new.is_null() {
        process::end_marks();
    }
    let before = known.load(Ordering::Relaxed);
    // SAFETY: the program's own structure, or null.
    let mut action = unsafe { new.as_ref() }.copied();
    if let Some(action) = &mut action
        && action.handler >= FIRST_HANDLER
    {
        known.store(action.handler, Ordering::Relaxed);
        action.handler = match action.flags & THREE_ARGUMENTS {
            0 => handle_short as *const () as usize,
            _ => handle as *const () as usize,
        };
    }
    let new = action.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the program's own call, but for the handler, which has the same type.
    let result = unsafe { original(signal, new, old) };
    let ours = [
        handle_short as *const () as usize,
        handle as *const () as usize,
    ];
    // SAFETY: the program's own place for the result, or null.
    if let Some(old) = unsafe { old.as_mut() }
        && result == 0
        && ours.contains(&old.handler)
    {
        old.handler = before;
    }
    result
}

/// Calls the program's handler as the thread that runs.
extern "C" fn handle(signal: c_int, about: *mut c_void, context: *mut c_void) {
    let handler = HANDLERS[signal as usize].load(Ordering::Relaxed);
    // SAFETY: the program gave it as a function of three arguments.
    let handler: extern "C" fn(c_int, *mut c_void, *mut c_void) =
        unsafe { std::mem::transmute(handler) };
    process::as_itself(|| handler(signal, about, context));
}

/// The same for a handler of one argument.
extern "C" fn handle_short(signal: c_int) {
    let handler = HANDLERS[signal as usize].load(Ordering::Relaxed);
    // SAFETY: the program gave it as a function of one argument.
    let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
    process::as_itself(|| handler(signal));
}

type GetAttributes = unsafe extern "C" fn(usize, *mut c_void) -> c_int;

/// Asked of the running thread, it tells the stack that is in use.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getattr_np(thread: usize, attributes: *mut c_void) -> c_int {
    let thread = match thread == process::thread_pointer() {
        true => process::this_thread(),
        false => thread,
    };
    // SAFETY: the C library has this function, of this type.
    let original: GetAttributes =
        unsafe { std::mem::transmute(threads::original(c"pthread_getattr_np")) };
    // SAFETY: the program's own call.
    unsafe { original(thread, attributes) }
}
