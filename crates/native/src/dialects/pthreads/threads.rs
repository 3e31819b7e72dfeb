//! Threads of the program: how they begin, end, are joined, and wait.
//!
//! A thread that the checked one creates is followed. It gets the [baton](crate::turns) at once,
//! and its creator is the next to have the baton when the thread ends or waits. The end of a thread
//! releases what it did, and a join acquires it.
//!
//! **The end.** When the thread's function has returned, the destructors of its thread-local
//! variables run, and those of values that belong to keys of the C library. They may publish what
//! the thread did, so they are the thread's too. The C library calls the destructors of keys after
//! the others, in rounds, until no value is left. The thread has ended for the checker when the
//! value of a key of the runtime's own is destroyed in the second round.

use crate::checker::Checker;
use crate::process::{self, with_checker};
use crate::turns::{self, For};
use finishline_model::TaskId;
use finishline_model::kinds::WaitKind;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

pub(super) type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut usize, *const c_void, Start, *mut c_void) -> c_int;
type Join = unsafe extern "C" fn(usize, *mut *mut c_void) -> c_int;

/// A thread that is created.
struct Launch {
    start: Start,
    argument: *mut c_void,
    place: u64,
}

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `RTLD_NEXT`: in the libraries behind the executable.
const BEHIND: *mut c_void = usize::MAX as *mut c_void;

/// The C library's own function.
pub(super) fn original(name: &std::ffi::CStr) -> *mut c_void {
    // SAFETY: looks up a name.
    unsafe { dlsym(BEHIND, name.as_ptr()) }
}

const AGAIN: c_int = 11;

/// Creates a thread, and lets it run if the caller is the checked thread.
pub(super) fn create(
    thread: *mut usize,
    attributes: *const c_void,
    start: Start,
    argument: *mut c_void,
    place: u64,
) -> c_int {
    // SAFETY: the C library has a function of this name and type, or none.
    let Some(create) = (unsafe {
        std::mem::transmute::<*mut c_void, Option<Create>>(original(c"pthread_create"))
    }) else {
        return AGAIN;
    };
    let begins_lender = process::begins_lender();
    if begins_lender || !process::is_checked() {
        if !begins_lender {
            process::unfollowed_thread();
        }
        // SAFETY: the program's own call.
        return unsafe { create(thread, attributes, start, argument) };
    }
    let launch = Box::into_raw(Box::new(Launch {
        start,
        argument,
        place,
    }));
    let mut failed = 0;
    turns::create(|| {
        // SAFETY: the program's own call, but for the function: that gets its own argument.
        failed = unsafe { create(thread, attributes, run, launch.cast()) };
        if failed != 0 {
            // SAFETY: nobody else has got it.
            drop(unsafe { Box::from_raw(launch) });
        }
        failed != 0
    });
    failed
}

unsafe extern "C" fn run(launch: *mut c_void) -> *mut c_void {
    // SAFETY: what `create` handed over.
    let launch = unsafe { Box::from_raw(launch.cast::<Launch>()) };
    let entry = (&raw const launch).addr() as u64;
    // What the C library allocates to find them out is not the program's.
    let (stack, thread_locals) = process::ranges();
    process::take_over();
    let begin = |checker: &mut Checker| {
        checker.begin_thread(launch.place, entry, stack.clone(), thread_locals.clone())
    };
    if let Some(task) = with_checker(begin) {
        turns::begin(task);
    }
    // Without a value of the key the thread has ended when its function has.
    let ends_later = Round::First.set();
    // SAFETY: the program's own function and argument.
    let result = unsafe { (launch.start)(launch.argument) };
    turns::before_end();
    if !ends_later {
        end();
    }
    result
}

fn end() {
    let name = process::own_name();
    if with_checker(|checker| checker.end_thread(name)).is_some() {
        turns::end(name);
    }
}

unsafe extern "C" {
    fn pthread_key_create(key: *mut u32, destroy: unsafe extern "C" fn(*mut c_void)) -> c_int;
    fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
}

/// Values that the thread has for the runtime's key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
enum Round {
    First = 1,
    Second = 2,
}

impl Round {
    /// Gives the running thread this value. Whether that was possible.
    fn set(self) -> bool {
        static KEY: OnceLock<Option<u32>> = OnceLock::new();
        let key = KEY.get_or_init(|| {
            let mut key = 0;
            // SAFETY: the function is called with values of the key.
            let failed = unsafe { pthread_key_create(&raw mut key, destroy) };
            (failed == 0).then_some(key)
        });
        // SAFETY: the value is not used as a pointer.
        key.is_some_and(
            |key| unsafe { pthread_setspecific(key, self as usize as *const c_void) } == 0,
        )
    }
}

unsafe extern "C" fn destroy(round: *mut c_void) {
    let is_first = round.addr() == Round::First as usize;
    if !is_first || !Round::Second.set() {
        end();
    }
}

/// Waits for a thread, and then knows what it did.
pub(super) fn join(thread: usize, result: *mut *mut c_void, place: u64) -> c_int {
    // SAFETY: the C library has a function of this name and type, or none.
    let Some(join) =
        (unsafe { std::mem::transmute::<*mut c_void, Option<Join>>(original(c"pthread_join")) })
    else {
        return AGAIN;
    };
    let name = thread as u64;
    let followed = with_checker(|checker| !checker.has_ended(name)) == Some(true);
    // SAFETY: the program's own call.
    let join = || unsafe { join(thread, result) };
    let failed = match followed {
        true => waits(For::Thread(name), false, WaitKind::Join, place, join),
        false => join(),
    };
    if failed == 0 {
        with_checker(|checker| checker.join_thread(name));
    }
    failed
}

/// The thread waits in some way, and others may run meanwhile. If it need not wait any more when a
/// task has run, `wait` notices.
pub(super) fn waits<T>(
    what: For,
    limited: bool,
    waits: WaitKind,
    place: u64,
    wait: impl FnOnce() -> T,
) -> T {
    turns::before_wait();
    let begun = with_checker(|checker| {
        let stopped = checker.would_stop(waits, place);
        // The thread that created a test's thread does nothing for it.
        let limited = limited && !(checker.options.test_thread && stopped.task == TaskId::MAIN);
        (limited, stopped)
    });
    match begun {
        Some((limited, stopped)) => turns::wait(what, limited, stopped, wait),
        None => wait(),
    }
}
