//! `finishline analyze`: the answer of `check` about a run that `record` has written to a file.
//!
//! A trace of a native program, by `cargo finishline run --record`, is judged as that program was.
//!
//! The source file is not needed: the trace has everything that a report says. A file that can't be
//! read as a trace is a problem like a source file with errors. A trace whose end is missing,
//! because the run was killed, is judged up to there. With `--partition` there is no report, but a
//! file for [`merge`](crate::merge).

use crate::check::{agreement, disagreement, note_left_out, note_unmatched, suppressions};
use crate::destination::Destination;
use crate::options::{AnalyzeOptions, Choice, MergeOptions};
use crate::outcome::{DISAGREEMENT, NOTHING_FOUND, Problem, say, shown};
use crate::part::{self, AskedTrace, Opening};
use crate::progress;
use finishline_answer::{Answer, exit_status};
use finishline_cargo::recorded::{self as recorded_process, AskedProcess, NoAnswer};
use finishline_engine::partition::Part;
use finishline_engine::recorded::{self, AnalyzeError, Asked, JudgedParts};
use finishline_model::Detector;
use finishline_report::Selection;
use finishline_trace::checksum::checksum;
use finishline_trace::process::ProcessTrace;
use finishline_trace::{Error, Trace};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::AtomicU64;

pub(crate) fn analyze(options: &AnalyzeOptions) -> Result<u8, Problem> {
    if let Some(trace) = open_process(&options.file)? {
        return analyze_process(trace, options);
    }
    if options.determinacy {
        let why = "the trace of a Fin program does not have what `--determinacy` needs\n\
                   help: `finishline check --determinacy` runs the program";
        return Err(Problem::Usage(why.to_owned()));
    }
    let (terminal, report) = (&options.terminal, &options.report);
    let progress = AtomicU64::new(0);
    let detector = match options.detector {
        Choice::One(detector) => Some(detector),
        Choice::Auto | Choice::All => None,
    };
    let asked = |suppressions| Asked {
        detector,
        max_races: options.races.max_races(),
        suppressions,
        judged: None,
        progress: &progress,
    };
    let problem = |error| problem(error, &options.file);
    if let Some(part) = options.partition {
        return write_part(options, &asked(None), part);
    }
    let trace = open(&options.file)?;
    let suppressions = suppressions(&options.races)?;
    let destination = Destination::open(
        report.output.as_deref(),
        &options.file,
        report.format,
        terminal.color,
    )?;
    let done_so_far = (&progress, "accesses");
    let answer = progress::shown(
        terminal.quiet,
        "analyzing",
        done_so_far,
        &mut io::sink(),
        |_| recorded::analyze(trace, asked(suppressions)),
    );
    let answer = answer.map_err(problem)?;
    let comparison = match options.detector {
        Choice::All => {
            let trace = open(&options.file)?;
            Some(recorded::compare(trace, &asked(None)).map_err(problem)?)
        }
        Choice::Auto | Choice::One(_) => None,
    };
    if let Some(disagreement) = comparison.as_ref().and_then(disagreement) {
        say(&disagreement);
        return Ok(DISAGREEMENT);
    }
    let all = Selection::default();
    destination
        .write(|style, out| finishline_report::write(&answer, report.format, all, style, out))?;
    if !terminal.quiet {
        note_unmatched(&answer);
        note_left_out(&answer, options.races.max_races());
    }
    if let Some(comparison) = &comparison {
        say(&agreement(comparison));
    }
    Ok(exit_status(&answer))
}

/// The trace of a native process, if the file is one.
fn open_process(path: &Path) -> Result<Option<ProcessTrace<BufReader<File>>>, Problem> {
    let file = open_file(path)?;
    recorded_process::open_process(file).map_err(|error| unreadable(error, path))
}

/// The answer of `cargo finishline run`.
fn analyze_process(
    mut trace: ProcessTrace<BufReader<File>>,
    options: &AnalyzeOptions,
) -> Result<u8, Problem> {
    let (terminal, report) = (&options.terminal, &options.report);
    let refuse = |what: &str| {
        let why = format!("the trace of a native program {what}");
        Err(Problem::Usage(why))
    };
    if options.detector != Choice::Auto {
        return refuse("is judged by the detector that `cargo finishline` has");
    }
    if options.partition.is_some() {
        return refuse("is judged as a whole, and has no parts");
    }
    let suppressions = suppressions(&options.races)?;
    let destination = Destination::open(
        report.output.as_deref(),
        &options.file,
        report.format,
        terminal.color,
    )?;
    let asked = AskedProcess {
        determinacy: options.determinacy,
        max_races: options.races.wanted_races(),
        suppressions: suppressions.as_ref(),
    };
    let answer = recorded_process::analyze(&mut trace, &asked).map_err(|error| match error {
        NoAnswer::Trace(error) => unreadable(error, &options.file),
        NoAnswer::Other(why) => Problem::Usage(format!("{}: {why}", shown(&options.file))),
    })?;
    let all = Selection::default();
    destination
        .write(|style, out| finishline_report::write(&answer, report.format, all, style, out))?;
    if !terminal.quiet {
        note_unmatched(&answer);
        if trace.names.is_none() {
            say("note: the trace has no names, because its recording was not completed");
        }
    }
    Ok(exit_status(&answer))
}

