//! Which atomic instructions that are not instrumented the process has reached.
//!
//! Instrumented code may have atomic instructions of its own: inline assembly, and operations that
//! the instrumentation leaves out. The runtime hears nothing of them. But their addresses are known
//! before the process begins. So each of them is **marked**: its first byte is replaced by the
//! instruction `int3`. Whoever comes there first gets a signal. The handler notes the address, puts
//! the byte back, and lets the thread go on with the instruction. So the list of reached
//! instructions is exact, and each costs one signal.
//!
//! **The list** is a file that the variable [`VARIABLE`] names: the device and the number of the
//! executable's file, and addresses in that file. A process that runs another program marks
//! nothing.
//!
//! **When nothing is marked**, the answer is that it is not known: if there is no list, if the
//! system refuses to change code, under a debugger, which would get the signals, and from the time
//! on when the program wants the signal for itself.
//!
//! **Threads.** Marking ends before the program begins. Putting a byte back is one store. A thread
//! that has met the mark just before gets its signal later, finds the byte in its place, and goes
//! on as well. Flags and bytes are sequentially consistent; they are rare enough.

use super::image::executable_bias;
use std::ffi::{c_int, c_void};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU8};

/// Names the file with the list.
const VARIABLE: &str = "FINISHLINE_UNSEEN";

/// The instruction that gives a signal.
const MARK: u8 = 0xcc;
/// The signal of that instruction.
pub(crate) const SIGNAL: c_int = 5;

/// An instruction that was marked.
struct Marked {
    /// In the executable's file.
    address: u64,
    /// In the process.
    at: u64,
    /// Its own first byte.
    byte: u8,
    reached: AtomicBool,
}

/// By address.
static MARKED: OnceLock<Vec<Marked>> = OnceLock::new();
/// The marks are there, or were put away one by one.
static KNOWN: AtomicBool = AtomicBool::new(false);

/// The addresses in the executable's file of the instructions that were reached so far, if they are
/// known.
pub(super) fn reached() -> Option<Vec<u64>> {
    let marked = MARKED.get().filter(|_| KNOWN.load(SeqCst))?;
    let reached = marked.iter().filter(|it| it.reached.load(SeqCst));
    Some(reached.map(|it| it.address).collect())
}

/// Marks the instructions of the list, before the program begins.
pub(super) fn begin() {
    let Some(addresses) = listed() else { return };
    if is_traced() || !install_handler() {
        return;
    }
    let bias = executable_bias();
    let marked = addresses.into_iter().map(|address| {
        let at = address.wrapping_add(bias);
        Marked {
            address,
            at,
            // SAFETY: the list has instructions of this executable.
            byte: unsafe { code(at) }.load(SeqCst),
            reached: AtomicBool::new(false),
        }
    });
    let marked = MARKED.get_or_init(|| marked.collect());
    KNOWN.store(marked.iter().all(|it| replace(it.at, MARK)), SeqCst);
    if !KNOWN.load(SeqCst) {
        put_all_back(marked);
    }
}

/// The program handles the signal itself from here on.
pub(crate) fn end() {
    if KNOWN.swap(false, SeqCst) {
        put_all_back(MARKED.get().map_or(&[], Vec::as_slice));
    }
}

fn put_all_back(marked: &[Marked]) {
    for it in marked {
        replace(it.at, it.byte);
    }
}

/// The addresses in the list, if it is about this executable.
fn listed() -> Option<Vec<u64>> {
    let text = fs::read_to_string(std::env::var_os(VARIABLE)?).ok()?;
    let mut words = text.split_ascii_whitespace();
    let own = fs::metadata("/proc/self/exe").ok()?;
    let about: [u64; 2] = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
    if about != [own.dev(), own.ino()] {
        return None;
    }
    let addresses = words.map(|word| u64::from_str_radix(word, 16));
    let mut addresses: Vec<u64> = addresses.collect::<Result<_, _>>().ok()?;
    addresses.sort_unstable();
    addresses.dedup();
    Some(addresses)
}

