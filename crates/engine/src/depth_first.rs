//! The serial, depth-first run: a new task runs to its end before its creator goes on.
//!
//! This is the order of the program with its parallel statements erased. The bags detectors need
//! this run. It is deterministic: the same program and arguments give the same events. A child has
//! always ended before its creator can wait for it, so nothing ever blocks. The tasks under way are
//! a stack of ids, so nesting is bounded by memory, not by the stack of this process.

use finishline_ir::Module;
use finishline_ir::listener::Listener;
use finishline_ir::machine::{Datum, Limits, Machine, Progress, Trap};
use finishline_model::TaskId;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub result: End,
    /// Instructions executed. Compiled code does not count them.
    pub steps: Option<u64>,
}

impl Outcome {
    /// The failure of the program, if it failed.
    pub fn trap(&self) -> Option<&Trap> {
        match &self.result {
            End::Trapped(trap) => Some(trap),
            End::Finished | End::OutOfFuel | End::OutputError(_) => None,
        }
    }
}

#[derive(Debug)]
pub enum End {
    Finished,
    Trapped(Trap),
    /// The steps allowed were used up.
    OutOfFuel,
    /// What the program printed could not be written.
    OutputError(io::Error),
}

/// A verified program with its arguments: one for each parameter of `main`, of its type.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    pub module: &'a Module,
    pub arguments: &'a [Datum],
    pub limits: Limits,
}

/// The number of steps between two reports of progress.
const PULSE: u64 = 1 << 16;

/// Runs a program to its end. Its output goes to `output` as it is printed. `progress` is increased
/// from time to time by the steps made.
pub fn run(
    program: Program<'_>,
    listener: &mut impl Listener,
    output: &mut dyn Write,
    progress: &AtomicU64,
) -> Outcome {
    run_for(u64::MAX, program, listener, output, progress)
}

/// Runs a program for at most `fuel` steps.
pub fn run_for(
    fuel: u64,
    program: Program<'_>,
    listener: &mut impl Listener,
    output: &mut dyn Write,
    progress: &AtomicU64,
) -> Outcome {
    let Program {
        module,
        arguments,
        limits,
    } = program;
    let mut machine = match Machine::new(module, arguments, limits, listener) {
        Ok(machine) => machine,
        Err(trap) => {
            return Outcome {
                result: End::Trapped(trap),
                steps: Some(0),
            };
        }
    };
    let mut steps = 0;
    let mut creators = Vec::new();
    let mut current = TaskId::MAIN;
    let result = loop {
        if steps == fuel {
            break End::OutOfFuel;
        }
        steps += 1;
        if steps.is_multiple_of(PULSE) {
            // A statistic. No memory access is ordered by it.
            progress.fetch_add(PULSE, Ordering::Relaxed);
        }
        match machine.step(current, listener) {
            Ok(Progress::Continue) => {
                if !machine.output.is_empty()
                    && let Err(error) = drain(&mut machine.output, output)
                {
                    break End::OutputError(error);
                }
            }
            Ok(Progress::Created(task)) => {
                creators.push(current);
                current = task;
            }
            Ok(Progress::Ended) => match creators.pop() {
                Some(creator) => current = creator,
                None => break End::Finished,
            },
            Ok(Progress::Blocked) => {
                unreachable!("in a depth-first run the tasks to wait for have ended")
            }
            Err(trap) => break End::Trapped(trap),
        }
    };
    // A failure of the program is more important than one of the output.
    let result = match (output.flush(), result) {
        (Err(error), End::Finished | End::OutOfFuel) => End::OutputError(error),
        (_, result) => result,
    };
    Outcome {
        result,
        steps: Some(steps),
    }
}

fn drain(printed: &mut Vec<u8>, output: &mut dyn Write) -> io::Result<()> {
    output.write_all(printed)?;
    printed.clear();
    Ok(())
}
