//! The part that cargo calls instead of the program that it has built.
//!
//! Tests run one by one, each in its own process. So each race belongs to one test, and a crash
//! ends only that test. Any other program runs as a whole, with its usual standard streams. So do
//! the unit tests of a procedural macro, which are built without checks.

use crate::course::Event;
use crate::options::Subcommand;
use crate::process::{self, Checked, Role};
use crate::run::{Ended, Run};
use crate::session::Session;
use crate::{Problem, harness, wrapper};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
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
    let testing = session.subcommand == Subcommand::Test;
    if testing && wrapper::harness_mark(program).exists() {
        return harness::run(session, program, arguments);
    }
    let run = match testing && wrapper::unchecked_mark(program).exists() {
        true => run_unchecked(session, program, arguments)?,
        false => run_whole(session, program, arguments)?,
    };
    let status = run.ended.status();
    session.record(&Event::Ended(run))?;
    Ok(status)
}

fn run_whole(session: &Session, program: &Path, arguments: &[OsString]) -> Result<Run, Problem> {
    let mut checked = Checked::new(session, program, arguments, Role::Program)?;
    let status = to_the_end(session, program, &mut checked.command)?;
    checked.collect(None, status)
}

fn run_unchecked(
    session: &Session,
    program: &Path,
    arguments: &[OsString],
) -> Result<Run, Problem> {
    let mut command = process::unchecked(session, program, arguments);
    let ended = Ended::from(to_the_end(session, program, &mut command)?);
    Ok(Run {
        program: program.to_owned(),
        test: None,
        ended,
        failure: ended.failure(session.subcommand),
        findings: Vec::new(),
        checked: false,
    })
}

/// Runs a command with the standard streams of this process. If a report goes to standard output,
/// what the program prints goes elsewhere.
fn to_the_end(
    session: &Session,
    program: &Path,
    command: &mut Command,
) -> Result<ExitStatus, Problem> {
    if session.options.report_on_standard_output() {
        let stream = io::stderr().as_fd().try_clone_to_owned();
        let stream = stream.map_err(|error| {
            Problem::new(format!("can't redirect the program's output: {error}"))
        })?;
        command.stdout(Stdio::from(stream));
    }
    let status = command.status();
    status.map_err(|error| Problem::start(program, error))
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
