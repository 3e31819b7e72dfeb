//! `finishline check`: one run that answers for every schedule of this input.
//!
//! The text report goes to standard error and the program's output to standard output. Other forms
//! of the report go to standard output, so that they can be piped. Then the program's output goes
//! to standard error. If there is a verdict, it decides the exit status, even if the reader of the
//! report has closed the pipe early.

use crate::destination::Destination;
use crate::options::{CheckOptions, Choice, RacesOptions};
use crate::outcome::{DISAGREEMENT, Problem, say};
use crate::{program, progress};
use finishline_answer::finding::SuppressionEntry;
use finishline_answer::{Answer, exit_status};
use finishline_engine::check;
use finishline_engine::compare::{self, Comparison, Said};
use finishline_engine::determinacy;
use finishline_engine::executor::on_threads;
use finishline_engine::question::{CheckError, Question};
use finishline_engine::suppressions::Suppressions;
use finishline_fin::Program;
use finishline_model::Detector;
use finishline_report::Selection;
use std::fs;
use std::io::{self, BufWriter, Write};

pub(crate) fn check(options: &CheckOptions) -> Result<u8, Problem> {
    let Program { hir, module } =
        program::compile(&options.program.file, options.program.terminal.color)?;
    let mut question = program::question(&module, hir, &options.program, options.checks.passes)?;
    question.max_races = options.races.max_races();
    question.suppressions = suppressions(&options.races)?;
    question.watch.clone_from(&options.watch);
    question.schedule.clone_from(&options.schedule);
    let detector = match options.detector {
        Choice::Auto | Choice::One(Detector::Finishline) if options.schedule.is_some() => {
            Detector::Finishline
        }
        _ if options.schedule.is_some() => {
            let problem =
                "with `--schedule` the detector is finishline: the others follow depth-first runs";
            return Err(Problem::Usage(problem.to_owned()));
        }
        Choice::One(detector) => detector,
        Choice::Auto if options.threads.get() > 1 => Detector::Finishline,
        Choice::Auto | Choice::All => check::choose(&module),
    };
    if options.threads.get() > 1 {
        if options.detector == Choice::All || options.program.interpret {
            let problem = "on several threads there is one detector, and the program is compiled";
            return Err(Problem::Usage(problem.to_owned()));
        }
        if !on_threads(detector) {
            let all = Detector::ALL.into_iter().filter(|it| on_threads(*it));
            let all: Vec<&str> = all.map(Detector::name).collect();
            let all = all.join(", ");
            let problem = format!("{detector} follows runs on one thread; on several: {all}");
            return Err(Problem::Usage(problem));
        }
        question.forms = question.forms.with_threads(options.threads.get());
    }
    let terminal = &options.program.terminal;
    let report = Destination::open(
        options.report.output.as_deref(),
        &options.program.file,
        options.report.format,
        terminal.color,
    )?;
    let mut output = Lenient::new(&report);
    let quiet = terminal.quiet;
    let answer = progress::shown(
        quiet,
        "checking",
        (&question.progress, options.program.unit_of_progress()),
        &mut output,
        |output| check::check(&question, detector, output),
    );
    // Standard error must be free again for the report.
    let lost = output.end();
    let mut answer = answer.map_err(|error| problem(error, &question))?;
    if options.determinacy {
        match determinacy::conflicts(&question) {
            Ok(conflicts) => {
                answer.findings.extend(conflicts.findings);
                answer.distinct += conflicts.count as u64;
            }
            Err(why) => say(&format!("warning: {why}")),
        }
    }
    let comparison = match options.detector {
        Choice::All => Some(compare(&question)?),
        Choice::Auto | Choice::One(_) => None,
    };
    if let Some(disagreement) = comparison.as_ref().and_then(disagreement) {
        say(&disagreement);
        return Ok(DISAGREEMENT);
    }
    let all = Selection::default();
    report.write(|style, out| {
        finishline_report::write(&answer, options.report.format, all, style, out)
    })?;
    if let Some(error) = lost {
        say(&format!(
            "warning: what the program prints was lost: {error}"
        ));
    }
    if !quiet {
        program::note_interpreted(&question);
        note_unmatched(&answer);
        note_left_out(&answer, options.races.max_races());
        note_unknown_location(&answer, options.watch.as_deref());
    }
    if let Some(comparison) = &comparison {
        say(&agreement(comparison));
    }
    Ok(exit_status(&answer))
}

/// Reads the file of suppressions, if there is one.
pub(crate) fn suppressions(options: &RacesOptions) -> Result<Option<Suppressions>, Problem> {
    let Some(path) = &options.suppressions else {
        return Ok(None);
    };
    let text = fs::read_to_string(path).map_err(|error| Problem::Read(path.to_owned(), error))?;
    let read = Suppressions::parse(&path.to_string_lossy(), &text);
    read.map(Some).map_err(|mistakes| {
        let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Problem::Usage(told.join("\nerror: "))
    })
}

