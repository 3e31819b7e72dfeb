//! `finishline prove`: an answer for every input.
//!
//! The program is run only on small cases of the races found. A race that no run confirms is not
//! called a race.

use crate::destination::Destination;
use crate::options::ProveOptions;
use crate::outcome::{Problem, say, shown};
use crate::{program, progress};
use finishline_answer::exit_status;
use finishline_engine::confirm::confirm;
use finishline_poly::{Budget, Detail, Options};
use finishline_report::{Format, Selection, write};

pub(crate) fn prove(options: &ProveOptions) -> Result<u8, Problem> {
    if !options.arguments.is_empty() {
        let (file, words) = (shown(&options.file), options.arguments.join(" "));
        let words = words.escape_debug();
        return Err(Problem::Usage(format!(
            "`prove` answers for all inputs, so it takes no arguments of main: `{words}`\n\
             help: `finishline check {file} {words}` answers for this input"
        )));
    }
    let color = options.terminal.color;
    let program = program::compile(&options.file, color)?;
    let destination = Destination::open(
        options.output.as_deref(),
        &options.file,
        options.format,
        color,
    )?;
    let quiet = options.terminal.quiet;
    let answer = progress::timed(quiet, "proving", || {
        let prover = Options {
            budget: Budget::Time(options.timeout),
            detail: match options.sources || options.format == Format::Json {
                true => Detail::Dataflow,
                false => Detail::Races,
            },
        };
        let mut answer = finishline_poly::prove(&program.hir, &prover).proof;
        confirm(&mut answer, &program.module);
        answer
    });
    let selection = Selection {
        max_findings: options.max_races,
        sources: options.sources,
    };
    destination.write(|style, out| write(&answer, options.format, selection, style, out))?;
    let races = answer.findings.len();
    if !quiet && races > options.max_races {
        say(&format!("note: `--max-races {races}` shows all races"));
    }
    Ok(exit_status(&answer))
}
