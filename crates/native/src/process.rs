//! The one checker of the process, and its life: from the first instrumented module's initialisation to the end of the process.
//!
//! It belongs to one thread at a time: the one that initialised it, or the one that has the baton ([`crate::baton`]). Whatever threads do
//! that are not followed passes unseen, and they are counted, so that the report can say that not all was covered.

use crate::baton;
use crate::checker::{Checker, Glance};
use crate::counted;
use crate::findings::{self, Module, Process};
use crate::options::Options;
use crate::reach::{self, Globals};
use finishline_model::TaskId;
use std::arch::asm;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

struct Slot(UnsafeCell<Option<Checker>>);

// SAFETY: only the owning thread uses it, see `checker`.
unsafe impl Sync for Slot {}

static CHECKER: Slot = Slot(UnsafeCell::new(None));

/// Of the checker.
pub(crate) struct Glanced(UnsafeCell<Glance>);

// SAFETY: only the owning thread uses it.
unsafe impl Sync for Glanced {}

pub(crate) static GLANCE: Glanced = Glanced(UnsafeCell::new(Glance::NOTHING));

/// The thread pointer of the owner while the checker is to be used, else zero.
pub(crate) static OWNER: AtomicUsize = AtomicUsize::new(0);
static ATTACHED: AtomicBool = AtomicBool::new(false);
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

/// The checker, if this is the thread that is checked and it is not busy.
#[inline]
pub(crate) fn checker() -> Option<&'static mut Checker> {
    if OWNER.load(Ordering::Relaxed) != thread_pointer() {
        return None;
    }
    // SAFETY: one thread gets here, and what it calls while it has the checker never comes back here: the runtime is not
    // instrumented and does not allocate by `malloc`. There is an owner only while there is a checker.
    unsafe { Some((*CHECKER.0.get()).as_mut().unwrap_unchecked()) }
}

pub(crate) fn unfollowed_thread() {
    UNFOLLOWED.fetch_add(1, Ordering::Relaxed);
}

/// Whether nothing happens while the checked thread waits.
pub(crate) fn nobody_else_runs() -> bool {
    UNFOLLOWED.load(Ordering::Relaxed) == 0
}

/// The checker, whoever has it.
///
/// # Safety
///
/// Nobody may use it meanwhile.
pub(crate) unsafe fn idle_checker() -> Option<&'static mut Checker> {
    // SAFETY: by contract.
    unsafe { (*CHECKER.0.get()).as_mut() }
}

/// The checked thread leaves the checker to another one.
pub(crate) fn hand_over() {
    OWNER.store(0, Ordering::Release);
}

/// The thread of this control block is the checked one from now on, unless that has been given up.
pub(crate) fn hand_over_to(pointer: usize) {
    if !has_given_up() {
        OWNER.store(pointer, Ordering::Release);
    }
}

/// This thread is the checked one from now on, unless that has been given up.
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

/// Nothing is checked from now on.
pub(crate) fn give_up() {
    GIVEN_UP.store(true, Ordering::Release);
    OWNER.store(0, Ordering::Release);
}

/// The checked thread, while it is ignored, and how many times it was asked to be.
static IGNORED: (AtomicUsize, AtomicU64) = (AtomicUsize::new(0), AtomicU64::new(0));

/// Nothing of the checked thread is told until it has been asked for as often as this.
pub(crate) fn ignore() {
    let (thread, times) = &IGNORED;
    let this = thread_pointer();
    if OWNER.load(Ordering::Relaxed) == this {
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
    let (stack, private) = ranges();
    match Checker::new(options, stack, private) {
        Ok(mut checker) => {
            checker.is_private = |checker, block| Globals::of_process().is_private(checker, block);
            checker.find_left_over = reach::left_over;
            // SAFETY: asked for words of thread-local variables of the thread that is checked.
            checker.read_word = |address| unsafe { (address as *const u64).read() };
            checker.is_drop_slow = counted::is_drop_slow;
            // Whatever ends the process next: what was found is not lost.
            checker.new_race = |checker| save(checker, true);
            // SAFETY: nobody else has it, and nobody has the checker yet.
            checker.glance_at(unsafe { &mut *GLANCE.0.get() });
            // SAFETY: as above.
            unsafe { *CHECKER.0.get() = Some(checker) };
            take_over();
            baton::begin(TaskId::MAIN);
            // SAFETY: the handler is a function without captures.
            unsafe { atexit(end) };
        }
        Err(failure) => eprintln!("finishline: this process is not checked: {failure}"),
    }
}

/// The drop-in was used.
pub(crate) fn attach() {
    ATTACHED.store(true, Ordering::Relaxed);
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
    OWNER.store(0, Ordering::Relaxed);
    // SAFETY: with no owner nobody else uses it.
    let Some(checker) = (unsafe { (*CHECKER.0.get()).as_ref() }) else {
        return;
    };
    if let Some(failure) = checker.failure() {
        eprintln!("finishline: from some point on this process was not checked: {failure}");
    }
    let races = checker.races.iter().count();
    if checker.options.output.is_none() && races > 0 {
        eprintln!("finishline: {races} races; run by `cargo finishline` to see them");
    }
    save(checker, false);
}

/// Writes the findings to their file, if there is to be one.
fn save(checker: &Checker, goes_on: bool) {
    let Some(output) = &checker.options.output else {
        return;
    };
    let text = |path: std::io::Result<std::path::PathBuf>| {
        path.unwrap_or_default().to_string_lossy().into_owned()
    };
    let process = Process {
        executable: text(std::env::current_exe()),
        arguments: std::env::args_os()
            .skip(1)
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        directory: text(std::env::current_dir()),
        modules: modules().into_iter().map(|mapped| mapped.module).collect(),
        drop_in: ATTACHED.load(Ordering::Relaxed),
        threads: UNFOLLOWED.load(Ordering::Relaxed) + checker.other_threads(),
        goes_on,
    };
    if let Err(error) = replace(output, &findings::write(checker, &process)) {
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

/// Takes the file that was named, or one beside it if that is taken: by a process that this one started, or that started it.
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

struct Mapped {
    module: Module,
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
fn modules() -> Vec<Mapped> {
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
            "" => std::env::current_exe()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
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
            module: Module {
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
