//! A runtime for the tests. It runs tasks at once, like the real one, and records the task
//! structure.
//!
//! The structure is text. `join1(left1{…} right1{…})` is a finish with number 1 and two tasks that
//! it waits for. A task names its finish, because that need not be the one around it. 0 is the
//! program. Programs under test add words of their own with [`note`]. All state is per thread,
//! because tests run side by side.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

/// The answer of `__finishline_attach`. Change it before the first use of the crate under test.
pub(crate) static LOGICAL_THREADS: AtomicU32 = AtomicU32::new(4);

/// How finely the runtime was told that iterators were divided, by this process.
static DIVISION: AtomicU32 = AtomicU32::new(0);

#[macro_use]
#[path = "../../../model/src/kinds/list.rs"]
mod list;
#[allow(dead_code, unreachable_pub)]
#[path = "../../../model/src/kinds/rayon.rs"]
mod kinds;
use kinds::{Division, FinishKind, TaskKind, INTERFACE_VERSION, INTERRUPTS, RIGHT_FIRST, TO_ITEMS};

/// The word for a kind of task in the structure.
fn task_word(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::JoinLeft => "left",
        TaskKind::JoinRight => "right",
        TaskKind::ScopeSpawn => "spawn-in-scope",
        TaskKind::ScopeSpawnFifo => "spawn-fifo-in-scope",
        TaskKind::Broadcast => "each",
        other => other.word(),
    }
}

type Begin = unsafe extern "C" fn(task: u64, data: *mut c_void) -> u32;

/// A task that may begin in the midst of another one.
#[derive(Clone, Copy)]
struct Offer {
    task: u64,
    begin: Begin,
    data: *mut c_void,
}

thread_local! {
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
    static OPEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static FINISHES_SO_FAR: Cell<u64> = const { Cell::new(0) };
    /// The answer to a join.
    static JOIN_ORDER: Cell<u32> = const { Cell::new(0) };
    static DEFERS: Cell<bool> = const { Cell::new(false) };
    /// The kind and the finish of each task that was created to run later.
    static CREATED: RefCell<Vec<(TaskKind, u64)>> = const { RefCell::new(Vec::new()) };
    static OFFERS: RefCell<Vec<Offer>> = const { RefCell::new(Vec::new()) };
}

/// Records the structure of `program`.
pub(crate) fn structure(program: impl FnOnce()) -> String {
    TEXT.take();
    FINISHES_SO_FAR.set(0);
    program();
    assert!(OPEN.with_borrow(Vec::is_empty), "a finish was left open");
    TEXT.take()
}

/// Records the structure of `program`, and the message of its panic.
pub(crate) fn structure_of_panic(program: impl FnOnce()) -> (String, String) {
    let mut message = String::new();
    let text = structure(|| {
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(program))
            .expect_err("a panic was expected");
        message = match payload.downcast::<&str>() {
            Ok(text) => text.to_string(),
            Err(payload) => *payload.downcast::<String>().expect("a message"),
        };
    });
    (text, message)
}

/// The crate under test has this number of threads, and divides iterators down to single items.
pub(crate) fn divide_to_items(threads: u32) {
    LOGICAL_THREADS.store(threads | TO_ITEMS, Ordering::Relaxed);
}

/// How finely iterators were divided so far, as a word.
pub(crate) fn division() -> &'static str {
    let division = Division::from_number(DIVISION.load(Ordering::Relaxed));
    division.expect("a division").word()
}

/// From here on the right half of a join runs first on this thread.
pub(crate) fn run_right_first() {
    JOIN_ORDER.set(JOIN_ORDER.get() | RIGHT_FIRST);
}

/// From here on the second half of a join may run in the midst of the first on this thread.
pub(crate) fn offer_halves() {
    JOIN_ORDER.set(JOIN_ORDER.get() | INTERRUPTS);
}

/// The running task is interrupted by the one that was offered first or last, if that can begin.
pub(crate) fn interrupt(by_last: bool) -> bool {
    let taken = OFFERS.with_borrow_mut(|offers| match by_last {
        true => offers.pop(),
        false => (!offers.is_empty()).then(|| offers.remove(0)),
    });
    let Some(offer) = taken else { return false };
    // SAFETY: it was offered, and not withdrawn.
    let begun = unsafe { (offer.begin)(offer.task, offer.data) } != 0;
    if !begun {
        OFFERS.with_borrow_mut(|offers| offers.push(offer));
    }
    begun
}

/// From here on spawned tasks run later on this thread, where they may.
pub(crate) fn defer() {
    DEFERS.set(true);
}

/// Adds a word to the structure.
pub(crate) fn note(word: impl std::fmt::Display) {
    write(&word.to_string());
}

fn write(word: &str) {
    TEXT.with_borrow_mut(|text| {
        if !(text.is_empty() || text.ends_with(['(', '{']) || [")", "}"].contains(&word)) {
            text.push(' ');
        }
        text.push_str(word);
    });
}

