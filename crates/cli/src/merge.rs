//! `finishline merge`: the parts of an answer, put together.
//!
//! The parts of an exploration have the program with them. If what the parts found needs further
//! orders that belonged to none of them, they are run here. The parts of an analysis name their
//! trace, which must be there: the accesses that race are looked up in it. The parts of a suite of
//! tests are reports, which are put together as they are ([`suite`]).

mod suite;

use crate::check::{problem, suppressions};
use crate::destination::Destination;
use crate::options::{MergeOptions, MergedFormat, ProgramOptions};
use crate::outcome::{Problem, shown};
use crate::part::{Asked, AskedOrders, AskedTrace, PartFile, text_of};
use crate::pieces::{Record, incomplete};
use crate::{analyze, explore, program, progress};
use finishline_answer::{Answer, exit_status};
use finishline_engine::explore::{Course, Progress, answer, explore_course};
use finishline_engine::recorded::JudgedParts;
use finishline_fin::Program;
use finishline_model::{Location, Passes};
use finishline_report::{Format, Selection};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub(crate) fn merge(options: &MergeOptions) -> Result<u8, Problem> {
    let mut texts = Vec::new();
    for path in &options.parts {
        texts.push((path.as_path(), text_of(path)?));
    }
    let output = options.output.as_deref();
    if let Some(part) = output.and_then(|it| options.parts.iter().find(|part| *part == it)) {
        let part = shown(part);
        return Err(Problem::Usage(format!(
            "{part} is a part: the report needs another file"
        )));
    }
    if texts.iter().any(|(_, text)| suite::is_report(text)) {
        return suite::merge(options, &texts);
    }
    let MergedFormat::Any(format) = options.format else {
        return Err(Problem::Usage(
            "the format junit is for tests, and these are no parts of tests".to_owned(),
        ));
    };
    let mut parts = Vec::new();
    for (path, text) in &texts {
        parts.push((*path, PartFile::parse(path, text)?));
    }
    let question = same_question(&parts)?;
    let mut numbers = Vec::new();
    for (path, part) in &parts {
        let Some(number) = part.opening.partition() else {
            let path = shown(path);
            return Err(Problem::Usage(format!(
                "{path} is a checkpoint, and no part"
            )));
        };
        numbers.push((*path, number));
    }
    all_parts(&numbers)?;
    let report = Destination::open(output, &options.parts[0], format, options.terminal.color)?;
    let answer = match question {
        Asked::Explore(asked) => explored(asked, &parts, options, format)?,
        Asked::Analyze(asked) => analyzed(asked, &parts, options)?,
    };
    let all = Selection::default();
    report.write(|style, out| finishline_report::write(&answer, format, all, style, out))?;
    Ok(exit_status(&answer))
}

type Parts<'a> = [(&'a Path, PartFile)];

/// What all parts are about.
fn same_question<'a>(parts: &'a Parts<'_>) -> Result<&'a Asked, Problem> {
    let Some((first, part)) = parts.first() else {
        return Err(Problem::Usage("there are no parts".to_owned()));
    };
    let question = &part.opening.question;
    for (path, other) in parts {
        if other.opening.question != *question {
            return Err(Problem::Usage(format!(
                "{} and {} are no parts of one answer: the program or trace, its arguments or the options differ",
                shown(first),
                shown(path)
            )));
        }
    }
    Ok(question)
}

/// Checks that each part is there once. The parts have their numbers, and how many there are.
fn all_parts(parts: &[(&Path, (usize, usize))]) -> Result<(), Problem> {
    let mut seen: BTreeMap<usize, &Path> = BTreeMap::new();
    let mut count = None;
    for (path, (number, of)) in parts {
        let (number, of) = (*number, *of);
        if *count.get_or_insert(of) != of {
            return Err(Problem::Usage(format!(
                "{} is one of {of} parts, others are of another number",
                shown(path)
            )));
        }
        if let Some(other) = seen.insert(number, path) {
            let (path, other) = (shown(path), shown(other));
            return Err(Problem::Usage(format!(
                "part {number} of {of} is there twice: {other} and {path}"
            )));
        }
    }
    let of = count.unwrap_or_default();
    let missing: BTreeSet<usize> = (1..=of).filter(|it| !seen.contains_key(it)).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => {
            let missing: Vec<String> = missing.iter().map(usize::to_string).collect();
            let missing = missing.join(", ");
            Err(Problem::Usage(format!("missing of {of} parts: {missing}")))
        }
    }
}

fn explored(
    asked: &AskedOrders,
    parts: &Parts<'_>,
    options: &MergeOptions,
    format: Format,
) -> Result<Answer, Problem> {
    let terminal = &options.terminal;
    let mut known = BTreeMap::new();
    let mut lacking = None;
    for (path, part) in parts {
        for record in part.records(path)? {
            match record {
                Record::Incomplete(why) => lacking = lacking.or(Some(incomplete(&why))),
                Record::Piece(record) => {
                    let damaged =
                        || Problem::Usage(format!("{}: the part is damaged", shown(path)));
                    let (number, piece) = record.read().ok_or_else(damaged)?;
                    known.insert(number, piece);
                }
            }
        }
    }
    let compiled = finishline_fin::compile(&asked.program, asked.source.as_bytes());
    let Program { hir, module } = compiled.map_err(|diagnostics| {
        Problem::Source(diagnostics.render(terminal.color.on_standard_error().color))
    })?;
    let program_options = ProgramOptions {
        file: PathBuf::from(&asked.program),
        arguments: asked.arguments.clone(),
        memory: asked.memory,
        interpret: false,
        terminal: *terminal,
    };
    let mut question = program::question(&module, hir, &program_options, Passes::NONE)?;
    question.max_races = options.races.max_races();
    question.suppressions = suppressions(&options.races)?;
    let limits = explore::limits(asked, options.jobs);
    let progress = Progress::default();
    let course = Course {
        known,
        ..Course::default()
    };
    let found = match lacking {
        // What was not explored by a part is not made up for here.
        Some(why) => course.as_it_is(why),
        None => progress::exploring(terminal.quiet, &progress, || {
            explore_course(question.program(), limits, &progress, course)
        }),
    };
    let answer = answer::answer(&mut question, limits, found);
    let mut answer = answer.map_err(|error| problem(error, &question))?;
    explore::show_orders(&mut answer, &question, limits, format);
    Ok(answer)
}

fn analyzed(
    asked: &AskedTrace,
    parts: &Parts<'_>,
    options: &MergeOptions,
) -> Result<Answer, Problem> {
    let trace = PathBuf::from(&asked.trace);
    if analyze::asked(&trace, asked.detector.clone())? != *asked {
        return Err(Problem::Usage(format!(
            "{} is not the trace that the parts are about",
            shown(&trace)
        )));
    }
    let mut judged = JudgedParts::default();
    for (path, part) in parts {
        for record in part.records::<analyze::PartRecord>(path)? {
            judged
                .racing
                .extend(record.racing.into_iter().map(Location));
            judged.isolated_conflict |= record.isolated_conflict;
            judged.overlap |= record.overlap;
        }
    }
    analyze::judged(&trace, asked, judged, options)
}
