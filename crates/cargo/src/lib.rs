//! What `cargo finishline` does: builds a Rust package instrumented, with the user's own cargo, and
//! runs it checked.
//!
//! The tool is one executable in four parts, which call each other through cargo:
//!
//! 1. [`command`], what the user starts. Makes sure that there is a [`runtime`] for this rustc,
//!    opens a [`session`], starts cargo with the other three parts in place, and sums up what they
//!    left behind.
//! 2. [`wrapper`], called by cargo instead of rustc: adds instrumentation, the runtime object, and
//!    the drop-in in place of rayon-core.
//! 3. [`runner`], called by cargo instead of the program: runs it, or each of its tests, in a
//!    process whose findings it collects.
//! 4. [`rustdoc`], called by cargo instead of rustdoc: skips doc tests, and says so.
//!
//! Nothing of the user's is edited: neither manifest nor lock file nor configuration, and target
//! directories are ours. What the parts share is in the session's directory, which lives as long as
//! the command. A program is never said to be free of races because nothing was heard of it: the
//! runtime must have written its findings, and the drop-in must have run.

#![forbid(unsafe_code)]

mod arguments;
mod command;
mod harness;
mod libtest;
mod options;
mod problem;
mod process;
mod report;
mod run;
mod runner;
mod runtime;
mod rustdoc;
mod session;
mod sources;
mod standard_library;
mod toolchain;
mod transcript;
mod wrapper;

use problem::Problem;
use session::Session;
use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

/// Bad usage, a program that does not build, or a file that can't be used.
const BAD_USAGE: u8 = 2;
/// libtest's status for a failed test, on which cargo goes no further.
const CARGO_FAILED: u8 = 101;

/// The whole tool: which part of it this process is, is decided by how it was started.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let result = match inner_part(&arguments) {
        Some(result) => result,
        None => command::execute(&arguments::read(arguments)),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(problem) => {
            // If even that can't be written, there is nobody left to tell.
            let _ = writeln!(io::stderr().lock(), "error: {problem}");
            ExitCode::from(BAD_USAGE)
        }
    }
}

/// If cargo started this process as one of the inner parts: does its work and returns its exit
/// status.
fn inner_part(arguments: &[OsString]) -> Option<Result<u8, Problem>> {
    let session = Session::inherited()?;
    let (first, rest) = arguments.split_first()?;
    if first == "finishline" {
        // Someone inside a session starts a session of their own.
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
