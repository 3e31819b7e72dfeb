//! What the operating system and the C library know of the process: its name and arguments, the
//! files that are mapped into it, and where a thread's stack and thread-local variables are.

use super::owner::thread_pointer;
use crate::checker::findings::Process;
use finishline_model::findings::ListedModule;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

unsafe extern "C" {
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

/// The stack and the thread-local variables of this thread.
pub(crate) fn ranges() -> (Range<u64>, Range<u64>) {
    (stack(), private(&modules()))
}

/// The thread-local variables of the thread with this pointer. They lie alike in all threads.
pub(crate) fn thread_locals_of(pointer: u64) -> Range<u64> {
    static BYTES: OnceLock<u64> = OnceLock::new();
    let bytes = BYTES.get_or_init(|| {
        let own = private(&modules());
        own.end - own.start
    });
    pointer - bytes..pointer
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

pub(crate) struct Mapped {
    pub(crate) module: ListedModule,
    thread_local: Range<u64>,
}

/// What the aligned words of some thread-local variables could be addresses of.
pub(crate) fn references(thread_locals: &Range<u64>) -> Vec<u64> {
    let words = (thread_locals.start.next_multiple_of(8)..thread_locals.end & !7).step_by(8);
    // SAFETY: the variables are those of a thread that lives, hence readable.
    let words = words.map(|address| unsafe { (address as *const u64).read_volatile() });
    words.filter(|word| *word != 0).collect()
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
        modules.push(Mapped {
            module: ListedModule {
                path,
                bias: info.bias,
                start: info.bias + start,
                end: info.bias + end,
            },
            thread_local: info.tls_data..info.tls_data + tls_bytes,
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
