//! The trace that a process writes of itself, if its environment asks for one.
//!
//! `FINISHLINE_RECORD` names the file. The first process that finds no file there writes it. Other
//! processes, those that it starts or that are its copies by `fork`, write none.

use crate::checker::{Checker, Journal};
use crate::process::modules;
use finishline_trace::process::{End, Module, Recorder, Start, Stop};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;

const VARIABLE: &str = "FINISHLINE_RECORD";

/// A file of the process that opened it.
struct OwnFile {
    file: File,
    process: u32,
}

impl Write for OwnFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.process == std::process::id() {
            true => self.file.write(bytes),
            false => Err(io::Error::other("the trace is another process's")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Begins to record, if that is asked for. The first thread has this stack and these thread-local
/// variables.
pub(crate) fn begin(checker: &mut Checker, stack: Range<u64>, thread_locals: Range<u64>) {
    let Some(path) = std::env::var_os(VARIABLE) else {
        return;
    };
    let about = crate::process::about();
    let start = Start {
        process: about.number,
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
    let recorder = File::create_new(&path).and_then(|file| {
        let out: Box<dyn Write> = Box::new(OwnFile {
            file,
            process: std::process::id(),
        });
        Recorder::new(out, &start)
    });
    match recorder {
        Ok(recorder) => checker.journal = Journal::Recording(Box::new(recorder)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => complain(&error),
    }
}

/// Writes the end of the trace, if there is one.
pub(crate) fn end(checker: &mut Checker, unfollowed: u64, drop_in: Option<u32>) {
    let Journal::Recording(recorder) = std::mem::take(&mut checker.journal) else {
        return;
    };
    let end = End {
        modules: recorded_modules(),
        accesses: checker.glance.accesses(),
        unfollowed,
        drop_in,
        failed: checker.failure().is_some(),
        stopped: checker.found.stopped.map(|stopped| Stop {
            what: stopped.waits,
            place: stopped.at.place,
            calls: stopped.at.calls.0,
            task: stopped.task,
        }),
    };
    if let Err(error) = recorder.end(&end) {
        complain(&error);
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
