//! Runs of the reference interpreter, under any schedule.
//!
//! The [machine](finishline_ir::machine) makes one step of one task. Which task that is, a
//! [`Schedule`] decides: [depth-first](crate::depth_first), [cooperative](crate::cooperative), [in
//! turns](crate::turns), or as a [script](crate::replay) says.

use finishline_ir::Module;
use finishline_ir::listener::Listener;
use finishline_ir::machine::{Datum, Limits, Machine, Progress, Trap};
use finishline_model::TaskId;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// Decides which task makes the next step. `main` makes the first one.
pub trait Schedule {
    /// The task that goes on after a step of `current`. None: all tasks have ended, or each waits
    /// for another.
    fn next(
        &mut self,
        current: TaskId,
        progress: Progress,
        machine: &Machine<'_>,
    ) -> Option<TaskId>;
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub result: End,
    /// One for each instruction, and more for large objects. Compiled code does not count them.
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

/// Making this many locations takes as long as an instruction.
const LOCATIONS_A_STEP: u64 = 8;

/// Runs a program for at most `fuel` steps. Its output goes to `output` as it is printed. The steps
/// made are added to `progress` now and then.
pub fn run_for(
    fuel: u64,
    program: Program<'_>,
    schedule: &mut impl Schedule,
    listener: &mut impl Listener,
    output: &mut (dyn Write + Send),
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
    let mut pulse = PULSE;
    let mut allocated = machine.heap().allocated();
    let mut current = TaskId::MAIN;
    let result = loop {
        if steps >= fuel {
            break End::OutOfFuel;
        }
        steps += 1;
        if steps >= pulse {
            // A statistic: nothing is ordered by it.
            progress.fetch_add(PULSE, Ordering::Relaxed);
            pulse += PULSE;
        }
        let made = match machine.step(current, listener) {
            Ok(made) => made,
            Err(trap) => break End::Trapped(trap),
        };
        let before = std::mem::replace(&mut allocated, machine.heap().allocated());
        steps += (allocated - before) / LOCATIONS_A_STEP;
        if !machine.output.is_empty()
            && let Err(error) = drain(&mut machine.output, output)
        {
            break End::OutputError(error);
        }
        match schedule.next(current, made, &machine) {
            Some(next) => current = next,
            None => {
                break match machine.deadlock() {
                    Some(trap) => End::Trapped(trap),
                    None => End::Finished,
                };
            }
        }
    };
    // A failure of the program says more than one of the output.
    let result = match (output.flush(), result) {
        (Err(error), End::Finished | End::OutOfFuel) => End::OutputError(error),
        (_, result) => result,
    };
    Outcome {
        result,
        steps: Some(steps),
    }
}

/// Runs a program without output until no task goes on, for at most `fuel` steps. None if that was
/// not enough, and if the program fails before.
pub(crate) fn until_all_wait<'m>(
    fuel: u64,
    module: &'m Module,
    arguments: &[Datum],
    limits: Limits,
    schedule: &mut impl Schedule,
) -> Option<Machine<'m>> {
    let mut machine = Machine::new(module, arguments, limits, &mut ()).ok()?;
    let mut current = TaskId::MAIN;
    for _ in 0..fuel {
        let made = machine.step(current, &mut ()).ok()?;
        machine.output.clear();
        match schedule.next(current, made, &machine) {
            Some(next) => current = next,
            None => return Some(machine),
        }
    }
    None
}

fn drain(printed: &mut Vec<u8>, output: &mut (dyn Write + Send)) -> io::Result<()> {
    output.write_all(printed)?;
    printed.clear();
    Ok(())
}
