//! The commands that the user starts: `cargo finishline run`, `test`, `nextest`, `build` and
//! `clean`.

use crate::course::Event;
use crate::options::{Options, Request, Subcommand};
use crate::report::Reporter;
use crate::run::Ended;
use crate::runtime::Runtime;
use crate::session::{CommandLine, Compiler, Session};
use crate::settings::{self, Configured};
use crate::toolchain::{Toolchain, WhereCargoReads};
use crate::trace_file::TraceFile;
use crate::ward::{Ending, Ward};
use crate::{BAD_USAGE, Problem, RACE, nextest, recorded, runner};
use finishline_answer::partition;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Our folder in cargo's target directory.
const OUR_TARGET: &str = "finishline";

/// Executes the request and returns the exit status.
pub(crate) fn execute(request: &Request) -> Result<u8, Problem> {
    let mut given = CargoArguments::read(&request.cargo)?;
    let toolchain = Toolchain::find(&given.place)?;
    let command_of_nextest = match request.subcommand {
        Subcommand::Nextest => Some(nextest::command(&toolchain, &mut given.rest)?),
        _ => None,
    };
    if let Some(target) = &given.target
        && *target != *toolchain.host
    {
        return Err(Problem::new(format!(
            "programs are checked where they are built, on {}, not on {}",
            toolchain.host,
            Path::new(target).display()
        )));
    }
    let workspace = toolchain.workspace(&given.place)?;
    let base = match &given.target_directory {
        Some(directory) => {
            std::path::absolute(directory).map_err(|error| Problem::read(directory, error))?
        }
        None => workspace.target_directory.clone(),
    };
    let ours = base.join(OUR_TARGET);
    if request.subcommand == Subcommand::Clean {
        return clean(&ours);
    }

    // Report mistakes in the user's files before anything is built.
    let configured = settings::read(&workspace, &request.cargo)?;
    let runtime = Runtime::prepare(&toolchain, request.options.quiet)?;
    let target = ours.join(&runtime.key);
    let directory = tempfile::Builder::new().prefix("finishline-").tempdir();
    let directory = directory.map_err(|error| Problem::write(&env::temp_dir(), error))?;
    let tool = env::current_exe()
        .map_err(|error| Problem::new(format!("can't find this tool's own executable: {error}")))?;
    let runner = runner(&tool, directory.path())?;
    let changed: [(&str, &OsStr); 4] = [
        ("RUSTC_WRAPPER", tool.as_os_str()),
        ("RUSTDOC", tool.as_os_str()),
        ("CARGO_BUILD_BUILD_DIR", target.as_os_str()),
        (&runner_variable(&toolchain.host), &runner),
    ];
    let features = features(&configured);
    let mut options = absolute(&request.options)?;
    let trace = TraceFile::prepare(&options)?;
    options.record = trace.as_ref().map(|trace| trace.unfinished().to_owned());
    let session = Session {
        directory: directory.path().to_owned(),
        subcommand: request.subcommand,
        command: command_line(request, &features, given.partition.as_ref())?,
        options,
        compiler: Compiler {
            stable: !toolchain.is_nightly() && env::var_os("RUSTC_BOOTSTRAP").is_none(),
            users_wrapper: toolchain.users_wrapper(&given.place).map(PathBuf::from),
            drop_in: runtime.drop_in,
            rayon_file: runtime.rayon_file,
            overlays: runtime.overlays,
            compile_arguments: runtime.compile_arguments,
            link_arguments: runtime.link_arguments,
        },
        users_runner: toolchain.users_runner(&given.place),
        workspace: workspace.workspace_root,
        configured,
        users_environment: changed
            .map(|(name, _)| (name.to_owned(), env::var(name).ok()))
            .to_vec(),
    };

    let mut cargo = Command::new(&toolchain.cargo);
    cargo
        .arg(request.subcommand.name())
        .args(&command_of_nextest)
        .args(["--target", &toolchain.host])
        .arg("--target-dir")
        .arg(&target);
    cargo.args(&given.rest).args(&features).envs(changed);
    cargo.args(["--color", request.options.color.name()]);
    if request.options.quiet {
        cargo.arg(match request.subcommand {
            Subcommand::Nextest => nextest::QUIET,
            _ => "--quiet",
        });
    }
    if !request.program.is_empty() {
        cargo.arg("--").args(&request.program);
    }
    let going_on = Arc::new(Mutex::new(Some(session.open(&mut cargo)?)));
    if command_of_nextest.is_some_and(|command| command == nextest::LIST) {
        session.record(&Event::OnlyAsked)?;
    }
    let is_reported = runner::outlive_interrupts()?;
    // Report mistakes in the files of suppressions before the build, not after it.
    Reporter::new(&session)?;
    let directory = session.directory.clone();
    let interrupt = move || {
        Session::interrupt(&directory);
        // The runners take that as the end of the session.
        drop(going_on.lock().map(|mut file| file.take()));
    };
    let ward = Ward::listen(&[SIGINT, SIGTERM, SIGHUP], interrupt.clone())?;
    let child = cargo.spawn();
    let ending = match request.subcommand {
        Subcommand::Nextest => nextest::ENDING,
        _ => Ending::PassOn,
    };
    let waited = child.and_then(|child| ward.wait(child, ending, None));
    let (status, _) = waited.map_err(|error| Problem::start(&toolchain.cargo, error))?;
    if status.signal().is_some() {
        // Cargo may have died of the terminal's interrupt before this process has heard of it.
        interrupt();
    }
    session.wait_for_runners();
    conclude(&session, trace, &is_reported, status)
}

