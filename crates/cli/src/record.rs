//! `finishline record`: runs a program and writes a trace of the run.
//!
//! The program's output goes to standard output, as with `run`. Nothing is judged for the user:
//! `analyze` does that, whenever and wherever. The exit status tells only whether the program
//! failed.

use crate::destination::spare;
use crate::options::RecordOptions;
use crate::outcome::{NOTHING_FOUND, PROGRAM_FAILED, Problem, shown};
use crate::{program, progress};
use finishline_engine::record::{self, RecordError};
use finishline_fin::Program;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::Path;

pub(crate) fn record(options: &RecordOptions) -> Result<u8, Problem> {
    let terminal = &options.program.terminal;
    let Program { hir, module } = program::compile(&options.program.file, terminal.color)?;
    let question = program::question(&module, hir, &options.program, options.checks.passes)?;
    let why = "it is the program: the trace needs another file";
    spare(&options.program.file, &options.output, why)?;
    let file = open(&options.output)?;
    let mut output = BufWriter::new(io::stdout());
    let recording = progress::shown(
        terminal.quiet,
        "recording",
        (&question.progress, options.program.unit_of_progress()),
        &mut output,
        |output| record::record(&question, &file, output),
    );
    let recording = recording.map_err(|error| match error {
        RecordError::Trace(error) => Problem::Write(options.output.clone(), error),
        RecordError::Output(error) => Problem::Output(error),
    })?;
    if !terminal.quiet {
        program::note_interpreted(&question);
    }
    match recording.failure {
        None => Ok(NOTHING_FOUND),
        Some(failure) => {
            finishline_report::write_failure(
                &failure,
                terminal.color.on_standard_error(),
                &mut io::stderr().lock(),
            )
            .map_err(Problem::Output)?;
            Ok(PROGRAM_FAILED)
        }
    }
}

/// Opens the file of a trace. It is read, too, so it can't be a pipe.
fn open(path: &Path) -> Result<File, Problem> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(true);
    let problem = |error| Problem::Write(path.to_owned(), error);
    let file = options.open(path).map_err(problem)?;
    match file.metadata().map_err(problem)?.is_file() {
        true => Ok(file),
        false => Err(Problem::Usage(format!(
            "{} is no file: a trace is read again while it is written",
            shown(path)
        ))),
    }
}
