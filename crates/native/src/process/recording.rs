//! The trace that a process writes of itself, if its environment asks for one.
//!
//! `FINISHLINE_RECORD` names the file. The first process that finds no file there writes it. Other
//! processes, those that it starts or that are its copies by `fork`, write none.
//!
//! The program knows nothing of this file and may do as it likes: close all descriptors, open files
//! of its own by the same numbers, limit the size of its files. None of that may bring bytes of the
//! trace into a file of the program, or end it. So the file is looked at before each write.

use super::circumstances::{division, drop_in, unfollowed};
use super::image::{about, modules};
use crate::checker::{Checker, Journal};
use finishline_trace::process::{End, Module, Recorder, Start, Stop};
use std::ffi::{OsString, c_int};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::UNIX_EPOCH;

const VARIABLE: &str = "FINISHLINE_RECORD";

/// The process that is recorded.
static RECORDED: AtomicU32 = AtomicU32::new(0);

/// The trace, as a file of that process.
struct TraceFile {
    /// Not to be closed: the program may have closed it, and have another file by this number.
    file: ManuallyDrop<File>,
    path: OsString,
    /// Device and number of the file.
    identity: (u64, u64),
    written: u64,
}

impl TraceFile {
    fn create(path: OsString) -> io::Result<TraceFile> {
        let file = File::create_new(&path)?;
        RECORDED.store(std::process::id(), Ordering::Relaxed);
        Ok(TraceFile {
            identity: identity(&file.metadata()?),
            file: ManuallyDrop::new(file),
            path,
            written: 0,
        })
    }

    /// Makes sure that the descriptor still stands for the trace.
    fn find(&mut self) -> io::Result<()> {
        let is_trace = |file: &File| {
            let metadata = file.metadata();
            metadata.is_ok_and(|metadata| identity(&metadata) == self.identity)
        };
        if is_trace(&self.file) {
            return Ok(());
        }
        let again = File::options().append(true).open(&self.path)?;
        if !is_trace(&again) {
            return Err(io::Error::other("the program has closed it"));
        }
        self.file = ManuallyDrop::new(again);
        Ok(())
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl Write for TraceFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if RECORDED.load(Ordering::Relaxed) != std::process::id() {
            return Err(io::Error::other("it is another process's"));
        }
        // The system would end the process by a signal.
        if self.written + bytes.len() as u64 > most_bytes_of_a_file() {
            return Err(ErrorKind::FileTooLarge.into());
        }
        self.find()?;
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// `struct rlimit`.
#[repr(C)]
struct Limit {
    now: u64,
    most: u64,
}

/// `RLIMIT_FSIZE`.
const FILE_SIZE: c_int = 1;

unsafe extern "C" {
    fn getrlimit(what: c_int, limit: *mut Limit) -> c_int;
}

fn most_bytes_of_a_file() -> u64 {
    let mut limit = Limit {
        now: u64::MAX,
        most: u64::MAX,
    };
    // SAFETY: the C library writes to the structure alone.
    unsafe { getrlimit(FILE_SIZE, &mut limit) };
    limit.now
}

/// Begins to record, if that is asked for. The first thread has this stack and these thread-local
/// variables.
pub(crate) fn begin(checker: &mut Checker, stack: Range<u64>, thread_locals: Range<u64>) {
    let Some(path) = std::env::var_os(VARIABLE) else {
        return;
    };
    let about = about();
    let start = Start {
        process: about.number,
        began: UNIX_EPOCH
            .elapsed()
            .map_or(0, |time| time.as_nanos() as u64),
        executable: about.executable,
        arguments: about.arguments,
        directory: about.directory,
        modules: recorded_modules(),
        stack,
        thread_locals,
        logical_threads: checker.options.logical_threads,
        right_first: checker.options.right_first,
        max_races: checker.options.max_races as u64,
        is_test: checker.options.test_thread,
    };
    let recorder = TraceFile::create(path).and_then(|file| {
        let out: Box<dyn Write> = Box::new(file);
        Recorder::new(out, &start)
    });
    match recorder {
        Ok(recorder) => checker.journal = Journal::Recording(Box::new(recorder)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => complain(&error),
    }
}

/// Writes what was recorded so far, so that nothing that ends the process can lose it.
pub(crate) fn save(checker: &mut Checker) {
    if let Journal::Recording(_) = checker.journal {
        let so_far = what_is_known(checker, true);
        if let Journal::Recording(recorder) = &mut checker.journal {
            recorder.save(&so_far);
        }
    }
}

/// Writes the end of the trace, if there is one.
pub(crate) fn end(checker: &mut Checker) {
    let end = what_is_known(checker, false);
    let Journal::Recording(recorder) = std::mem::take(&mut checker.journal) else {
        return;
    };
    match recorder.end(&end) {
        Err(error) if RECORDED.load(Ordering::Relaxed) == std::process::id() => complain(&error),
        // The copy of a process has a copy of its journal.
        Ok(()) | Err(_) => {}
    }
}

fn what_is_known(checker: &Checker, goes_on: bool) -> End {
    End {
        goes_on,
        modules: recorded_modules(),
        accesses: checker.glance.accesses(),
        unfollowed: unfollowed(),
        drop_in: drop_in(),
        division: division(),
        failed: checker.failure().is_some(),
        stopped: checker.found.stopped.map(|stopped| Stop {
            what: stopped.waits,
            place: stopped.at.place,
            calls: stopped.at.calls.0,
            task: stopped.task,
        }),
    }
}

fn complain(error: &io::Error) {
    eprintln!("finishline: the trace of this process is not written, or not to its end: {error}");
}

fn recorded_modules() -> Vec<Module> {
    let recorded = modules().into_iter().map(|mapped| Module {
        path: mapped.module.path,
        bias: mapped.module.bias,
        start: mapped.module.start,
        end: mapped.module.end,
    });
    recorded.collect()
}
