//! `finishline explore`: every order of the isolated blocks that can make a difference.
//!
//! What the program prints is dropped: it is run many times. The report goes where that of `check`
//! goes. With `--partition` there is no report, but a file for [`merge`](crate::merge).

use crate::check::{problem, suppressions};
use crate::checkpoint::Checkpoint;
use crate::destination::Destination;
use crate::options::{ExploreOptions, ReductionChoice};
use crate::outcome::{NOTHING_FOUND, Problem, say, shown};
use crate::part::{self, Asked, AskedOrders, Opening};
use crate::pieces::{PieceRecord, Record, incomplete_word};
use crate::{program, progress};
use finishline_answer::answer::About;
use finishline_answer::{Answer, exit_status};
use finishline_engine::explore::shown_orders::shown_orders;
use finishline_engine::explore::tree::Reduction;
use finishline_engine::explore::{
    self, Course, Exploration, Incomplete, Options, Piece, Progress, answer,
};
use finishline_engine::partition::Part;
use finishline_engine::question::Question;
use finishline_fin::Program;
use finishline_model::Passes;
use finishline_report::{Format, Selection};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

pub(crate) fn explore(options: &ExploreOptions) -> Result<u8, Problem> {
    let terminal = &options.program.terminal;
    let Program { hir, module } = program::compile(&options.program.file, terminal.color)?;
    let mut question = program::question(&module, hir, &options.program, Passes::NONE)?;
    question.max_races = options.races.max_races();
    question.suppressions = suppressions(&options.races)?;
    let asked = asked(options, &module.source.text);
    let limits = Options {
        max_orders: options.max_orders,
        timeout: options.timeout,
        ..limits(&asked, options.jobs)
    };
    let opening = Opening::new(Asked::Explore(asked), options.partition);
    let checkpoint = match &options.checkpoint {
        Some(path) => Some(Checkpoint::open(path, opening.clone())?),
        None => None,
    };
    let exploring = Exploring {
        question: &question,
        limits,
        quiet: terminal.quiet,
        checkpoint: checkpoint.as_ref(),
    };
    if let Some(part) = options.partition {
        // There is always one: `--partition` requires it.
        let path = options
            .report
            .output
            .as_deref()
            .unwrap_or(Path::new("part"));
        return exploring.write_part(part, &opening, path);
    }
    let format = options.report.format;
    let report = Destination::open(
        options.report.output.as_deref(),
        &options.program.file,
        format,
        terminal.color,
    )?;
    let found = match checkpoint {
        None => {
            exploring.shown(|progress| explore::explore(question.program(), limits, progress))?
        }
        Some(_) => exploring.in_pieces(None)?.1,
    };
    let resumes = found.incomplete.is_some_and(resumes);
    let answer = answer::answer(&mut question, limits, found);
    let mut answer = answer.map_err(|error| problem(error, &question))?;
    show_orders(&mut answer, &question, limits, format);
    let all = Selection::default();
    report.write(|style, out| finishline_report::write(&answer, format, all, style, out))?;
    if let Some(checkpoint) = checkpoint {
        checkpoint.close(resumes)?;
        if resumes && !terminal.quiet {
            checkpoint.note();
        }
    }
    Ok(exit_status(&answer))
}

/// Adds the orders that a page shows.
pub(crate) fn show_orders(
    answer: &mut Answer,
    question: &Question<'_>,
    limits: Options,
    format: Format,
) {
    if let (Format::Html, About::Check(check)) = (format, &mut answer.about)
        && let Some(explored) = &mut check.exploration
    {
        explored.shown = shown_orders(question, limits);
    }
}

/// Whether the same command can go on later.
fn resumes(why: Incomplete) -> bool {
    matches!(
        why,
        Incomplete::Interrupted | Incomplete::Timeout | Incomplete::MaxOrders
    )
}

