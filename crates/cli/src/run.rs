//! `finishline run`: the program alone.

use crate::options::RunOptions;
use crate::outcome::{NOTHING_FOUND, PROGRAM_FAILED, Problem};
use crate::{program, progress};
use finishline_engine::check;
use finishline_engine::question::CheckError;
use finishline_fin::Program;
use finishline_model::Passes;
use std::io::{self, BufWriter};
use std::num::NonZero;
use std::thread;

pub(crate) fn run(options: &RunOptions) -> Result<u8, Problem> {
    let terminal = &options.program.terminal;
    let Program { hir, module } = program::compile(&options.program.file, terminal.color)?;
    let question = program::question(&module, hir, &options.program, Passes::NONE)?;
    if options.program.interpret && options.threads.is_some_and(|threads| threads.get() > 1) {
        let problem = "the interpreter runs on one thread";
        return Err(Problem::Usage(problem.to_owned()));
    }
    let threads = options.threads.map_or_else(all_cores, NonZero::get);
    let mut output = BufWriter::new(io::stdout());
    let result = progress::shown(
        terminal.quiet,
        "running",
        (&question.progress, options.program.unit_of_progress()),
        &mut output,
        |output| check::run(&question, threads, output),
    );
    if !terminal.quiet {
        program::note_interpreted(&question);
    }
    match result {
        Ok(None) => Ok(NOTHING_FOUND),
        Ok(Some(failure)) => {
            finishline_report::write_failure(
                &failure,
                terminal.color.on_standard_error(),
                &mut io::stderr().lock(),
            )
            .map_err(Problem::Output)?;
            Ok(PROGRAM_FAILED)
        }
        Err(CheckError::Output(error)) => Err(Problem::Output(error)),
        Err(error) => Err(Problem::Usage(error.to_string())),
    }
}

/// The number of processors.
pub(crate) fn all_cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}
