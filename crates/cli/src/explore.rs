//! `finishline explore`: every order of the isolated blocks that can make a difference.
//!
//! What the program prints is dropped: it is run many times. The report goes where that of `check`
//! goes.

use crate::check::{problem, suppressions};
use crate::destination::Destination;
use crate::options::{ExploreOptions, ReductionChoice};
use crate::outcome::Problem;
use crate::{program, progress};
use finishline_answer::exit_status;
use finishline_engine::explore::tree::Reduction;
use finishline_engine::explore::{Options, answer};
use finishline_fin::Program;
use finishline_model::Passes;
use finishline_report::Selection;
use std::io;
use std::sync::atomic::AtomicU64;

pub(crate) fn explore(options: &ExploreOptions) -> Result<u8, Problem> {
    let terminal = &options.program.terminal;
    let Program { hir, module } = program::compile(&options.program.file, terminal.color)?;
    let mut question = program::question(&module, hir, &options.program, Passes::NONE)?;
    question.max_races = options.races.max_races;
    question.suppressions = suppressions(&options.races)?;
    let format = options.report.format;
    let report = Destination::open(options.report.output.as_deref(), format, terminal.color)?;
    let limits = Options {
        reduction: match options.reduction {
            ReductionChoice::Optimal => Reduction::Optimal,
            ReductionChoice::None => Reduction::None,
        },
        all: options.all,
        max_orders: options.max_orders,
        max_blocks: options.max_blocks,
        timeout: options.timeout,
        jobs: options.jobs(),
        ..Options::default()
    };
    let orders = AtomicU64::new(0);
    let answer = progress::shown(
        terminal.quiet,
        "exploring",
        (&orders, "orders"),
        &mut io::sink(),
        |_| answer::explored(&mut question, limits, &orders),
    );
    let answer = answer.map_err(|error| problem(error, &question))?;
    let all = Selection::default();
    report.write(|style, out| finishline_report::write(&answer, format, all, style, out))?;
    Ok(exit_status(&answer))
}