fn asked(options: &ExploreOptions, source: &str) -> AskedOrders {
    AskedOrders {
        program: options.program.file.to_string_lossy().into_owned(),
        source: source.to_owned(),
        arguments: options.program.arguments.clone(),
        memory: options.program.memory,
        unreduced: options.reduction == ReductionChoice::None,
        all: options.all,
        max_blocks: options.max_blocks,
        determinacy: options.determinacy,
    }
}

/// How an exploration is made that was asked for.
pub(crate) fn limits(asked: &AskedOrders, jobs: Option<NonZero<usize>>) -> Options {
    let processors = || std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    Options {
        reduction: match asked.unreduced {
            true => Reduction::None,
            false => Reduction::Optimal,
        },
        all: asked.all,
        max_blocks: asked.max_blocks,
        states: asked.determinacy,
        jobs: jobs.unwrap_or_else(processors),
        ..Options::default()
    }
}

struct Exploring<'a> {
    question: &'a Question<'a>,
    limits: Options,
    quiet: bool,
    checkpoint: Option<&'a Checkpoint>,
}

impl Exploring<'_> {
    /// Explores and shows the progress. The first Ctrl-C ends the exploration, the second one the
    /// process.
    fn shown(&self, work: impl FnOnce(&Progress) -> Exploration) -> Result<Exploration, Problem> {
        let progress = Progress::default();
        for signal in [SIGINT, SIGTERM] {
            let interrupted: Arc<AtomicBool> = progress.interrupted.clone();
            let killed = flag::register_conditional_default(signal, interrupted.clone());
            let noted = flag::register(signal, interrupted);
            killed.and(noted).map_err(Problem::Output)?;
        }
        Ok(progress::exploring(self.quiet, &progress, || {
            work(&progress)
        }))
    }

    /// Explores in pieces, from a checkpoint on if there is one.
    fn in_pieces(
        &self,
        part: Option<Part>,
    ) -> Result<(BTreeMap<usize, Piece>, Exploration), Problem> {
        let checkpoint = self.checkpoint;
        let known = match checkpoint {
            Some(checkpoint) => checkpoint.known()?,
            None => BTreeMap::new(),
        };
        let pieces = Mutex::new(known.clone());
        let keep = |number: usize, piece: &Piece| {
            if let Some(checkpoint) = checkpoint {
                checkpoint.keep(number, piece);
            }
            if let Ok(mut pieces) = pieces.lock() {
                pieces.insert(number, piece.clone());
            }
        };
        let course = Course {
            known,
            part,
            keep: Some(&keep),
        };
        let found = self.shown(|progress| {
            explore::explore_course(self.question.program(), self.limits, progress, course)
        })?;
        Ok((pieces.into_inner().unwrap_or_default(), found))
    }

    /// Explores one part, and writes what was found.
    fn write_part(&self, part: Part, opening: &Opening, path: &Path) -> Result<u8, Problem> {
        let problem = |error| Problem::Write(path.to_owned(), error);
        let mut file = File::create(path).map_err(problem)?;
        let (pieces, found) = self.in_pieces(Some(part))?;
        if let Some(failure) = found.failure {
            let why = format!("the orders could not be judged: {failure}");
            return Err(Problem::Usage(why));
        }
        let why = found
            .incomplete
            .filter(|why| resumes(*why) || *why == Incomplete::Lost);
        let why = why.map(|why| Record::Incomplete(incomplete_word(why).to_owned()));
        let pieces = pieces
            .iter()
            .map(|(number, piece)| Record::Piece(Box::new(PieceRecord::new(*number, piece))));
        let records = pieces.chain(why);
        let text = part::written(opening, records.map(|record| part::line(&record)));
        file.write_all(text.as_bytes()).map_err(problem)?;
        if let Some(checkpoint) = self.checkpoint {
            checkpoint.close(found.incomplete.is_some_and(resumes))?;
        }
        if !self.quiet {
            let Part { number, of } = part;
            let (number, orders, path) = (number + 1, found.orders, shown(path));
            say(&format!(
                "note: part {number} of {of}: {orders} orders, in {path}"
            ));
        }
        Ok(NOTHING_FOUND)
    }
}
