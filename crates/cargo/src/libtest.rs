//! The arguments that the user gives to test programs, and the tests that they select.
//!
//! libtest itself selects the tests, by its `--list`. That list contains ignored tests whether or
//! not they would run. A second list tells which tests are ignored.

use crate::session::Session;
use crate::{Problem, process};
use clap::{ArgAction, Parser};
use std::collections::HashSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Stdio;
use std::thread;

/// libtest's command line, as far as `--help` of a test program lists it.
#[derive(Parser, Debug)]
#[command(
    no_binary_name = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub(crate) struct Arguments {
    filters: Vec<String>,
    #[arg(long)]
    exact: bool,
    #[arg(long)]
    skip: Vec<String>,
    #[arg(long)]
    ignored: bool,
    #[arg(long)]
    include_ignored: bool,
    #[arg(long, alias = "no-capture")]
    pub(crate) nocapture: bool,
    #[arg(long)]
    pub(crate) show_output: bool,
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[arg(long)]
    test_threads: Option<NonZeroUsize>,
    #[arg(long)]
    pub(crate) color: Option<String>,

    /// Answered by the test program itself.
    #[arg(long)]
    pub(crate) list: bool,
    #[arg(long, short, action = ArgAction::SetTrue)]
    pub(crate) help: bool,

    // The remaining options change nothing here: a process runs one test, and we print the output.
    #[arg(long)]
    test: bool,
    #[arg(long)]
    bench: bool,
    #[arg(long)]
    exclude_should_panic: bool,
    #[arg(long)]
    force_run_in_process: bool,
    #[arg(long)]
    format: Option<String>,
    #[arg(long)]
    logfile: Option<String>,
    #[arg(long)]
    report_time: bool,
    #[arg(long)]
    ensure_time: bool,
    #[arg(long)]
    shuffle: bool,
    #[arg(long)]
    shuffle_seed: Option<u64>,
    #[arg(short = 'Z')]
    unstable: Vec<String>,
}

/// The tests of one program.
pub(crate) struct Selection {
    pub(crate) tests: Vec<Test>,
    pub(crate) filtered_out: usize,
    /// How many of those that the arguments select belong to other parts of the suite.
    pub(crate) elsewhere: usize,
}

pub(crate) struct Test {
    pub(crate) name: String,
    pub(crate) ignored: bool,
}

impl Arguments {
    pub(crate) fn read(arguments: &[OsString]) -> Result<Arguments, Problem> {
        Arguments::try_parse_from(arguments).map_err(|error| {
            let text = error.render().to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            Problem::new(format!(
                "in the arguments of the tests: {}",
                text.trim_end()
            ))
        })
    }

    /// The number of tests that may run at the same time. What was said to libtest comes first.
    pub(crate) fn test_threads(&self, of_session: Option<NonZeroUsize>) -> NonZeroUsize {
        let of_environment = || std::env::var("RUST_TEST_THREADS").ok()?.parse().ok();
        self.test_threads
            .or(of_session)
            .or_else(of_environment)
            .or_else(|| thread::available_parallelism().ok())
            .unwrap_or(NonZeroUsize::MIN)
    }

    /// The test, if these arguments select one by its exact name.
    pub(crate) fn only_test(&self) -> Option<String> {
        match &*self.filters {
            [test] if self.exact => Some(test.clone()),
            _ => None,
        }
    }

    pub(crate) fn select(&self, session: &Session, program: &Path) -> Result<Selection, Problem> {
        let mut selecting: Vec<OsString> = self.filters.iter().map(OsString::from).collect();
        for pattern in &self.skip {
            selecting.extend(["--skip".into(), pattern.into()]);
        }
        let flags = [
            ("--exact", self.exact),
            ("--exclude-should-panic", self.exclude_should_panic),
            ("--ignored", self.ignored),
        ];
        selecting.extend(
            flags
                .into_iter()
                .filter(|(_, given)| *given)
                .map(|(flag, _)| flag.into()),
        );
        selecting.extend(
            self.unstable
                .iter()
                .map(|option| format!("-Z{option}").into()),
        );

        let all = list(session, program, &[])?;
        let selected = list(session, program, &selecting)?;
        let ignored: HashSet<String> = match self.ignored || self.include_ignored {
            true => HashSet::new(),
            false => list(session, program, &["--ignored".into()])?
                .into_iter()
                .collect(),
        };
        let filtered_out = all.len().saturating_sub(selected.len());
        let mut tests = selected;
        let of_all_parts = tests.len();
        tests.retain(|test| session.has(program, test));
        Ok(Selection {
            filtered_out,
            elsewhere: of_all_parts - tests.len(),
            tests: tests
                .into_iter()
                .map(|name| Test {
                    ignored: ignored.contains(&name),
                    name,
                })
                .collect(),
        })
    }
}

/// The arguments that make a test program run only this test and print as it goes.
pub(crate) fn run_only(test: &str) -> Vec<OsString> {
    let options = [
        "--exact",
        test,
        "--include-ignored",
        "--nocapture",
        "--test-threads=1",
        "--color=never",
    ];
    options.map(OsString::from).to_vec()
}

/// The names of the tests that a program lists for these arguments.
fn list(session: &Session, program: &Path, arguments: &[OsString]) -> Result<Vec<String>, Problem> {
    let mut command = process::unchecked(session, program, arguments);
    command
        .args(["--list", "--format=terse"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = command
        .output()
        .map_err(|error| Problem::start(program, error))?;
    if !output.status.success() {
        let shown = program.display();
        return Err(Problem::new(format!(
            "{shown} could not list its tests ({})",
            output.status
        )));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let names = text.lines().filter_map(|line| {
        let name = line
            .strip_suffix(": test")
            .or_else(|| line.strip_suffix(": benchmark"));
        name.map(str::to_owned)
    });
    Ok(names.collect())
}
