//! `finishline check`: one run that answers for every schedule of this input.
//!
//! The text report goes to standard error and the program's output to standard output. Other forms of the report go to
//! standard output, so that they can be piped, and the program's output to standard error.

use crate::options::{CheckOptions, Choice};
use crate::outcome::{DISAGREEMENT, Problem};
use crate::{program, progress};
use finishline_engine::check::{self, CheckError, Question};
use finishline_engine::compare::{self, Said};
use finishline_model::summary::Summary;
use finishline_report::{Format, Style, exit_status};
use std::fs::File;
use std::io::{self, BufWriter, Write};

pub(crate) fn check(options: &CheckOptions) -> Result<u8, Problem> {
    let module = program::compile(&options.program)?;
    let mut question = program::question(&module, &options.program)?;
    question.max_races = options.max_races;
    question.watch.clone_from(&options.watch);
    let detector = match options.detector {
        Choice::One(detector) => detector,
        Choice::Auto | Choice::All => check::choose(&module),
    };
    let mut output: Box<dyn Write> = match (options.format, &options.output) {
        (Format::Text, _) | (_, Some(_)) => Box::new(BufWriter::new(io::stdout().lock())),
        (_, None) => Box::new(BufWriter::new(io::stderr().lock())),
    };
    let quiet = options.program.terminal.quiet;
    let summary = progress::shown(
        quiet,
        "checking",
        &question.progress,
        &mut output,
        |output| check::check(&question, detector, output),
    );
    // Standard error must be free again for the report.
    drop(output);
    let summary = summary.map_err(|error| problem(error, &question))?;
    write_report(&summary, options)?;
    if options.detector == Choice::All && !agreed(&question)? {
        return Ok(DISAGREEMENT);
    }
    Ok(exit_status(&summary))
}

fn problem(error: CheckError, question: &Question) -> Problem {
    match error {
        CheckError::Output(error) => Problem::Output(error),
        CheckError::Refused { used, .. } => {
            let position = question.module.source.position(used.site);
            Problem::Usage(format!(
                "{error} at {position}\nhelp: `--detector esp-bags` can judge all of Fin"
            ))
        }
        CheckError::NothingToWatch(_) => Problem::Usage(format!(
            "{error}\nhelp: locations are called as reports call them, e.g. 'B[3]', p.x, total"
        )),
    }
}

fn write_report(summary: &Summary, options: &CheckOptions) -> Result<(), Problem> {
    let style = options.program.terminal.style();
    match (&options.output, options.format) {
        (Some(path), format) => {
            let written = File::create(path).and_then(|file| {
                let mut file = BufWriter::new(file);
                finishline_report::write(summary, format, Style::default(), &mut file)?;
                file.flush()
            });
            written.map_err(|error| Problem::Write(path.clone(), error))
        }
        (None, Format::Text) => {
            finishline_report::write(summary, Format::Text, style, &mut io::stderr().lock())
                .map_err(Problem::Output)
        }
        (None, format) => {
            let mut out = BufWriter::new(io::stdout().lock());
            let written = finishline_report::write(summary, format, style, &mut out)
                .and_then(|()| out.flush());
            written.map_err(Problem::Output)
        }
    }
}

/// Asks every detector and the oracle; tells on standard error what each said.
fn agreed(question: &Question) -> Result<bool, Problem> {
    let comparison = compare::compare(question).map_err(|error| problem(error, question))?;
    for (detector, said) in &comparison.answers {
        match said {
            Said::Racing(count) => eprintln!("{detector}: {count} racing locations"),
            Said::NotApplicable(used) => {
                eprintln!("{detector}: has no rule for {}", used.construct.word())
            }
            Said::GaveUp(failure) => eprintln!("{detector}: gave up, {failure}"),
        }
    }
    for disagreement in &comparison.disagreements {
        eprintln!("error: {disagreement}");
    }
    if comparison.disagreements.is_empty() {
        eprintln!("the detectors agree");
    } else {
        eprintln!("detectors disagree: this is a bug of Finishline, please report the program");
    }
    Ok(comparison.disagreements.is_empty())
}
