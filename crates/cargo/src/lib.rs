//! `cargo finishline`: builds a Rust package instrumented, with the user's own cargo, and runs it
//! checked.
//!
//! The tool is one executable with four parts, which call each other through cargo:
//!
//! 1. [`command`] is what the user starts. It prepares a [`runtime`] for this rustc, opens a
//!    [`session`], starts cargo with the other three parts in place, and sums up their results.
//! 2. [`wrapper`] is called by cargo instead of rustc. It adds instrumentation and the runtime
//!    object, replaces rayon-core by the drop-in, and lists the user's [`unsafe_code`].
//! 3. [`runner`] is called by cargo, or by nextest, instead of the program. It runs the program, or
//!    each of its tests, in a process and collects the findings.
//! 4. [`rustdoc`] is called by cargo instead of rustdoc. It skips doc tests, and notes that.
//!
//! [`recorded`] is about traces, which `finishline analyze` reads.
//!
//! The user's manifest, lock file and configuration are never edited, and builds go to our own
//! target directories. The parts share the session's directory, which lives as long as the command.
//! A program is never called free of races just because no findings arrived: the runtime must have
//! written its findings, and the drop-in must have run.

#![forbid(unsafe_code)]

mod arguments;
mod command;
mod course;
mod diagnostics;
mod harness;
mod libtest;
mod nextest;
mod options;
mod orders;
mod overlay;
mod problem;
mod process;
mod progress;
pub mod recorded;
mod report;
mod run;
mod runner;
mod runtime;
mod rustdoc;
mod session;
mod settings;
mod single_test;
mod sources;
mod standard_library;
mod toolchain;
mod trace_file;
mod transcript;
mod unsafe_code;
mod unseen;
mod ward;
mod wrapper;

use problem::Problem;
use session::Session;
use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

/// Bad usage, a program that does not build, or a file that can't be used.
const BAD_USAGE: u8 = 2;
/// A race was found.
const RACE: u8 = 66;
/// libtest's status for a failed test. Cargo stops at it.
const CARGO_FAILED: u8 = 101;

/// The options of the tool, for manual pages and completions.
pub fn command_line() -> clap::Command {
    arguments::command_line()
}

/// The whole tool. The way this process was started decides which part it is.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let result = match inner_part(&arguments) {
        Some(result) => result,
        None => command::execute(&arguments::read(arguments)),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(problem) => {
            problem.tell();
            ExitCode::from(BAD_USAGE)
        }
    }
}

/// If cargo started this process as one of the inner parts, does its work and returns its exit
/// status.
fn inner_part(arguments: &[OsString]) -> Option<Result<u8, Problem>> {
    let session = Session::inherited()?;
    let (first, rest) = arguments.split_first()?;
    if first == "finishline" {
        // A process inside a session has started a session of its own.
        return None;
    }
    Some(session.and_then(|session| {
        if first == runner::MARK {
            runner::run(&session, rest)
        } else if first.as_encoded_bytes().starts_with(b"-") {
            rustdoc::stand_in(&session, arguments)
        } else {
            wrapper::compile(&session, first, rest)
        }
    }))
}