/// Notes suppressions that match nothing. They may have outlived their race.
pub(crate) fn note_unmatched(answer: &Answer) {
    if let Some(suppressed) = &answer.suppressed {
        for SuppressionEntry { line, text } in &suppressed.unmatched {
            let (file, text) = (&suppressed.file, text.escape_debug());
            say(&format!(
                "note: {file}:{line}: `{text}` matches no race of this run"
            ));
        }
    }
}

/// Notes races that `--max-races` left out.
pub(crate) fn note_left_out(answer: &Answer, max_races: usize) {
    let wanted = (answer.distinct).saturating_sub(answer.suppressed_count());
    let shown = answer.findings.len();
    if wanted > shown as u64 && shown == max_races {
        say(&format!("note: `--max-races {wanted}` shows all races"));
    }
}

/// Notes a `--watch` name that no location has.
fn note_unknown_location(answer: &Answer, watch: Option<&str>) {
    let watched = answer.check().and_then(|check| check.watched.as_ref());
    if let (Some(name), None) = (watch, watched) {
        let name = name.escape_debug();
        say(&format!(
            "note: no location of this run is called `{name}`; locations are called as reports call them, e.g. 'B[3]', p.x, total"
        ));
    }
}

pub(crate) fn problem(error: CheckError, question: &Question) -> Problem {
    match error {
        CheckError::Output(error) => Problem::Output(error),
        CheckError::Schedule(departure) => Problem::Usage(departure.to_string()),
        CheckError::Refused { used, .. } => {
            let position = question.module.source.position(used.site);
            Problem::Usage(format!(
                "{error} at {position}\nhelp: `--detector auto` picks one that can judge the whole program"
            ))
        }
    }
}

/// The program's output. If it can't be written, the run goes on: the verdict does not depend on
/// it.
struct Lenient {
    output: Box<dyn Write + Send>,
    failed: Option<io::Error>,
}

impl Lenient {
    fn new(report: &Destination) -> Self {
        let output: Box<dyn Write + Send> = match report {
            Destination::StandardOutput => Box::new(BufWriter::new(io::stderr())),
            Destination::File(..) | Destination::StandardError(_) => {
                Box::new(BufWriter::new(io::stdout()))
            }
        };
        Lenient {
            output,
            failed: None,
        }
    }

    /// The error that lost output. None if nothing was lost or the reader went away.
    fn end(mut self) -> Option<io::Error> {
        let _ = self.flush();
        self.failed
            .take()
            .filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
    }

    fn noted(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
            // The buffered output would fail again, now and when dropped.
            self.output = Box::new(io::sink());
        }
    }
}

impl Write for Lenient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.output.write_all(bytes);
        self.noted(result);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.output.flush();
        self.noted(result);
        Ok(())
    }
}

fn compare(question: &Question) -> Result<Comparison, Problem> {
    compare::compare(question).map_err(|error| problem(error, question))
}

/// The disagreements of detectors, in words. There is no report, because the right verdict is
/// unknown.
pub(crate) fn disagreement(comparison: &Comparison) -> Option<String> {
    let disagreements = &comparison.disagreements;
    (!disagreements.is_empty()).then(|| {
        format!(
            "error: detectors disagree, so there is no verdict: {}\n{}\n\
             help: this is a bug of Finishline, please report it with the program",
            disagreements.join("\nerror: detectors disagree: "),
            answers(comparison),
        )
    })
}

pub(crate) fn agreement(comparison: &Comparison) -> String {
    let answers = answers(comparison);
    match comparison.judged {
        true => format!("{answers}\nthe detectors agree"),
        false => format!("{answers}\nthe detectors could not be compared with the oracle"),
    }
}

/// The answer of each detector, one a line.
fn answers(comparison: &Comparison) -> String {
    let lines: Vec<String> = (comparison.answers.iter())
        .map(|(detector, said)| match said {
            Said::Racing(count) => format!("{detector}: {}", compare::racing_locations(*count)),
            Said::NotApplicable(used) => {
                format!("{detector}: has no rule for {}", used.construct.word())
            }
            Said::GaveUp(failure) => format!("{detector}: gave up, {failure}"),
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(disagreements: &[&str]) -> Comparison {
        Comparison {
            answers: vec![
                (Detector::EspBags, Said::Racing(1)),
                (Detector::Oracle, Said::Racing(6)),
            ],
            disagreements: disagreements.iter().map(|it| (*it).to_owned()).collect(),
            judged: true,
        }
    }

    #[test]
    fn a_disagreement_opens_what_is_said() {
        let told = disagreement(&comparison(&["one", "two"])).expect("a disagreement");
        let expected = "error: detectors disagree, so there is no verdict: one\n\
                        error: detectors disagree: two\n\
                        esp-bags: 1 racing location\n\
                        oracle: 6 racing locations\n\
                        help: this is a bug of Finishline, please report it with the program";
        assert_eq!(told, expected);
        assert!(disagreement(&comparison(&[])).is_none());
    }
}
