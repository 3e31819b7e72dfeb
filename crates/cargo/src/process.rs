//! Starts one instrumented process and collects its results when it has ended.
//!
//! Addresses should be the same in each run, so that reports are the same. So the kernel is asked
//! not to randomise addresses. Some containers forbid that. Then runs differ in addresses and in
//! nothing else.

use crate::Problem;
use crate::options::{Divide, First, Subcommand};
use crate::run::{self, CutShort, Ended, Run};
use crate::session::Session;
use crate::unseen;
use finishline_model::kinds::QUARANTINE;
use finishline_model::kinds::rayon::TO_ITEMS;
use nix::sys::personality::{self, Persona};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The findings file of the process itself. A process that it starts writes its own file beside it,
/// with a longer name.
const FINDINGS: &str = "findings.json";
const OPTIONS_VARIABLE: &str = "FINISHLINE_OPTIONS";
/// How many threads rayon claims to have if nobody chooses.
const USUAL_LOGICAL_THREADS: NonZeroU32 = NonZeroU32::new(16).unwrap();
/// Nobody has more, and the runtime has the top bit for something else.
const MOST_LOGICAL_THREADS: NonZeroU32 = NonZeroU32::new(TO_ITEMS - 1).unwrap();
const RECORD_VARIABLE: &str = "FINISHLINE_RECORD";
/// The least stack of a thread, for the standard library. Tasks that run on several threads without
/// checks lie on one stack here. Only what is used takes memory.
const STACK_VARIABLE: &str = "RUST_MIN_STACK";
const STACK_OF_TESTS: &str = "67108864";

/// Gives processes that this one starts the same addresses each time.
pub(crate) fn fix_addresses() {
    if let Ok(persona) = personality::get() {
        // Some containers refuse this. Then addresses vary.
        let _ = personality::set(persona | Persona::ADDR_NO_RANDOMIZE);
    }
}

/// The purpose of a process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Program,
    /// One test, which libtest runs on a thread of its own.
    Test,
}

/// A process whose findings go to a folder of their own.
pub(crate) struct Checked<'a> {
    program: &'a Path,
    subcommand: Subcommand,
    pub(crate) folder: PathBuf,
    pub(crate) command: Command,
}

impl<'a> Checked<'a> {
    pub(crate) fn new(
        session: &Session,
        program: &'a Path,
        arguments: &[OsString],
        role: Role,
        order: u32,
    ) -> Result<Checked<'a>, Problem> {
        let folder = session.new_folder("run")?;
        let options = &session.options;
        let first = match options.first {
            First::Left => "left",
            First::Right => "right",
        };
        let divide = match options.divide {
            Divide::Items => "items",
            Divide::Threads => "threads",
        };
        let of_package = || session.settings(&run::package())?.logical_threads;
        let logical_threads = options.logical_threads.or_else(of_package);
        let logical_threads = logical_threads.unwrap_or(USUAL_LOGICAL_THREADS);
        let logical_threads = logical_threads.min(MOST_LOGICAL_THREADS);
        let quarantine = options.quarantine.unwrap_or(QUARANTINE);
        // The file comes last, because its name may contain spaces.
        let mut text = OsString::from(format!(
            "logical-threads={} divide={divide} first={first} order={order} max-races={} determinacy={} \
             quarantine={quarantine} test-thread={} output=",
            logical_threads,
            options.max_races,
            u8::from(options.determinacy),
            u8::from(role == Role::Test),
        ));
        text.push(folder.join(FINDINGS));
        let mut command = unchecked(session, program, arguments);
        command.env(OPTIONS_VARIABLE, text);
        if let Some(list) = unseen::list(session, program)? {
            command.env(unseen::VARIABLE, list);
        }
        if role == Role::Test && env::var_os(STACK_VARIABLE).is_none() {
            command.env(STACK_VARIABLE, STACK_OF_TESTS);
        }
        if let Some(trace) = &options.record {
            command.env(RECORD_VARIABLE, trace);
        }
        Ok(Checked {
            program,
            subcommand: session.subcommand,
            folder,
            command,
        })
    }

    /// Collects the results after the process has ended.
    pub(crate) fn collect(
        &self,
        test: Option<&str>,
        status: ExitStatus,
        cut_short: Option<CutShort>,
    ) -> Result<Run, Problem> {
        let entries =
            fs::read_dir(&self.folder).map_err(|error| Problem::read(&self.folder, error))?;
        let mut findings: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(FINDINGS))
            .map(|entry| entry.path())
            .collect();
        findings.sort();
        let ended = Ended::from(status);
        Ok(Run {
            program: self.program.to_owned(),
            package: run::package(),
            test: test.map(str::to_owned),
            ended,
            cut_short,
            panicked: None,
            // We ended it, so it has not failed.
            failure: match cut_short {
                Some(_) => None,
                None => ended.failure(self.subcommand),
            },
            findings,
            orders: None,
            checked: true,
        })
    }
}

/// The same process without findings.
pub(crate) fn unchecked(session: &Session, program: &Path, arguments: &[OsString]) -> Command {
    let mut command = match session.users_runner.split_first() {
        Some((runner, its_arguments)) => {
            let mut command = Command::new(runner);
            command.args(its_arguments).arg(program);
            command
        }
        None => Command::new(program),
    };
    command
        .args(arguments)
        .env_remove(OPTIONS_VARIABLE)
        .env_remove(unseen::VARIABLE)
        .env_remove(RECORD_VARIABLE);
    session.leave(&mut command);
    command
}