/// Reports the results of the runners.
fn conclude(
    session: &Session,
    trace: Option<TraceFile>,
    is_reported: &AtomicBool,
    cargo: ExitStatus,
) -> Result<u8, Problem> {
    let mut course = session.course()?;
    // If cargo has succeeded, the interrupt came after everything else.
    course.interrupted = session.is_interrupted() && !cargo.success();
    if course.runs.is_empty() {
        let is_to_run = !course.only_asked && !session.command.only_builds();
        match (session.subcommand, cargo.success()) {
            (Subcommand::Run, true) => {
                return Err(Problem::new(
                    "the program was not checked: cargo was told to start it in another way",
                ));
            }
            // The report says that nothing was checked.
            (subcommand, true) if subcommand.tests() && is_to_run => {}
            (subcommand, false) if subcommand.tests() && course.interrupted => {}
            (Subcommand::Nextest, false) if cargo.code() == Some(nextest::NO_TESTS) => {}
            (_, true) => return Ok(0),
            // Cargo has said why there is nothing to run.
            (_, false) => return Ok(BAD_USAGE),
        }
    }
    let reporter = Reporter::new(session)?;
    let reported = reporter.conclude(&course);
    is_reported.store(true, Ordering::Relaxed);
    let recorded = match (trace, &*course.runs) {
        (Some(trace), [ended, ..]) => recorded::complete(&trace, &ended.run, &reporter),
        (_, _) => Ok(()),
    };
    let status = match (reported?, recorded) {
        // A race matters more.
        (RACE, Err(problem)) => {
            problem.tell();
            RACE
        }
        (status, recorded) => recorded.map(|()| status)?,
    };
    let all_fine = !course.interrupted
        && (course.runs.iter()).all(|ended| ended.run.ended == Ended::Exited(0))
        && status == 0;
    Ok(match all_fine && !cargo.success() {
        // Another test program could not be run.
        true => BAD_USAGE,
        false => status,
    })
}

/// The arguments of cargo for the features in the packages' settings.
fn features(configured: &[Configured]) -> Vec<String> {
    let features = configured.iter().flat_map(
        |Configured {
             package, settings, ..
         }| {
            let features = settings.features.iter();
            features.map(move |feature| format!("--features={package}/{feature}"))
        },
    );
    features.collect()
}

fn clean(ours: &Path) -> Result<u8, Problem> {
    match fs::remove_dir_all(ours) {
        Ok(()) => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(Problem::write(ours, error)),
    }
}

/// The user's command line, without options that only say where the report goes.
fn command_line(
    request: &Request,
    features: &[String],
    partition_of_nextest: Option<&String>,
) -> Result<CommandLine, Problem> {
    let here = env::current_dir()
        .map_err(|error| Problem::new(format!("can't find the current directory: {error}")))?;
    let text = |words: &[OsString]| {
        words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
    };
    let mut before = ["cargo", "finishline", request.subcommand.name()]
        .map(str::to_owned)
        .to_vec();
    let cargo = text(&request.cargo);
    let (cargo, partition) = match partition_of_nextest {
        Some(part) => (without_partition(&cargo), Some(part.clone())),
        None => (
            cargo,
            request.options.partition.map(|part| part.to_string()),
        ),
    };
    before.extend(request.options.of_the_run());
    before.extend_from_slice(&cargo);
    let mut unchecked = ["cargo", request.subcommand.name()]
        .map(str::to_owned)
        .to_vec();
    unchecked.extend(cargo);
    unchecked.extend_from_slice(features);
    Ok(CommandLine {
        directory: here.to_string_lossy().into_owned(),
        before,
        unchecked,
        after: text(&request.program),
        partition: partition.map(|part| partition::OPTION.to_owned() + &part),
    })
}

