//! The life of the checker: from the initialisation of the first instrumented module to the end of
//! the process.

use super::circumstances::set_test;
use super::image::{about, ranges};
use super::{marks, output, owner, recording};
use crate::checker::options::Options;
use crate::checker::{Checker, Host, Journal};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

unsafe extern "C" {
    fn atexit(handler: extern "C" fn()) -> c_int;
    fn _exit(status: c_int) -> !;
}

/// Starts checking, once. Returns whether this call did. `is_drop_slow` is what the dialect of the
/// program answers for [`Host::is_drop_slow`].
pub(crate) fn start(is_drop_slow: fn(u64) -> bool) -> bool {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::Relaxed) {
        return false;
    }
    let text = std::env::var("FINISHLINE_OPTIONS").unwrap_or_default();
    let (options, unknown) = Options::parse(&text);
    for word in unknown {
        eprintln!("finishline: FINISHLINE_OPTIONS: '{word}' is not understood");
    }
    set_test(options.test_thread);
    let host = Host {
        is_drop_slow,
        // Saved at once, so that nothing that ends the process can lose the race.
        new_race: |checker| {
            output::save(checker, true);
            recording::save(checker);
        },
    };
    about();
    let (stack, thread_locals) = ranges();
    let (of_stack, of_locals) = (stack.clone(), thread_locals.clone());
    match Checker::hosted(options, host, owner::glance(), stack, thread_locals) {
        Ok(checker) => {
            let prepare = |checker: &mut Checker| {
                recording::begin(checker, of_stack, of_locals);
                // The recording may be asked for everything.
                let is_recorded = matches!(checker.journal, Journal::Recording(_));
                if !checker.options.determinacy && !is_recorded {
                    checker.be_brief();
                }
                if !is_recorded {
                    checker.attach_calls();
                }
            };
            let began = owner::install(checker, prepare);
            if began {
                marks::begin();
                // SAFETY: the handler is a function without captures.
                unsafe { atexit(end) };
            }
            began
        }
        Err(failure) => {
            eprintln!("finishline: this process is not checked: {failure}");
            false
        }
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
extern "C" fn end() {
    let ended = owner::with_checker_for_good(|checker| {
        if let Some(failure) = checker.failure() {
            eprintln!("finishline: from some point on this process was not checked: {failure}");
        }
        let races = checker.found.races.iter().count();
        if checker.options.output.is_none() && races > 0 {
            eprintln!("finishline: {races} races; run by `cargo finishline` to see them");
        }
        output::save(checker, false);
        recording::end(checker);
    });
    if !ended {
        eprintln!(
            "finishline: a thread that is not followed ended the process; its findings are lost"
        );
    }
}
