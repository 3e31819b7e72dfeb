//! Recorded processes: names for the trace that a process has written, and the answer that a trace
//! gives later, elsewhere.
//!
//! The process writes the trace itself, with addresses only. When it has ended, the trace is
//! checked here once more. That shows whether it repeats the run, and which addresses need names.
//! With the names added, neither the executable nor the sources are needed for a report.

use crate::Problem;
use crate::report::Reporter;
use crate::run::Run;
use crate::trace_file::TraceFile;
use finishline_answer::Answer;
use finishline_answer::suppressions::Suppressions;
use finishline_model::findings::FindingsFile;
use finishline_native::checker::replay::{ReplayError, Replayed, replay};
use finishline_symbols::{Executables, Findings, KeptNames, Question};
use finishline_trace::Error;
use finishline_trace::process::ProcessTrace;
use nix::sys::sysinfo::sysinfo;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// What a report says about a process that the process did not know.
#[derive(Serialize, Deserialize)]
struct Kept {
    program: String,
    directory: String,
    replay: String,
    failure: Option<String>,
    /// The command that runs the same without checks. Traces of earlier versions don't have it.
    #[serde(default)]
    unchecked: String,
    status: u8,
    names: KeptNames,
}

/// Adds names to the trace of a run, and puts it in its place.
pub(crate) fn complete(file: &TraceFile, run: &Run, reporter: &Reporter) -> Result<(), Problem> {
    let path = file.unfinished();
    if !path.exists() {
        return Err(Problem::new(
            "there is no trace: the program did not get to write one",
        ));
    }
    let named = add_names(path, run, reporter);
    file.finish()?;
    named?;
    if run.findings.len() > 1 {
        reporter.note("the trace is that of the first process alone");
    }
    Ok(())
}

fn add_names(path: &Path, run: &Run, reporter: &Reporter) -> Result<(), Problem> {
    let unusable = |why: &dyn std::fmt::Display| {
        Problem::new(format!("the trace is not as it should be: {why}"))
    };
    let file = File::options().read(true).write(true).open(path);
    let file = file.map_err(|error| Problem::read(path, error))?;
    let mut trace = ProcessTrace::open(&file).map_err(|error| unusable(&error))?;
    let mut replayed = replay(&mut trace, memory()).map_err(|error| unusable(&error))?;
    let is_whole = trace.end.as_ref().is_some_and(|end| !end.goes_on);
    let own = own_findings(run, trace.start.process);
    let repeated = match &own {
        Some(own) if is_whole => repeats(own, &mut replayed, reporter),
        Some(own) if own.complete => Err(
            "it ends before the run did; either it could not be written, or the program \
                 became another one",
        ),
        _ => Ok(()),
    };
    let findings = FindingsFile {
        reached_unseen: own.and_then(|own| own.reached_unseen.clone()),
        ..replayed.findings(true, usize::MAX)
    };
    let findings = parsed(&findings).map_err(|why| unusable(&why))?;
    let names = reporter.asking(run, run.failure.as_deref(), |question| {
        let question = Question {
            unseen: reporter.unseen(&findings),
            unsafe_code: reporter.unsafe_code(&findings),
            suppressions: None,
            ..question
        };
        let (_, names) = finishline_symbols::symbolise_and_keep(&findings, &question);
        Kept {
            program: question.program.to_owned(),
            directory: question.directory.to_owned(),
            replay: question.replay.to_owned(),
            failure: question.failure.map(str::to_owned),
            unchecked: question.unchecked.to_owned(),
            status: question.status,
            names,
        }
    });
    let text = serde_json::to_string(&names).map_err(|error| unusable(&error))?;
    let length = trace.length();
    if let Err(error) = trace.add_names(&text) {
        // Without names it can still be read.
        let _ = file.set_len(length);
        return Err(unusable(&error));
    }
    repeated.map_err(|why| unusable(&why))
}

/// The findings of the process itself. The run may have started the same executable again.
fn own_findings(run: &Run, process: u32) -> Option<Findings> {
    run.findings.iter().find_map(|path| {
        let findings = finishline_symbols::read(path).ok()?;
        (findings.process == u64::from(process)).then_some(findings)
    })
}