/// What a part found.
#[derive(Serialize, Deserialize)]
pub(crate) struct PartRecord {
    pub(crate) racing: Vec<u64>,
    pub(crate) isolated_conflict: bool,
    pub(crate) overlap: bool,
}

/// Judges some of the locations, and writes what was found.
fn write_part(options: &AnalyzeOptions, asked: &Asked<'_>, part: Part) -> Result<u8, Problem> {
    if options.detector == Choice::All {
        let why = "`--detector all` compares whole answers, and has no parts";
        return Err(Problem::Usage(why.to_owned()));
    }
    // There is always one: `--partition` requires it.
    let path = options
        .report
        .output
        .as_deref()
        .unwrap_or(Path::new("part"));
    let write = |error| Problem::Write(path.to_owned(), error);
    let trace = open(&options.file)?;
    let detector = asked.detector.map(|detector| detector.name().to_owned());
    let opening = Opening::new(
        part::Asked::Analyze(self::asked(&options.file, detector)?),
        Some(part),
    );
    let mut file = File::create(path).map_err(write)?;
    let judged = progress::shown(
        options.terminal.quiet,
        "analyzing",
        (asked.progress, "accesses"),
        &mut io::sink(),
        |_| recorded::analyze_part(trace, asked, part),
    );
    let judged = judged.map_err(|error| problem(error, &options.file))?;
    let judged = judged.map_err(|failure| {
        Problem::Usage(format!("the detector could not judge this run: {failure}"))
    })?;
    let record = PartRecord {
        racing: judged.racing.iter().map(|location| location.0).collect(),
        isolated_conflict: judged.isolated_conflict,
        overlap: judged.overlap,
    };
    let text = part::written(&opening, std::iter::once(part::line(&record)));
    file.write_all(text.as_bytes()).map_err(write)?;
    Ok(NOTHING_FOUND)
}

/// So many bytes at the beginning and at the end of a trace tell it from others. The end has the
/// checksums of what came before.
const TELLING: u64 = 1 << 20;

/// What is asked about a trace.
pub(crate) fn asked(path: &Path, detector: Option<String>) -> Result<AskedTrace, Problem> {
    let read = || -> io::Result<(u64, u32)> {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let (mut begin, mut end) = (Vec::new(), Vec::new());
        (&mut file).take(TELLING).read_to_end(&mut begin)?;
        file.seek(SeekFrom::Start(bytes.saturating_sub(TELLING)))?;
        file.take(TELLING).read_to_end(&mut end)?;
        Ok((bytes, checksum(&[&begin, &end])))
    };
    let (bytes, checksum) = read().map_err(|error| Problem::Read(path.to_owned(), error))?;
    Ok(AskedTrace {
        trace: path.to_string_lossy().into_owned(),
        bytes,
        checksum,
        detector,
    })
}

/// The answer of all parts together.
pub(crate) fn judged(
    path: &Path,
    asked: &AskedTrace,
    judged: JudgedParts,
    options: &MergeOptions,
) -> Result<Answer, Problem> {
    let asked = Asked {
        detector: asked.detector.as_deref().and_then(Detector::from_name),
        max_races: options.races.max_races(),
        suppressions: suppressions(&options.races)?,
        judged: Some(judged),
        progress: &AtomicU64::new(0),
    };
    recorded::analyze(open(path)?, asked).map_err(|error| problem(error, path))
}

pub(crate) fn open(path: &Path) -> Result<Trace<BufReader<File>>, Problem> {
    let file = open_file(path)?;
    Trace::open(BufReader::new(file)).map_err(|error| unreadable(error, path))
}

/// Opens the file of a trace. It is read several times, so it can't be a pipe.
fn open_file(path: &Path) -> Result<File, Problem> {
    let problem = |error| Problem::Read(path.to_owned(), error);
    match fs::metadata(path).map_err(problem)?.is_file() {
        true => File::open(path).map_err(problem),
        false => Err(Problem::Usage(format!(
            "{} is no file: a trace is read more than once",
            shown(path)
        ))),
    }
}

fn unreadable(error: Error, path: &Path) -> Problem {
    match error {
        Error::Io(error) => Problem::Read(path.to_owned(), error),
        other => Problem::Trace(path.to_owned(), other),
    }
}

pub(crate) fn problem(error: AnalyzeError, path: &Path) -> Problem {
    match error {
        AnalyzeError::Trace(error) => unreadable(error, path),
        AnalyzeError::Refused(error, position) => Problem::Usage(format!(
            "{error} at {position}\nhelp: `--detector auto` picks one that can judge the whole program"
        )),
    }
}
