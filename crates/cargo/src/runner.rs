//! The part that cargo calls instead of the program that it has built.
//!
//! Each test runs in its own process. So each race belongs to one test, and a crash ends only that
//! test. Any other program runs as a whole, with its usual standard streams. So do the unit tests
//! of a procedural macro, which are built without checks.

use crate::course::Event;
use crate::options::Subcommand;
use crate::orders::{Asked, Ran, Shown, in_orders};
use crate::process::{self, Checked, Role};
use crate::report::Reporter;
use crate::run::{self, CutShort, Ended, Run};
use crate::session::Session;
use crate::ward::{Ending, Ward};
use crate::{CARGO_FAILED, Problem, harness, nextest, wrapper};
use nix::sys::signal::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::ffi::OsString;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

/// The first argument that identifies this part.
pub(crate) const MARK: &str = "--run-checked";

pub(crate) fn run(session: &Session, arguments: &[OsString]) -> Result<u8, Problem> {
    let (program, arguments) = arguments
        .split_first()
        .ok_or_else(|| Problem::new("cargo named no program to run"))?;
    let program = Path::new(program);
    process::fix_addresses();
    let testing = session.subcommand.tests();
    // The file stays locked until this process ends.
    let _at_work = session.runner()?;
    let ward = match session.subcommand {
        Subcommand::Test => {
            let directory = session.directory.clone();
            ward_of_tests(session, move || Session::interrupt(&directory))?
        }
        Subcommand::Nextest => {
            let ward = ward_of_tests(session, || ())?;
            return nextest::run(session, &ward, program, arguments);
        }
        _ => {
            outlive_interrupts()?;
            Ward::listen(&[SIGTERM, SIGHUP], || ())?
        }
    };
    if testing && session.is_interrupted() {
        let program = run::name_of(program);
        session.record(&Event::Interrupted {
            program,
            test: None,
        })?;
        return Ok(CARGO_FAILED);
    }
    if testing && wrapper::harness_mark(program).exists() {
        return harness::run(session, &ward, program, arguments);
    }
    if testing && !session.has(program, "") {
        let program = run::name_of(program);
        return session.record(&Event::elsewhere(program)).map(|()| 0);
    }
    let run = match testing && wrapper::unchecked_mark(program).exists() {
        true => run_unchecked(session, &ward, program, arguments)?,
        false => run_in_orders(session, &ward, program, arguments)?,
    };
    let status = run.ended.status();
    session.record(&Event::ended(run))?;
    Ok(status)
}

/// Tests end at an interrupt, whether it comes to this process, to the one that the user has
/// started, or as the end of that one. `noted` is called if it comes to this process.
fn ward_of_tests(session: &Session, noted: impl Fn() + Send + 'static) -> Result<Ward, Problem> {
    let ward = Ward::listen(&[SIGINT, SIGTERM, SIGHUP], noted)?;
    let (session, waiting) = (session.clone(), ward.clone());
    thread::spawn(move || {
        session.wait_for_its_end();
        waiting.interrupt(Signal::SIGINT);
    });
    Ok(ward)
}

/// Runs a program in its orders, and returns the run that shows most.
pub(crate) fn run_in_orders(
    session: &Session,
    ward: &Ward,
    program: &Path,
    arguments: &[OsString],
) -> Result<Run, Problem> {
    let asked = Asked::of(session);
    let reporter = Reporter::new(session)?;
    let (mut run, orders) = in_orders(asked, |order| {
        let mut run = run_whole(session, ward, program, arguments, order)?;
        run.orders = Ran::only(order);
        let shown = match asked {
            Asked::UpTo(NonZeroU32::MIN) | Asked::One(_) => Shown::Enough,
            Asked::UpTo(_) if run.was_killed_in_another_order() => Shown::Stopped,
            Asked::UpTo(_) => reporter.tell(&run, run.failure.as_deref()).shown(),
        };
        Ok((run, shown))
    })?;
    run.orders = orders;
    Ok(run)
}

fn run_whole(
    session: &Session,
    ward: &Ward,
    program: &Path,
    arguments: &[OsString],
    order: u32,
) -> Result<Run, Problem> {
    let mut checked = Checked::new(session, program, arguments, Role::Program, order)?;
    let (status, cut_short) = to_the_end(session, ward, program, &mut checked.command)?;
    checked.collect(None, status, cut_short)
}

pub(crate) fn run_unchecked(
    session: &Session,
    ward: &Ward,
    program: &Path,
    arguments: &[OsString],
) -> Result<Run, Problem> {
    let mut command = process::unchecked(session, program, arguments);
    let (status, cut_short) = to_the_end(session, ward, program, &mut command)?;
    let ended = Ended::from(status);
    Ok(Run {
        program: program.to_owned(),
        package: run::package(),
        test: None,
        ended,
        cut_short,
        panicked: None,
        failure: ended.failure(session.subcommand),
        findings: Vec::new(),
        orders: None,
        checked: false,
    })
}

/// Runs a command with the standard streams of this process. If a report goes to standard output,
/// what the program prints goes elsewhere.
fn to_the_end(
    session: &Session,
    ward: &Ward,
    program: &Path,
    command: &mut Command,
) -> Result<(ExitStatus, Option<CutShort>), Problem> {
    if session.options.report_on_standard_output() {
        let stream = io::stderr().as_fd().try_clone_to_owned();
        let stream = stream.map_err(|error| {
            Problem::new(format!("can't redirect the program's output: {error}"))
        })?;
        command.stdout(Stdio::from(stream));
    }
    let ending = match session.subcommand {
        Subcommand::Test | Subcommand::Nextest => Ending::Kill,
        _ => Ending::PassOn,
    };
    let child = command.spawn();
    let waited = child.and_then(|child| ward.wait(child, ending, session.options.timeout));
    let (status, cut_short) = waited.map_err(|error| Problem::start(program, error))?;
    // A program that was not a test has ended as it wanted to.
    let cut_short = cut_short.filter(|_| ending == Ending::Kill);
    Ok((status, cut_short))
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
