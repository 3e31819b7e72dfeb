//! The one checker of the process, and its life: from the initialisation of the first instrumented
//! module to the end of the process.
//!
//! **Who may use the checker.** [`OWNER`] tells, and is all that decides it:
//!
//! | `OWNER` | who may use the checker | who may change `OWNER` |
//! |---|---|---|
//! | a thread pointer | nobody yet | that thread: to [`IN_USE`], or to [`NOBODY`] |
//! | [`IN_USE`] | the closure that put it there | the same, when it has returned |
//! | [`NOBODY`] | nobody yet | any thread, by compare-and-exchange |
//!
//! A reference to the checker is made only while `OWNER` is [`IN_USE`], and is lent to a closure:
//! [`with_checker`] goes there from the thread's own pointer, [`with_unowned_checker`] and [`end`]
//! from [`NOBODY`]. So there is at most one reference at a time, also if the runtime, while it has
//! one, calls a function of the C library that calls the runtime: that call finds no owner, and its
//! events are not the program's.
//!
//! **Which thread.** The owner is the thread that initialised the checker, or the one that has the
//! baton ([`crate::baton`]). Threads that are not followed are counted, so the report can say that
//! not everything was covered.
//!
//! **Memory order.** A thread that finds its own pointer in `OWNER` has put it there itself, or has
//! it from the thread that used the checker before. Storing a pointer releases and loading it
//! acquires, so the owner sees all that the one before did to the checker.

use crate::baton;
use crate::calls::Calls;
use crate::checker::{Checker, Glance, GlanceHandle, Host};
use crate::counted;
use crate::findings::{self, Process};
use crate::options::Options;
use crate::reach::{self, Globals};
use crate::recording;
use finishline_model::TaskId;
use finishline_model::findings::ListedModule;
use finishline_model::kinds::INTERFACE_VERSION;
use std::arch::asm;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

struct CheckerSlot(UnsafeCell<Option<Checker>>);

// SAFETY: it is used while `OWNER` is `IN_USE`, by who put that there; see above.
unsafe impl Sync for CheckerSlot {}

static CHECKER: CheckerSlot = CheckerSlot(UnsafeCell::new(None));

/// The memory of the checker's glance.
pub(crate) struct GlanceSlot(UnsafeCell<Glance>);

// SAFETY: the checker uses it while `OWNER` is `IN_USE`, and a thread's accesses use it while
// `OWNER` is that thread's pointer.
unsafe impl Sync for GlanceSlot {}

pub(crate) static GLANCE: GlanceSlot = GlanceSlot(UnsafeCell::new(Glance::NOTHING));

/// The thread pointer of the owner, [`IN_USE`] or [`NOBODY`].
pub(crate) static OWNER: AtomicUsize = AtomicUsize::new(NOBODY);

const NOBODY: usize = 0;
/// No thread pointer, as these are aligned.
const IN_USE: usize = 1;

/// The version of the drop-in's interface, or 0 if the drop-in was not used.
static ATTACHED: AtomicU32 = AtomicU32::new(0);
/// Threads that are not followed.
static UNFOLLOWED: AtomicU64 = AtomicU64::new(0);
/// The program is a test, which runs in a thread of its own.
static IS_TEST: AtomicBool = AtomicBool::new(false);
/// Nothing is checked any more.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

#[inline]
pub(crate) fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the first word of a thread's control block is its own address.
    unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

/// Whether this thread is the checked one, and the checker is not in use.
#[inline]
pub(crate) fn is_checked() -> bool {
    OWNER.load(Ordering::Acquire) == thread_pointer()
}