// SAFETY: the name is the runtime's, which this program does without.
#[unsafe(no_mangle)]
extern "C" fn __finishline_attach(version: u32) -> u32 {
    assert_eq!(version, INTERFACE_VERSION);
    LOGICAL_THREADS.load(Ordering::Relaxed)
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn __finishline_finish_begin(kind: u32) -> u64 {
    let finish = FINISHES_SO_FAR.get() + 1;
    FINISHES_SO_FAR.set(finish);
    OPEN.with_borrow_mut(|open| open.push(finish));
    let kind = FinishKind::from_number(kind).expect("a kind of finish");
    write(&format!("{}{finish}(", kind.word()));
    finish
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn __finishline_finish_end(finish: u64) {
    let innermost = OPEN.with_borrow_mut(|open| open.pop());
    assert_eq!(innermost, Some(finish), "finishes nest");
    write(")");
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn __finishline_task(
    kind: u32,
    finish: u64,
    body: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
) {
    let kind = TaskKind::from_number(kind).expect("a kind of task");
    // SAFETY: the crate under test gives a body with the data that it takes.
    unsafe { run(kind, finish, body, data) };
}

unsafe fn run(
    kind: TaskKind,
    finish: u64,
    body: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
) {
    assert!(
        finish == 0 || OPEN.with_borrow(|open| open.contains(&finish)),
        "a task of a finish that is not open"
    );
    write(&format!("{}{finish}{{", task_word(kind)));
    // SAFETY: by contract.
    unsafe { body(data) };
    write("}");
}

/// Threads that tasks can be on. Here a task stays where it is, and threads only wait.
mod threads {
    use std::ffi::c_void;
    use std::sync::{Condvar, Mutex};

    #[derive(Default)]
    struct Waiting {
        ended: Mutex<bool>,
        on_end: Condvar,
    }

    fn waiting(thread: u64) -> Option<&'static Waiting> {
        // SAFETY: 0, or made below, and never freed.
        unsafe { (thread as *const Waiting).as_ref() }
    }

    // SAFETY: the name is the runtime's, here and below.
    #[unsafe(no_mangle)]
    extern "C" fn __finishline_thread_begin(
        _: unsafe extern "C" fn(*mut c_void, u64) -> u32,
        _: *mut c_void,
    ) -> u64 {
        0
    }

    // SAFETY: as above.
    #[unsafe(no_mangle)]
    extern "C" fn __finishline_thread_settle() -> u64 {
        std::ptr::from_ref(Box::leak(Box::new(Waiting::default()))) as u64
    }

    // SAFETY: as above.
    #[unsafe(no_mangle)]
    extern "C" fn __finishline_thread_lend(thread: u64) {
        let waiting = waiting(thread).expect("a thread");
        let ended = waiting.ended.lock().unwrap();
        drop(waiting.on_end.wait_while(ended, |ended| !*ended).unwrap());
    }

    // SAFETY: as above.
    #[unsafe(no_mangle)]
    extern "C" fn __finishline_thread_visit(
        _: u64,
        body: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) {
        // SAFETY: the crate under test gives a body with the data that it takes.
        unsafe { body(data) };
    }

    // SAFETY: as above.
    #[unsafe(no_mangle)]
    extern "C" fn __finishline_asks() {}

    // SAFETY: as above.
    #[unsafe(no_mangle)]
    extern "C" fn __finishline_thread_end(thread: u64) {
        if let Some(waiting) = waiting(thread) {
            *waiting.ended.lock().unwrap() = true;
            waiting.on_end.notify_all();
        }
    }
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn __finishline_defers(_kind: u32) -> u32 {
    DEFERS.get().into()
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn __finishline_task_create(kind: u32, finish: u64) -> u64 {
    let kind = TaskKind::from_number(kind).expect("a kind of task");
    CREATED.with_borrow_mut(|created| {
        created.push((kind, finish));
        write(&format!("+{}", created.len()));
        created.len() as u64
    })
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn __finishline_task_run(
    task: u64,
    body: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
) {
    let (kind, finish) = CREATED.with_borrow(|created| created[task as usize - 1]);
    write(&format!("-{task}"));
    // SAFETY: the crate under test gives a body with the data that it takes.
    unsafe { run(kind, finish, body, data) };
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn __finishline_join_order() -> u32 {
    JOIN_ORDER.get()
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn __finishline_task_offer(task: u64, begin: Begin, data: *mut c_void) {
    OFFERS.with_borrow_mut(|offers| offers.push(Offer { task, begin, data }));
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn __finishline_task_withdraw(task: u64) {
    OFFERS.with_borrow_mut(|offers| offers.retain(|offer| offer.task != task));
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn __finishline_divided(division: u32) {
    let before = DIVISION.swap(division, Ordering::Relaxed);
    assert!(before < division, "told once, and nothing less afterwards");
}
