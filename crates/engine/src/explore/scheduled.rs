//! The run of a program in a given order of its isolated and locked blocks, for a detector or any
//! other listener. What happens before what is decided by task structure and conflicting blocks.

use super::blocks::{Blocks, Roles};
use super::order_run::{OrderEnd, OrderRun};
use super::order_script::{Follow, OrderScript};
use super::task_names::TaskNames;
use crate::run::{End, Outcome, Program};
use finishline_ir::listener::Listener;
use finishline_ir::machine::Machine;
use std::fmt;
use std::io::Write;

/// What became of the run.
pub(crate) struct Scheduled {
    pub(crate) outcome: Outcome,
    /// Some blocks conflict that could have run in the other order.
    pub(crate) conflicts: bool,
    pub(crate) departs: Option<Departure>,
}

/// The script says that a task runs a block which stands before none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The number of the block, from 1.
    pub block: usize,
    /// The task, as it is written.
    pub task: String,
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the schedule does not fit: at block {} of it, task {} has no isolated or locked block to run",
            self.block, self.task
        )
    }
}

/// The state in which nobody can go on. None if the run ends otherwise.
pub(crate) fn deadlock<'m>(program: Program<'m>, script: &OrderScript) -> Option<Machine<'m>> {
    let mut names = TaskNames::default();
    let mut chooser = Follow::new(script, &mut names);
    let roles = Roles::default();
    let mut blocks = Blocks::new(&mut names, &roles, ());
    let order = OrderRun {
        program,
        keep_dead: false,
    };
    match order.run(&mut blocks, &mut chooser, |_| false, None) {
        OrderEnd::Deadlock { machine, .. } => Some(*machine),
        _ => None,
    }
}

/// Runs the program as the script says. The listener hears of a block when it has ended.
pub(crate) fn run(
    program: Program<'_>,
    script: &OrderScript,
    listener: &mut impl Listener,
    output: &mut (dyn Write + Send),
) -> Scheduled {
    let mut names = TaskNames::default();
    let mut chooser = Follow::new(script, &mut names);
    let roles = Roles::of(program.module);
    let mut blocks = Blocks::new(&mut names, &roles, listener).with_repetitions();
    let order = OrderRun {
        program,
        keep_dead: false,
    };
    let end = order.run(&mut blocks, &mut chooser, |_| false, Some(&mut *output));
    let (blocks, _) = blocks.into_parts();
    if !matches!(end, OrderEnd::Failed(_)) {
        chooser.ended(blocks.len());
    }
    let result = match end {
        OrderEnd::Finished(_) | OrderEnd::Stopped => End::Finished,
        OrderEnd::Overdue => End::OutOfFuel,
        OrderEnd::Failed(failed) => End::Trapped(failed.trap),
        OrderEnd::Deadlock { trap, .. } => End::Trapped(trap),
        OrderEnd::OutputError(error) => End::OutputError(error),
    };
    let result = match (output.flush(), result) {
        (Err(error), End::Finished | End::OutOfFuel) => End::OutputError(error),
        (_, result) => result,
    };
    Scheduled {
        outcome: Outcome {
            result,
            steps: None,
        },
        conflicts: blocks.iter().any(|block| !block.reversible.is_empty()),
        departs: chooser.departs.map(|block| Departure {
            block: block + 1,
            task: script.word(block),
        }),
    }
}