/// Lends the checker to `does`, if this thread owns it and it is not in use.
#[inline(always)]
pub(crate) fn with_checker<T>(does: impl FnOnce(&mut Checker) -> T) -> Option<T> {
    if !is_checked() {
        return None;
    }
    // Nobody else changes it while it is this thread's pointer, so a store will do.
    OWNER.store(IN_USE, Ordering::Relaxed);
    // SAFETY: `OWNER` was this thread's pointer, so there is a checker and nobody had a reference
    // to it. From here to the store below it is `IN_USE`, so nobody gets another one.
    let done = does(unsafe { (*CHECKER.0.get()).as_mut().unwrap_unchecked() });
    OWNER.store(thread_pointer(), Ordering::Release);
    Some(done)
}

/// Lends the calls in progress to `does`, if this thread is the checked one: as [`with_checker`],
/// for the two functions that are called most often.
///
/// # Safety
///
/// `does` must call nothing but methods of [`Calls`], which call nothing outside the runtime. Then
/// nothing else of this thread can ask for the checker meanwhile, and `OWNER` need not say so. The
/// exception is an instrumented signal handler that interrupts one of these methods: programs with
/// such handlers are not supported.
#[inline(always)]
pub(crate) unsafe fn with_calls(does: impl FnOnce(&mut Calls)) {
    if is_checked() {
        // SAFETY: there is a checker, nobody has a reference to it, and no other thread can get one
        // as long as `OWNER` is this thread's pointer. This thread does not, by contract.
        does(unsafe { &mut (*CHECKER.0.get()).as_mut().unwrap_unchecked().calls });
    }
}

/// Lends the checker to `does`, if there is one that nobody owns or uses.
pub(crate) fn with_unowned_checker<T>(does: impl FnOnce(&mut Checker) -> T) -> Option<T> {
    if !claim(NOBODY) {
        return None;
    }
    // SAFETY: `OWNER` is `IN_USE`, by this call.
    let done = (unsafe { (*CHECKER.0.get()).as_mut() }).map(does);
    OWNER.store(NOBODY, Ordering::Release);
    done
}

/// Puts the checker in use, if `OWNER` has this value.
fn claim(owner: usize) -> bool {
    let (now, then) = (Ordering::Acquire, Ordering::Relaxed);
    OWNER.compare_exchange(owner, IN_USE, now, then).is_ok()
}

pub(crate) fn unfollowed_thread() {
    UNFOLLOWED.fetch_add(1, Ordering::Relaxed);
}

/// Whether nothing happens while the checked thread waits.
pub(crate) fn nobody_else_runs() -> bool {
    UNFOLLOWED.load(Ordering::Relaxed) == 0
}

/// If this thread is the checked one, it leaves the checker to another one.
pub(crate) fn hand_over() {
    if is_checked() {
        OWNER.store(NOBODY, Ordering::Release);
    }
}

/// Makes the thread of this control block the checked one, unless there is one, or none any more.
pub(crate) fn hand_over_to(pointer: usize) {
    if !has_given_up() {
        let (now, then) = (Ordering::Release, Ordering::Relaxed);
        let _ = OWNER.compare_exchange(NOBODY, pointer, now, then);
    }
}

/// Makes this thread the checked one, unless there is one, or none any more.
pub(crate) fn take_over() {
    hand_over_to(thread_pointer());
}

pub(crate) fn is_test() -> bool {
    IS_TEST.load(Ordering::Relaxed)
}

pub(crate) fn has_given_up() -> bool {
    GIVEN_UP.load(Ordering::Acquire)
}

/// What this thread is called by who may join it.
pub(crate) fn own_name() -> u64 {
    // SAFETY: asks for a number.
    unsafe { pthread_self() as u64 }
}

/// What is added to the addresses in the executable's file.
pub(crate) fn executable_bias() -> u64 {
    modules().first().map_or(0, |mapped| mapped.module.bias)
}

/// Ends checking. If a thread is the checked one, it is this one.
pub(crate) fn give_up() {
    GIVEN_UP.store(true, Ordering::Release);
    hand_over();
}

/// The checked thread, while it is ignored, and how many times it was asked to be.
static IGNORED: (AtomicUsize, AtomicU64) = (AtomicUsize::new(0), AtomicU64::new(0));

