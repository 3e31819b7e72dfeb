//! Threads, run as tasks: each goes to its end before its creator goes on.
//!
//! A thread that the checked one creates is followed: the creator waits, the new thread is the checked one, and when it has ended the creator is
//! again. So a program with threads runs depth-first too, and a thread is a task that nothing waits for but a join: what it did is
//! released at its end and acquired by who joins it.
//!
//! That can't be kept up if a thread waits for something that its creator would do. Then all go on at once and unchecked, and the answer
//! is that nothing was established.

use crate::checker::Waits;
use crate::process::{self, checker};
use crate::structure::TaskKind;
use finishline_model::ObjectId;
use std::arch::asm;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut usize, *const c_void, Start, *mut c_void) -> c_int;
type Join = unsafe extern "C" fn(usize, *mut *mut c_void) -> c_int;

/// A thread that runs while its creator waits.
struct Launch {
    start: Start,
    argument: *mut c_void,
    place: u64,
    object: ObjectId,
    /// Not zero once the creator may go on.
    over: AtomicU32,
}

struct Launches(UnsafeCell<Vec<&'static Launch>>);

// SAFETY: only the checked thread uses it.
unsafe impl Sync for Launches {}

/// The threads whose creators wait, the running one last.
static LAUNCHES: Launches = Launches(UnsafeCell::new(Vec::new()));

#[allow(clippy::mut_from_ref)]
fn launches() -> &'static mut Vec<&'static Launch> {
    // SAFETY: by the contract of the static; no reference outlives the statement that asks for it.
    unsafe { &mut *LAUNCHES.0.get() }
}

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `RTLD_NEXT`: in the libraries behind the executable.
const BEHIND: *mut c_void = usize::MAX as *mut c_void;

/// The C library's own function.
pub(crate) fn original(name: &std::ffi::CStr) -> *mut c_void {
    // SAFETY: looks up a name.
    unsafe { dlsym(BEHIND, name.as_ptr()) }
}

const AGAIN: c_int = 11;

/// Creates a thread, and lets it run to its end if the caller is the checked thread.
pub(crate) fn create(
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
    let Some(checker) = checker() else {
        process::unfollowed_thread();
        // SAFETY: the program's own call.
        return unsafe { create(thread, attributes, start, argument) };
    };
    checker.threads += 1;
    let launch: &'static Launch = Box::leak(Box::new(Launch {
        start,
        argument,
        place,
        object: checker.new_object(),
        over: AtomicU32::new(0),
    }));
    launches().push(launch);
    let creator = process::hand_over();
    // SAFETY: the program's own call, but for the function: that gets its own argument, which lives for ever.
    let failed = unsafe {
        create(
            thread,
            attributes,
            run,
            (&raw const *launch).cast_mut().cast(),
        )
    };
    if failed == 0 {
        while launch.over.load(Ordering::Acquire) == 0 {
            futex(&launch.over, WAIT, 0);
        }
    }
    if process::take_back(creator)
        && let Some(checker) = process::checker()
    {
        launches().pop();
        if failed == 0 {
            // SAFETY: the thread was created, so the program's variable has its name.
            checker.name_thread(unsafe { *thread } as u64, launch.object);
        }
    }
    failed
}

unsafe extern "C" fn run(launch: *mut c_void) -> *mut c_void {
    // SAFETY: what `create` handed over, which lives for ever.
    let launch: &'static Launch = unsafe { &*launch.cast::<Launch>() };
    let entry = (&raw const launch).addr() as u64;
    process::take_over();
    let suspended = checker().map(|checker| {
        let (stack, private) = process::ranges();
        checker.begin_thread(TaskKind::Thread, launch.place, entry, stack, private)
    });
    // SAFETY: the program's own function and argument.
    let result = unsafe { (launch.start)(launch.argument) };
    if let (Some(checker), Some(suspended)) = (checker(), suspended) {
        checker.end_thread(launch.object, suspended);
        process::hand_over();
    }
    let_go_on(launch);
    result
}

fn let_go_on(launch: &Launch) {
    launch.over.store(1, Ordering::Release);
    futex(&launch.over, WAKE, 1);
}

/// Waits for a thread, and then knows what it did.
pub(crate) fn join(thread: usize, result: *mut *mut c_void) -> c_int {
    // SAFETY: the C library has a function of this name and type, or none.
    let Some(join) =
        (unsafe { std::mem::transmute::<*mut c_void, Option<Join>>(original(c"pthread_join")) })
    else {
        return AGAIN;
    };
    // SAFETY: the program's own call.
    let failed = unsafe { join(thread, result) };
    if let Some(checker) = checker()
        && failed == 0
    {
        checker.join_thread(thread as u64);
    }
    failed
}

/// The checked thread would wait for ever, unless its creator went on.
pub(crate) fn waits(waits: Waits, address: u64, place: u64) {
    let Some(checker) = checker() else { return };
    // Who created a test's thread does nothing for it.
    let for_nobody = usize::from(checker.options.test_thread);
    if launches().len() <= for_nobody {
        process::stop(checker, waits, address, place);
    }
    checker.stop(Waits::Creator, address, place);
    process::give_up();
    for launch in std::mem::take(launches()) {
        let_go_on(launch);
    }
}

const FUTEX: i64 = 202;
const WAIT: i64 = 0;
const WAKE: i64 = 1;

/// The system call, past our own function for it.
fn futex(word: &AtomicU32, operation: i64, value: i64) {
    // SAFETY: the kernel reads the word, and changes no memory.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") FUTEX => _,
            in("rdi") word.as_ptr(),
            in("rsi") operation,
            in("rdx") value,
            in("r10") 0,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
}
