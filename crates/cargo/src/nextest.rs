//! `cargo nextest`, which builds and starts the tests in place of cargo and [`harness`].
//!
//! Nextest asks each program for its tests, by `--list`, and then starts one process for each:
//! `PROGRAM NAME --exact --nocapture`, by the runner that is configured for the machine. That is
//! this tool, as it is for cargo. So a process of nextest's runs one test, in its orders, with its
//! findings in the session. It prints what the test printed, and ends as the test did, or with
//! [`RACE`] if the test raced. Nextest decides which tests run, how many at once, and how often.
//!
//! A signal to such a process is about its test alone: nextest ends a test that takes too long by
//! one. The end of the session ends the test, too.
//!
//! [`harness`]: crate::harness

use crate::course::Event;
use crate::libtest::Arguments;
use crate::orders::Shown;
use crate::report::{self, Reporter, Standing};
use crate::session::Session;
use crate::toolchain::Toolchain;
use crate::ward::{Ending, Ward};
use crate::{CARGO_FAILED, Problem, RACE, process, run, runner, single_test, wrapper};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The commands of nextest that make sense here, by their names and their short names.
const COMMANDS: [&str; 3] = ["run", "r", LIST];

/// Runs nothing.
pub(crate) const LIST: &str = "list";

/// Its option that keeps cargo quiet.
pub(crate) const QUIET: &str = "--cargo-quiet";

/// A second signal makes nextest kill the runners, and they could not end their tests any more. The
/// first one is the terminal's. If there is none, the tests end with the session, and those that
/// nextest starts afterwards end at once.
pub(crate) const ENDING: Ending = Ending::Leave;

/// Its exit status if no test was to be run.
pub(crate) const NO_TESTS: i32 = 4;

/// Checks that nextest is there, and takes the command for it off the arguments.
pub(crate) fn command(
    toolchain: &Toolchain,
    arguments: &mut Vec<OsString>,
) -> Result<OsString, Problem> {
    let first = arguments.first().and_then(|first| first.to_str());
    if !first.is_some_and(|first| COMMANDS.contains(&first)) {
        return Err(Problem::new(
            "after `cargo finishline nextest` comes `run` or `list`, as after `cargo nextest`",
        ));
    }
    let mut nextest = Command::new(&toolchain.cargo);
    nextest
        .args(["nextest", "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match nextest.status() {
        Ok(status) if status.success() => Ok(arguments.remove(0)),
        Ok(_) => Err(Problem::new(
            "cargo-nextest is not installed: `cargo install --locked cargo-nextest` installs it, \
             and `cargo finishline test` works without",
        )),
        Err(error) => Err(Problem::start(&toolchain.cargo, error)),
    }
}

/// Does what nextest starts this process for. The exit status tells nextest how the test went.
pub(crate) fn run(
    session: &Session,
    ward: &Ward,
    program: &Path,
    arguments: &[OsString],
) -> Result<u8, Problem> {
    if arguments.iter().any(|argument| argument == "--list") {
        let mut command = process::unchecked(session, program, arguments);
        return Err(Problem::start(program, command.exec()));
    }
    // A program with a harness of its own may be given arguments of its own.
    let test = Arguments::read(arguments).ok();
    let test = test.and_then(|arguments| arguments.only_test());
    if session.is_interrupted() {
        let program = run::name_of(program);
        session.record(&Event::Interrupted { program, test })?;
        return Ok(CARGO_FAILED);
    }
    match test {
        Some(test) if wrapper::harness_mark(program).exists() => {
            one_test(session, ward, program, &test)
        }
        test => whole(session, ward, program, arguments, test),
    }
}

fn one_test(session: &Session, ward: &Ward, program: &Path, test: &str) -> Result<u8, Problem> {
    let reporter = Reporter::new(session)?;
    let outcome = single_test::run(session, &reporter, ward, program, test)?;
    session.record(&Event::told(outcome.run.clone(), outcome.told.clone()))?;
    let mut said = Vec::new();
    if let Some(failure) = outcome.unshown_failure() {
        said.extend_from_slice(format!("{failure}\n").as_bytes());
    }
    if let Some((remark, command)) = &outcome.hint {
        said.extend_from_slice(format!("{remark}:\n{command}\n").as_bytes());
    }
    said.extend_from_slice(&outcome.report);
    let written = io::stdout()
        .write_all(outcome.transcript.output.as_bytes())
        .and_then(|()| io::stdout().flush())
        .and_then(|()| io::stderr().write_all(&said));
    written.map_err(|error| Problem::new(format!("can't write what the test printed: {error}")))?;
    Ok(match (outcome.standing, outcome.run.ended.status()) {
        (Standing::Races, _) => RACE,
        (_, 0) if !outcome.is_fine() => CARGO_FAILED,
        (_, status) => status,
    })
}

/// Runs a program that has tests of its own making, or whose code runs in the compiler.
fn whole(
    session: &Session,
    ward: &Ward,
    program: &Path,
    arguments: &[OsString],
    test: Option<String>,
) -> Result<u8, Problem> {
    let mut run = match wrapper::unchecked_mark(program).exists() {
        true => runner::run_unchecked(session, ward, program, arguments)?,
        false => runner::run_in_orders(session, ward, program, arguments)?,
    };
    run.test = test;
    let told = Reporter::new(session)?.tell(&run, run.failure.as_deref());
    let status = match (told.standing(), run.ended.status()) {
        (Standing::Races, _) => RACE,
        (Standing::UsedAfterFree, 0) => CARGO_FAILED,
        (_, status) => status,
    };
    if told.shown() == Shown::Enough {
        let style = report::style(session.options.color, false);
        let text = told
            .text(style)
            .and_then(|text| io::stderr().write_all(&text));
        text.map_err(|error| Problem::new(format!("can't write the report: {error}")))?;
    }
    session.record(&Event::told(run, told))?;
    Ok(status)
}