/// How many bytes the check of a trace may take for what it remembers of the process's memory:
/// three quarters of what the machine has.
fn memory() -> usize {
    let memory = sysinfo().map_or(u64::MAX, |about| about.ram_total() / 4 * 3);
    usize::try_from(memory).unwrap_or(usize::MAX)
}

/// Whether the trace gives what the process itself has found.
fn repeats(
    own: &Findings,
    replayed: &mut Replayed,
    reporter: &Reporter,
) -> Result<(), &'static str> {
    if own.complete && replayed.failure().is_some() {
        return Err("there is not enough memory here to check it again");
    }
    let (determinacy, max_races) = reporter.listed();
    // The checker is not told of what it does not see.
    let again = FindingsFile {
        reached_unseen: own.reached_unseen.clone(),
        ..replayed.findings(determinacy, max_races)
    };
    match again == **own {
        true => Ok(()),
        false => Err("it does not repeat the run, which is a mistake of Finishline"),
    }
}

fn parsed(file: &FindingsFile) -> Result<Findings, finishline_symbols::Unusable> {
    finishline_symbols::parse(file.text().as_bytes())
}

/// What is asked about a recorded process.
#[derive(Debug)]
pub struct AskedProcess<'a> {
    pub determinacy: bool,
    /// If it is not given, as many as the run was asked for.
    pub max_races: Option<usize>,
    pub suppressions: Option<&'a Suppressions>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    Trace(Error),
    /// Another reason, in a sentence.
    Other(String),
}

/// The trace of a process, if the file is one.
pub fn open_process(file: File) -> Result<Option<ProcessTrace<BufReader<File>>>, Error> {
    let mut input = BufReader::new(file);
    match finishline_trace::process::read::is_of_process(&mut input)? {
        true => ProcessTrace::open(input).map(Some),
        false => Ok(None),
    }
}

/// The answer of `cargo finishline run` about a recorded process.
pub fn analyze<R: Read + Seek>(
    trace: &mut ProcessTrace<R>,
    asked: &AskedProcess,
) -> Result<Answer, NoAnswer> {
    let other = |why: &dyn std::fmt::Display| NoAnswer::Other(why.to_string());
    let mut replayed = replay(trace, memory()).map_err(|error| match error {
        ReplayError::Trace(error) => NoAnswer::Trace(error),
        ReplayError::Failure(failure) => other(&failure),
    })?;
    let most = asked.max_races.unwrap_or(usize::MAX);
    let findings = replayed.findings(asked.determinacy, most);
    let Some(text) = &trace.names else {
        // Whoever started the process did not get to add them. Perhaps the files are still there.
        let began = trace.start.began;
        let mut findings = findings;
        findings
            .modules
            .retain(|module| is_older(&module.path, began));
        let findings = parsed(&findings).map_err(|why| other(&why))?;
        let question = Question {
            suppressions: asked.suppressions,
            unseen: Executables::default().unseen(&findings, Path::new(&findings.directory)),
            ..Question::default()
        };
        return Ok(finishline_symbols::symbolise(&findings, &question));
    };
    let wrong = |error| other(&format!("the names in the trace make no sense: {error}"));
    let kept: Kept = serde_json::from_str(text).map_err(wrong)?;
    let findings = parsed(&findings).map_err(|why| other(&why))?;
    let question = Question {
        directory: &kept.directory,
        program: &kept.program,
        test: None,
        replay: &kept.replay,
        failure: kept.failure.as_deref(),
        panicked: None,
        executable: "",
        unchecked: &kept.unchecked,
        cut_short: None,
        status: kept.status,
        suppressions: asked.suppressions,
        baseline: None,
        unseen: kept.names.unseen(),
        unsafe_code: kept.names.unsafe_code(),
    };
    Ok(finishline_symbols::symbolise_by(
        &findings,
        &question,
        &kept.names,
    ))
}

/// Whether a file has not changed since a time, in nanoseconds since 1970.
fn is_older(path: &str, time: u64) -> bool {
    let changed = fs::metadata(path).and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| changed <= UNIX_EPOCH + Duration::from_nanos(time))
}
