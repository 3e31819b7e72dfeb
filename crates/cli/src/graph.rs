//! `finishline graph`: the computation graph of a run as a picture.
//!
//! The run is judged as `check` does, so the races of the picture are those of a check. A file that
//! ends in `.trace` is a recorded run. The extension of the output decides its form.

use crate::analyze;
use crate::check::{note_unmatched, problem, suppressions};
use crate::options::GraphOptions;
use crate::outcome::{NOTHING_ESTABLISHED, NOTHING_FOUND, PROGRAM_FAILED, Problem, say, shown};
use crate::{program, progress};
use finishline_answer::picture::Picture;
use finishline_engine::check;
use finishline_engine::picture::NoPicture;
use finishline_engine::recorded::{self, Asked};
use finishline_engine::suppressions::Suppressions;
use finishline_fin::Program;
use finishline_model::Passes;
use finishline_report::picture::{self as report, Format, View};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicU64;

pub(crate) fn graph(options: &GraphOptions) -> Result<u8, Problem> {
    let format = format(&options.output)?;
    let suppressions = suppressions(&options.races)?;
    let is_trace = options
        .program
        .file
        .extension()
        .is_some_and(|it| it == "trace");
    let (drawn, file) = match is_trace {
        true => of_trace(options, suppressions)?,
        false => of_program(options, suppressions)?,
    };
    let picture = match drawn {
        Ok(picture) => picture,
        Err(error) => {
            say(&format!("error: the graph could not be made: {error}"));
            return Ok(NOTHING_ESTABLISHED);
        }
    };
    let view = match options.tree {
        true => View::Tree,
        false => View::Graph,
    };
    write(&picture, view, format, file)
        .map_err(|error| Problem::Write(options.output.clone(), error))?;
    if !options.program.terminal.quiet {
        note_unmatched(&picture.answer);
    }
    Ok(match picture.answer.failure {
        Some(_) => PROGRAM_FAILED,
        None => NOTHING_FOUND,
    })
}

/// The picture, and the file for it. The file is opened before the program runs, because afterwards
/// it is too late to find that it can't be written.
type Drawn = (Result<Picture, NoPicture>, File);

fn of_program(
    options: &GraphOptions,
    suppressions: Option<Suppressions>,
) -> Result<Drawn, Problem> {
    let terminal = &options.program.terminal;
    let Program { hir, module } = program::compile(&options.program.file, terminal.color)?;
    let mut question = program::question(&module, hir, &options.program, Passes::ALL)?;
    question.max_races = options.races.max_races();
    question.suppressions = suppressions;
    let file = create(&options.output)?;
    let mut output = BufWriter::new(io::stdout());
    let drawn = progress::shown(
        terminal.quiet,
        "drawing",
        (&question.progress, options.program.unit_of_progress()),
        &mut output,
        |output| check::draw(&question, check::choose(&module), options.max_nodes, output),
    );
    let drawn = drawn.map_err(|error| problem(error, &question))?;
    if !terminal.quiet {
        program::note_interpreted(&question);
    }
    Ok((drawn, file))
}

fn of_trace(options: &GraphOptions, suppressions: Option<Suppressions>) -> Result<Drawn, Problem> {
    let path = &options.program.file;
    if !options.program.arguments.is_empty() {
        let problem = format!("{} has its arguments in it: give none", shown(path));
        return Err(Problem::Usage(problem));
    }
    let trace = analyze::open(path)?;
    let file = create(&options.output)?;
    let progress = AtomicU64::new(0);
    let asked = Asked {
        detector: None,
        max_races: options.races.max_races(),
        suppressions,
        judged: None,
        progress: &progress,
    };
    let quiet = options.program.terminal.quiet;
    let output = &mut io::sink();
    let drawn = progress::shown(quiet, "drawing", (&progress, "accesses"), output, |_| {
        recorded::draw(trace, &asked, options.max_nodes)
    });
    let drawn = drawn.map_err(|error| analyze::problem(error, path))?;
    Ok((drawn, file))
}

fn create(path: &Path) -> Result<File, Problem> {
    File::create(path).map_err(|error| Problem::Write(path.to_owned(), error))
}

/// The form that a file's name asks for.
fn format(path: &Path) -> Result<Format, Problem> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.and_then(Format::from_extension).ok_or_else(|| {
        let known = Format::ALL.map(|format| format!(".{}", format.extension()));
        Problem::Usage(format!(
            "{} must end in {}, which decides the form of the picture",
            shown(path),
            known.join(", ")
        ))
    })
}

fn write(picture: &Picture, view: View, format: Format, file: File) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    report::write(picture, view, format, &mut out)?;
    out.flush()
}