/// The arguments for nextest without the part, which is given as `--partition=PART` or as two
/// words.
fn without_partition(words: &[String]) -> Vec<String> {
    let mut left = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--partition" {
            words.next();
        } else if !word.starts_with(partition::OPTION) {
            left.push(word.clone());
        }
    }
    left
}

/// Makes paths absolute, because not all parts run in the user's directory.
fn absolute(options: &Options) -> Result<Options, Problem> {
    let mut options = options.clone();
    let paths = [
        &mut options.output,
        &mut options.suppressions,
        &mut options.baseline,
        &mut options.write_baseline,
        &mut options.record,
    ];
    for path in paths.into_iter().flatten() {
        *path = std::path::absolute(&*path).map_err(|error| Problem::read(path, error))?;
    }
    Ok(options)
}

/// The environment variable for the runner. It overrides the user's configuration. A setting by
/// `--config` would be merged with that instead.
fn runner_variable(host: &str) -> String {
    let host = host.to_uppercase().replace(['-', '.'], "_");
    format!("CARGO_TARGET_{host}_RUNNER")
}

/// The runner for cargo. Cargo splits the text at spaces, so the tool's path must not contain any.
fn runner(tool: &Path, directory: &Path) -> Result<OsString, Problem> {
    let has_space = |path: &Path| path.as_os_str().as_encoded_bytes().contains(&b' ');
    let mut runner = match has_space(tool) {
        false => tool.to_owned(),
        true => {
            let link = directory.join("cargo-finishline");
            symlink(tool, &link).map_err(|error| Problem::write(&link, error))?;
            link
        }
    };
    if has_space(&runner) {
        return Err(Problem::new(format!(
            "cargo can't call {}, because of the space in its path",
            runner.display()
        )));
    }
    runner.as_mut_os_string().push(" ");
    runner.as_mut_os_string().push(runner::MARK);
    Ok(runner.into())
}

/// The arguments for cargo, without those that we decide.
#[derive(Default)]
struct CargoArguments {
    target: Option<OsString>,
    target_directory: Option<PathBuf>,
    place: WhereCargoReads,
    /// The part of the tests that nextest is to run, such as `hash:1/2`. Cargo has no such option.
    partition: Option<String>,
    rest: Vec<OsString>,
}

impl CargoArguments {
    fn read(arguments: &[OsString]) -> Result<CargoArguments, Problem> {
        let mut read = CargoArguments::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value_of = |name: &str| value(argument, name, &mut arguments);
            if let Some(target) = value_of("--target")? {
                read.target = Some(target);
            } else if let Some(directory) = value_of("--target-dir")? {
                read.target_directory = Some(directory.into());
            } else if let Some(setting) = value_of("--config")? {
                read.place
                    .arguments
                    .extend(["--config".into(), setting.clone()]);
                read.rest.extend(["--config".into(), setting]);
            } else if let Some(path) = value_of("--manifest-path")? {
                read.place
                    .manifest
                    .extend(["--manifest-path".into(), path.clone()]);
                read.rest.extend(["--manifest-path".into(), path]);
            } else if let Some(part) = value_of("--partition")? {
                read.partition = Some(part.to_string_lossy().into_owned());
                read.rest.extend(["--partition".into(), part]);
            } else {
                read.rest.push(argument.clone());
            }
        }
        Ok(read)
    }
}

/// The value of an option, given as `--name value` or `--name=value`.
fn value<'a>(
    argument: &OsStr,
    name: &str,
    rest: &mut impl Iterator<Item = &'a OsString>,
) -> Result<Option<OsString>, Problem> {
    if argument == name {
        let value = rest.next().cloned();
        let missing = || Problem::new(format!("{name} wants a value"));
        return value.map(Some).ok_or_else(missing);
    }
    let Some(text) = argument.to_str() else {
        return Ok(None);
    };
    let value = text
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('='));
    Ok(value.map(OsString::from))
}
