//! The serial, depth-first run: a new task runs to its end before its creator goes on.
//!
//! This is the order of the program with its parallel statements erased. The bags detectors need
//! this run. It is deterministic: the same program and arguments give the same events. A child has
//! always ended before its creator can wait for it, so nothing ever blocks. Programs with promises
//! have no such run ([`crate::cooperative`] is theirs). The tasks under way are
//! a stack of ids, so nesting is bounded by memory, not by the stack of this process.

use crate::run::{self, Schedule};
use finishline_ir::listener::Listener;
use finishline_ir::machine::{Machine, Progress};
use finishline_model::TaskId;
use std::io::Write;
use std::sync::atomic::AtomicU64;

pub use crate::run::{End, Outcome, Program};

/// The creators of the running task, outermost first.
#[derive(Default)]
pub struct DepthFirst {
    creators: Vec<TaskId>,
}

impl Schedule for DepthFirst {
    #[inline]
    fn next(&mut self, current: TaskId, progress: Progress, _: &Machine<'_>) -> Option<TaskId> {
        match progress {
            Progress::Continue | Progress::Set(_) | Progress::Released(_) => Some(current),
            Progress::Created(task) => {
                self.creators.push(current);
                Some(task)
            }
            Progress::Ended => self.creators.pop(),
            Progress::Blocked => {
                unreachable!("in a depth-first run the tasks to wait for have ended")
            }
        }
    }
}

/// Runs a program to its end. Its output goes to `output` as it is printed. The steps made are
/// added to `progress` now and then.
pub fn run(
    program: Program<'_>,
    listener: &mut impl Listener,
    output: &mut (dyn Write + Send),
    progress: &AtomicU64,
) -> Outcome {
    run_for(u64::MAX, program, listener, output, progress)
}

/// Runs a program for at most `fuel` steps.
pub fn run_for(
    fuel: u64,
    program: Program<'_>,
    listener: &mut impl Listener,
    output: &mut (dyn Write + Send),
    progress: &AtomicU64,
) -> Outcome {
    let mut schedule = DepthFirst::default();
    run::run_for(fuel, program, &mut schedule, listener, output, progress)
}