/// Nothing of the checked thread is told until it has been asked for as often as this.
pub(crate) fn ignore() {
    let (thread, times) = &IGNORED;
    let this = thread_pointer();
    if is_checked() {
        thread.store(this, Ordering::Relaxed);
        hand_over();
    }
    if thread.load(Ordering::Relaxed) == this {
        times.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn ignore_no_more() {
    let (thread, times) = &IGNORED;
    let this = thread_pointer();
    if thread.load(Ordering::Relaxed) == this && times.fetch_sub(1, Ordering::Relaxed) == 1 {
        thread.store(0, Ordering::Relaxed);
        take_over();
    }
}

/// The stack and the thread-local variables of this thread.
pub(crate) fn ranges() -> (Range<u64>, Range<u64>) {
    (stack(), private(&modules()))
}

unsafe extern "C" {
    fn atexit(handler: extern "C" fn()) -> c_int;
    fn _exit(status: c_int) -> !;
    fn dl_iterate_phdr(
        visit: unsafe extern "C" fn(*mut Headers, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn pthread_self() -> usize;
    fn pthread_getattr_np(thread: usize, attributes: *mut [u64; 8]) -> c_int;
    fn pthread_attr_getstack(
        attributes: *const [u64; 8],
        start: *mut u64,
        bytes: *mut u64,
    ) -> c_int;
    fn pthread_attr_destroy(attributes: *mut [u64; 8]) -> c_int;
}

/// Starts checking, once.
pub(crate) fn start() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let text = std::env::var("FINISHLINE_OPTIONS").unwrap_or_default();
    let (options, unknown) = Options::parse(&text);
    for word in unknown {
        eprintln!("finishline: FINISHLINE_OPTIONS: '{word}' is not understood");
    }
    IS_TEST.store(options.test_thread, Ordering::Relaxed);
    let host = Host {
        is_private: |checker, block| Globals::of_process().is_private(checker, block),
        find_left_over: reach::left_over,
        // SAFETY: only asked for words of thread-local variables of the checked thread.
        read_word: |address| unsafe { (address as *const u64).read() },
        is_drop_slow: counted::is_drop_slow,
        // Saved at once, so that nothing that ends the process can lose the race.
        new_race: |checker| {
            save(checker, true);
            recording::save(checker);
        },
    };
    // SAFETY: a static is valid for ever, and never null. Accesses of the program use it only while
    // their thread owns the checker, hence not while a method of the checker runs.
    let glance = unsafe { GlanceHandle::new(NonNull::new_unchecked(GLANCE.0.get())) };
    about();
    let (stack, thread_locals) = ranges();
    match Checker::hosted(options, host, glance, stack.clone(), thread_locals.clone()) {
        Ok(mut checker) => {
            if !claim(NOBODY) {
                return;
            }
            recording::begin(&mut checker, stack, thread_locals);
            // SAFETY: `OWNER` is `IN_USE`, by this call.
            unsafe { *CHECKER.0.get() = Some(checker) };
            OWNER.store(NOBODY, Ordering::Release);
            take_over();
            baton::begin(TaskId::MAIN);
            // SAFETY: the handler is a function without captures.
            unsafe { atexit(end) };
        }
        Err(failure) => eprintln!("finishline: this process is not checked: {failure}"),
    }
}

/// The drop-in was used, and speaks this version of the interface.
pub(crate) fn attach(version: u32) {
    let known = ATTACHED.load(Ordering::Relaxed);
    if known == 0 || known == INTERFACE_VERSION {
        ATTACHED.store(version, Ordering::Relaxed);
    }
    if version != INTERFACE_VERSION {
        eprintln!(
            "finishline: the drop-in for rayon-core speaks version {version} of its interface, and \
             the runtime version {INTERFACE_VERSION}: what is found does not count"
        );
    }
}

/// The program would wait for ever: ends the process.
#[cold]
pub(crate) fn end_unanswered() -> ! {
    end();
    // SAFETY: ends the process at once; the program's own handlers could wait too.
    unsafe { _exit(UNKNOWN) }
}

/// The exit status of a question that was not answered.
const UNKNOWN: c_int = 4;

/// Ends checking and writes the findings.
pub(crate) extern "C" fn end() {
    GIVEN_UP.store(true, Ordering::Release);
    if !claim(thread_pointer()) && !claim(NOBODY) {
        eprintln!(
            "finishline: a thread that is not followed ended the process; its findings are lost"
        );
        return;
    }
    // SAFETY: `OWNER` is `IN_USE`, by this call, and stays so.
    let Some(checker) = (unsafe { (*CHECKER.0.get()).as_mut() }) else {
        return;
    };
    if let Some(failure) = checker.failure() {
        eprintln!("finishline: from some point on this process was not checked: {failure}");
    }
    let races = checker.found.races.iter().count();
    if checker.options.output.is_none() && races > 0 {
        eprintln!("finishline: {races} races; run by `cargo finishline` to see them");
    }
    save(checker, false);
    recording::end(checker);
}

/// The version of the drop-in's interface, if the drop-in was used.
pub(crate) fn drop_in() -> Option<u32> {
    Some(ATTACHED.load(Ordering::Relaxed)).filter(|version| *version != 0)
}

/// How many threads were not followed.
pub(crate) fn unfollowed() -> u64 {
    UNFOLLOWED.load(Ordering::Relaxed)
}

/// What the operating system called the process when it began. A program may change all of that:
/// its executable, its arguments and its directory.
pub(crate) fn about() -> Process {
    static AT_FIRST: OnceLock<Process> = OnceLock::new();
    let text = |path: std::io::Result<PathBuf>| {
        let path = path.unwrap_or_default();
        path.to_string_lossy().into_owned()
    };
    let at_first = AT_FIRST.get_or_init(|| Process {
        executable: text(std::env::current_exe()),
        arguments: arguments(),
        directory: text(std::env::current_dir()),
        ..Process::default()
    });
    Process {
        number: std::process::id(),
        ..at_first.clone()
    }
}

/// The arguments of the process. The standard library does not know them yet when the recording
/// begins.
fn arguments() -> Vec<String> {
    let words = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let words = words.split_inclusive(|byte| *byte == 0).skip(1);
    words
        .map(|word| {
            let word = word.strip_suffix(&[0]).unwrap_or(word);
            String::from_utf8_lossy(word).into_owned()
        })
        .collect()
}

/// Writes the findings to their file, if there is to be one.
fn save(checker: &Checker, goes_on: bool) {
    let Some(output) = &checker.options.output else {
        return;
    };
    let process = Process {
        modules: modules().into_iter().map(|mapped| mapped.module).collect(),
        drop_in: drop_in(),
        threads: unfollowed() + checker.other_threads(),
        goes_on,
        ..about()
    };
    if let Err(error) = replace(output, &findings::findings(checker, &process).text()) {
        eprintln!("finishline: cannot write {}: {error}", output.display());
    }
}

/// Replaces what this process has written before, so that there is always a whole file, or none.
fn replace(output: &Path, text: &str) -> std::io::Result<()> {
    /// The file of this process, by its number: a process that was forked has one of its own.
    static FILE: Mutex<Option<(u32, PathBuf)>> = Mutex::new(None);
    let process = std::process::id();
    let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = match &*file {
        Some((owner, path)) if *owner == process => path.clone(),
        _ => new_file(output, process)?,
    };
    let unfinished = path.with_file_name(format!("unfinished-{process}"));
    std::fs::write(&unfinished, text)?;
    std::fs::rename(&unfinished, &path)?;
    *file = Some((process, path));
    Ok(())
}

/// Takes the file that was named, or one beside it if that is taken: by a process that this one
/// started, or that started it.
fn new_file(output: &Path, process: u32) -> std::io::Result<PathBuf> {
    match File::create_new(output) {
        Ok(_) => Ok(output.to_owned()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let mut own = output.to_owned().into_os_string();
            own.push(format!(".{process}"));
            Ok(own.into())
        }
        Err(error) => Err(error),
    }
}

/// `struct dl_phdr_info`.
#[repr(C)]
struct Headers {
    bias: u64,
    name: *const c_char,
    headers: *const Header,
    count: u16,
    adds: u64,
    subs: u64,
    tls_module: usize,
    tls_data: u64,
}

/// `Elf64_Phdr`.
#[repr(C)]
struct Header {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    in_file: u64,
    in_memory: u64,
    alignment: u64,
}

const LOAD: u32 = 1;
const TLS: u32 = 7;
const WRITABLE: u32 = 2;

pub(crate) struct Mapped {
    pub(crate) module: ListedModule,
    thread_local: Range<u64>,
    writable: Vec<Range<u64>>,
}

impl Globals {
    fn of_process() -> Globals {
        Globals(
            modules()
                .into_iter()
                .flat_map(|mapped| mapped.writable)
                .collect(),
        )
    }
}

/// The files that are mapped into the process.
pub(crate) fn modules() -> Vec<Mapped> {
    unsafe extern "C" fn visit(info: *mut Headers, _: usize, modules: *mut c_void) -> c_int {
        // SAFETY: the C library hands over valid structures, and our own vector back.
        let (info, modules) = unsafe { (&*info, &mut *modules.cast::<Vec<Mapped>>()) };
        // SAFETY: as above.
        let headers = unsafe { std::slice::from_raw_parts(info.headers, usize::from(info.count)) };
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(info.name) }
            .to_string_lossy()
            .into_owned();
        let path = match name.as_str() {
            "" => about().executable,
            _ => name,
        };
        let loads = || headers.iter().filter(|header| header.kind == LOAD);
        let start = loads().map(|header| header.address).min().unwrap_or(0);
        let end = loads()
            .map(|header| header.address + header.in_memory)
            .max()
            .unwrap_or(0);
        let tls = headers.iter().find(|header| header.kind == TLS);
        let tls_bytes = tls.map_or(0, |header| header.in_memory);
        let writable = loads().filter(|header| header.flags & WRITABLE != 0);
        let range = |header: &Header| {
            let start = info.bias + header.address;
            start..start + header.in_memory
        };
        modules.push(Mapped {
            module: ListedModule {
                path,
                bias: info.bias,
                start: info.bias + start,
                end: info.bias + end,
            },
            thread_local: info.tls_data..info.tls_data + tls_bytes,
            writable: writable.map(range).collect(),
        });
        0
    }
    let mut modules = Vec::new();
    // SAFETY: the callback gets the vector back while it is borrowed here and by nobody else.
    unsafe { dl_iterate_phdr(visit, (&raw mut modules).cast()) };
    modules
}

/// The thread-local variables of this thread: they lie below its thread pointer.
fn private(modules: &[Mapped]) -> Range<u64> {
    let end = thread_pointer() as u64;
    let starts = modules.iter().map(|mapped| mapped.thread_local.start);
    let start = starts.filter(|start| *start != 0 && *start < end).min();
    start.unwrap_or(end)..end
}

/// The stack of this thread.
fn stack() -> Range<u64> {
    let (mut attributes, mut start, mut bytes) = ([0; 8], 0, 0);
    // SAFETY: `pthread_attr_t` has 56 bytes, and the results are put where they are told.
    unsafe {
        if pthread_getattr_np(pthread_self(), &mut attributes) != 0 {
            return 0..0;
        }
        pthread_attr_getstack(&attributes, &mut start, &mut bytes);
        pthread_attr_destroy(&mut attributes);
    }
    start..start + bytes
}
