//! Runs one test of a program that libtest makes, in a process of its own, and tells how it went.
//!
//! Whether the test passed is libtest's to say, and what was found comes from the findings of the
//! process. Nothing is printed here.

use crate::Problem;
use crate::libtest::run_only;
use crate::orders::{Asked, Ran, Shown, in_orders};
use crate::process::{Checked, Role};
use crate::report::{self, Reporter, Standing, Told};
use crate::run::{CutShort, Ended, Run};
use crate::session::Session;
use crate::transcript::Transcript;
use crate::ward::{Ending, Ward};
use finishline_answer::process::UNCHECKED_REMARK;
use finishline_report::Style;
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The result of one test.
pub(crate) struct Outcome {
    pub(crate) run: Run,
    pub(crate) told: Told,
    pub(crate) standing: Standing,
    /// The report of the test's races.
    pub(crate) report: Vec<u8>,
    pub(crate) transcript: Transcript,
    pub(crate) passed: bool,
    /// What to think of before the program is blamed for a failure, and a command.
    pub(crate) hint: Option<(&'static str, String)>,
}

impl Outcome {
    pub(crate) fn is_fine(&self) -> bool {
        let is_fine = matches!(self.standing, Standing::NothingFound | Standing::Unchecked);
        self.passed && is_fine
    }

    /// Why the test failed, if libtest has not shown it in the output.
    pub(crate) fn unshown_failure(&self) -> Option<&str> {
        let failure = self.run.failure.as_deref();
        failure.filter(|_| self.transcript.passed != Some(false))
    }
}

/// Runs a test in its orders, and tells about the one that shows most.
pub(crate) fn run(
    session: &Session,
    reporter: &Reporter,
    ward: &Ward,
    program: &Path,
    test: &str,
) -> Result<Outcome, Problem> {
    let asked = Asked::of(session);
    let in_order = |order| {
        let (outcome, shown) = run_in_order(session, reporter, ward, program, test, order)?;
        let interrupted = outcome.run.cut_short == Some(CutShort::Interrupt);
        Ok((outcome, if interrupted { Shown::Enough } else { shown }))
    };
    let (mut outcome, orders) = in_orders(asked, in_order)?;
    if orders != outcome.run.orders {
        // Only now it is known how many orders there were.
        outcome.run.orders = orders;
        outcome.told.in_orders(orders);
        let report = outcome.told.text(style(session));
        outcome.report = report.map_err(unwritten)?;
    }
    Ok(outcome)
}

fn run_in_order(
    session: &Session,
    reporter: &Reporter,
    ward: &Ward,
    program: &Path,
    test: &str,
    order: u32,
) -> Result<(Outcome, Shown), Problem> {
    let (mut run, printed, folder) = execute(session, ward, program, test, order)?;
    run.orders = Ran::only(order);
    let transcript = Transcript::read(&printed, test);
    let passed = run.ended == Ended::Exited(0) && transcript.passed == Some(true);
    let is_own_end = !passed && run.cut_short.is_none();
    run.failure = is_own_end.then(|| failure(run.ended, transcript.passed));
    run.panicked = transcript.panicked();
    let told = reporter.tell(&run, run.failure.as_deref());
    // Nobody needs the findings any more. What is left of them goes with the session.
    let _ = fs::remove_dir_all(&folder);
    run.findings.clear();
    let standing = told.standing();
    if standing == Standing::Stopped {
        // We ended the process, and the report says why.
        run.failure = None;
    }
    let is_suspect = run.failure.is_some() && told.is_parallel();
    let (name, command) = (Some(test), &session.command);
    let shown = match run.was_killed_in_another_order() {
        true => Shown::Stopped,
        false => told.shown(),
    };
    let outcome = Outcome {
        standing,
        report: told.text(style(session)).map_err(unwritten)?,
        hint: is_suspect.then(|| match order {
            0 => (UNCHECKED_REMARK, command.unchecked(name)),
            _ => (OTHER_ORDER_REMARK, command.replay(name, order)),
        }),
        run,
        told,
        transcript,
        passed,
    };
    Ok((outcome, shown))
}

/// Of a test that failed in another order than the usual one.
const OTHER_ORDER_REMARK: &str = "it failed in another order of its tasks, which is as possible as \
     the usual one; this command repeats it";

fn style(session: &Session) -> Style {
    report::style(session.options.color, io::stdout().is_terminal())
}

/// How a test failed, in a sentence.
fn failure(ended: Ended, passed: Option<bool>) -> String {
    match (ended, passed) {
        (Ended::Killed { signal }, _) => format!("the process was killed by signal {signal}"),
        (Ended::Exited(_), Some(false)) => "the test failed".to_owned(),
        (Ended::Exited(code), Some(true)) => {
            format!("the test passed, but its process ended with exit status {code}")
        }
        (Ended::Exited(code), None) => {
            format!("the test ended its process, with exit status {code}")
        }
    }
}

/// Runs a test. Both standard streams go to one file, which keeps their order. A pipe would stay
/// open as long as any process that the test leaves behind. Returns what was printed, and the
/// folder of the process.
fn execute(
    session: &Session,
    ward: &Ward,
    program: &Path,
    test: &str,
    order: u32,
) -> Result<(Run, Vec<u8>, PathBuf), Problem> {
    let mut checked = Checked::new(session, program, &run_only(test), Role::Test, order)?;
    let path = checked.folder.join("output");
    let failed = |error| Problem::write(&path, error);
    let file = File::create(&path).map_err(failed)?;
    let twin = file.try_clone().map_err(failed)?;
    checked
        .command
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(twin)
        .process_group(0);
    let child = checked.command.spawn();
    let waited =
        child.and_then(|child| ward.wait(child, Ending::KillGroup, session.options.timeout));
    let (status, cut_short) = waited.map_err(|error| Problem::start(program, error))?;
    let printed = fs::read(&path).map_err(|error| Problem::read(&path, error))?;
    let run = checked.collect(Some(test), status, cut_short)?;
    Ok((run, printed, checked.folder))
}

fn unwritten(error: io::Error) -> Problem {
    Problem::new(format!("can't write the report of a test: {error}"))
}
