//! `finishline prove`: an answer for every input.
//!
//! The program is not run, but for small cases of the races found: what a run does not confirm is not called a race.

use crate::destination::Destination;
use crate::options::ProveOptions;
use crate::outcome::{Problem, say};
use crate::{program, progress};
use finishline_engine::confirm::confirm;
use finishline_poly::{Budget, Detail, Options};
use finishline_report::Format;
use finishline_report::proof::{self as report, Selection};

pub(crate) fn prove(options: &ProveOptions) -> Result<u8, Problem> {
    let color = options.terminal.color;
    let program = program::compile(&options.file, color)?;
    let destination = Destination::open(options.output.as_deref(), options.format, color)?;
    let quiet = options.terminal.quiet;
    let proof = progress::timed(quiet, "proving", || {
        let prover = Options {
            budget: Budget::Time(options.timeout),
            detail: match options.sources || options.format == Format::Json {
                true => Detail::Dataflow,
                false => Detail::Races,
            },
        };
        let mut proof = finishline_poly::prove(&program.hir, &prover).proof;
        confirm(&mut proof, &program.module);
        proof
    });
    let selection = Selection {
        max_races: options.max_races,
        sources: options.sources,
    };
    destination.write(|style, out| report::write(&proof, options.format, selection, style, out))?;
    let races: usize = proof.kernels.iter().map(|kernel| kernel.races.len()).sum();
    if !quiet && races > options.max_races {
        say(&format!("note: `--max-races {races}` shows all races"));
    }
    Ok(report::exit_status(&proof))
}
