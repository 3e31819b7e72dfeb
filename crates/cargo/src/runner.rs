//! The part that cargo calls instead of the program that it has built.
//!
//! Tests run one by one, each in its own process. So each race belongs to one test, and a crash
//! ends only that test. Any other program runs as a whole, with its usual standard streams.

use crate::options::Subcommand;
use crate::process::{self, Checked, Role};
use crate::run::Ended;
use crate::session::Session;
use crate::{Problem, harness, wrapper};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The first argument that identifies this part.
pub(crate) const MARK: &str = "--run-checked";

pub(crate) fn run(session: &Session, arguments: &[OsString]) -> Result<u8, Problem> {
    let (program, arguments) = arguments
        .split_first()
        .ok_or_else(|| Problem::new("cargo named no program to run"))?;
    let program = Path::new(program);
    outlive_interrupts()?;
    process::fix_addresses();
    let tests = session.subcommand == Subcommand::Test && wrapper::harness_mark(program).exists();
    match tests {
        true => harness::run(session, program, arguments),
        false => run_whole(session, program, arguments).map(Ended::status),
    }
}

fn run_whole(session: &Session, program: &Path, arguments: &[OsString]) -> Result<Ended, Problem> {
    let mut checked = Checked::new(session, program, arguments, Role::Program)?;
    if session.options.report_on_standard_output() {
        let stream = io::stderr().as_fd().try_clone_to_owned();
        let stream = stream.map_err(|error| {
            Problem::new(format!("can't redirect the program's output: {error}"))
        })?;
        checked.command.stdout(Stdio::from(stream));
    }
    let status = checked.command.status();
    let status = status.map_err(|error| Problem::start(program, error))?;
    let run = checked.collect(None, status)?;
    session.record(&run)?;
    Ok(run.ended)
}

/// Ignores interrupts from the terminal. They reach the program too, which may handle them. The run
/// is reported in any case. Once what is returned is true, they end this process again.
pub(crate) fn outlive_interrupts() -> Result<Arc<AtomicBool>, Problem> {
    let is_over = Arc::new(AtomicBool::new(false));
    let ignored = flag::register_conditional_default(SIGINT, is_over.clone());
    ignored
        .map(|_| is_over)
        .map_err(|error| Problem::new(format!("can't listen to interrupts: {error}")))
}