fn is_traced() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_none_or(|number| number.trim() != "0")
}

/// A byte of the program's code.
///
/// # Safety
///
/// There must be code at the address.
unsafe fn code(at: u64) -> &'static AtomicU8 {
    // SAFETY: code stays where it is, and is changed here alone.
    unsafe { AtomicU8::from_ptr(at as *mut u8) }
}

unsafe extern "C" {
    fn mprotect(at: *mut c_void, bytes: usize, protection: c_int) -> c_int;
    fn dlsym(library: *mut c_void, name: *const std::ffi::c_char) -> *mut c_void;
    fn raise(signal: c_int) -> c_int;
}

const PAGE: u64 = 4096;
const READ_AND_RUN: c_int = 5;
const READ_WRITE_AND_RUN: c_int = 7;

/// Replaces a byte of the code that has a list entry. Whether the system allows it.
fn replace(at: u64, byte: u8) -> bool {
    let page = (at & !(PAGE - 1)) as *mut c_void;
    // SAFETY: the page has code. It stays readable and can be run all the time. The byte is the
    // first of an instruction, and either of its values is right for whoever comes there.
    unsafe {
        let writable = mprotect(page, PAGE as usize, READ_WRITE_AND_RUN) == 0;
        if writable {
            code(at).store(byte, SeqCst);
            mprotect(page, PAGE as usize, READ_AND_RUN);
        }
        writable
    }
}

/// `struct sigaction` of the C library.
#[repr(C)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

/// `SA_SIGINFO`, `SA_ONSTACK` and `SA_NODEFER`.
const FLAGS: c_int = 0x4 | 0x0800_0000 | 0x4000_0000;
/// `SIG_DFL`.
const DEFAULT: usize = 0;

/// Sets what handles the signal, by the C library's own function: the runtime stands before it.
fn set_handler(handler: usize) -> bool {
    type SetAction = unsafe extern "C" fn(c_int, *const Action, *mut Action) -> c_int;
    /// `RTLD_NEXT`: in the libraries behind the executable.
    const BEHIND: *mut c_void = usize::MAX as *mut c_void;
    // SAFETY: looks up a name.
    let found = unsafe { dlsym(BEHIND, c"sigaction".as_ptr()) };
    // SAFETY: the C library has a function of this name and type, or none.
    let Some(set) = (unsafe { std::mem::transmute::<*mut c_void, Option<SetAction>>(found) })
    else {
        return false;
    };
    let action = Action {
        handler,
        mask: [0; 16],
        flags: FLAGS,
        restorer: 0,
    };
    // SAFETY: the handler is a function of three arguments, or the default.
    unsafe { set(SIGNAL, &raw const action, std::ptr::null_mut()) == 0 }
}

fn install_handler() -> bool {
    set_handler(arrive as *const () as usize)
}

/// The place of the instruction pointer in `ucontext_t`, in words: `uc_mcontext.gregs[REG_RIP]`.
const INSTRUCTION_POINTER: usize = (40 + 16 * 8) / 8;

/// A thread has met a mark.
unsafe extern "C" fn arrive(_: c_int, _: *mut c_void, context: *mut u64) {
    // SAFETY: the kernel hands over the thread's state, which the thread goes on with.
    let next = unsafe { &mut *context.add(INSTRUCTION_POINTER) };
    let at = *next - 1;
    let marked = MARKED.get().map_or(&[][..], Vec::as_slice);
    match marked.binary_search_by_key(&at, |it| it.at) {
        Ok(found) => {
            let it = &marked[found];
            it.reached.store(true, SeqCst);
            *next = at;
            if !replace(it.at, it.byte) {
                // The program has given up the right to change its code, so it can't go on.
                die();
            }
        }
        // The program's own: it ends as without the runtime.
        Err(_) => die(),
    }
}

fn die() {
    set_handler(DEFAULT);
    // SAFETY: gives this thread a signal.
    unsafe { raise(SIGNAL) };
}
