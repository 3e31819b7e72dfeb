//! Runs a program in one order of its isolated and locked blocks.
//!
//! Between two blocks every task goes on until it has ended, waits for others, or stands before its
//! next isolated block or acquire of a lock. Without a race it makes no difference in which order
//! they do that. So only one thing is chosen: which of the tasks that stand before a block runs it
//! next, if no other one holds its lock. The run is cooperative otherwise, and its choices decide
//! everything: the same choices give the same run.
//!
//! The tasks before a block are listed in the order of the program. To take the first one each time
//! gives the blocks in the order of the depth-first run.
//!
//! A task that fails outside of a block stops there, and the others go on, as they could have done
//! before it failed. A failure inside a block, or of the memory, ends the run.

use super::blocks::{Block, Blocked, Blocks};
use super::task_names::TaskName;
use crate::cooperative::Cooperative;
use crate::run::{Program, Schedule};
use finishline_ir::listener::Listener;
use finishline_ir::machine::{Machine, Status, Trap, TrapKind};
use finishline_model::TaskId;
use std::io::{self, Write};

/// Decides the order of the blocks.
pub trait Chooser {
    /// Which of the tasks runs its block next, after these blocks. None: the run ends here.
    fn choose(&mut self, waiting: &[TaskName], blocks: &[Block]) -> Option<usize>;

    /// Called now and then, with the steps made since. True if the run should end.
    fn is_overdue(&mut self, _steps: u64) -> bool {
        false
    }
}

/// How a run in one order ended.
pub enum OrderEnd<'m> {
    /// The state at the end.
    Finished(Box<Machine<'m>>),
    /// The first failure.
    Failed(Failed),
    /// Nobody can go on in this state.
    Deadlock {
        trap: Trap,
        machine: Box<Machine<'m>>,
        blocked: Vec<Blocked>,
    },
    /// The chooser did not want to go on.
    Stopped,
    /// The run took too long.
    Overdue,
    /// What the program printed could not be written.
    OutputError(io::Error),
}

#[derive(Debug)]
pub struct Failed {
    pub trap: Trap,
    /// The failure ended the run, and these tasks stood before a block when it was chosen which one
    /// ran last.
    pub others: Option<Vec<TaskName>>,
    /// The tasks that wait for locks.
    pub blocked: Vec<Blocked>,
}

/// How many steps are made between two looks at the clock.
const PULSE: u64 = 1 << 14;

/// A program to be run in some order of its blocks.
#[derive(Clone, Copy)]
pub struct OrderRun<'m> {
    pub program: Program<'m>,
    /// Objects that nothing refers to stay, so that the states of different runs can be compared.
    pub keep_dead: bool,
}

impl<'m> OrderRun<'m> {
    /// Runs the program in the order that is chosen. Before each choice the detector may end the
    /// run. Without `output`, what the program prints stays in the machine.
    pub fn run<D: Listener>(
        self,
        blocks: &mut Blocks<'_, D>,
        chooser: &mut impl Chooser,
        ends: impl Fn(&D) -> bool,
        mut output: Option<&mut (dyn Write + Send)>,
    ) -> OrderEnd<'m> {
        let Program {
            module,
            arguments,
            limits,
        } = self.program;
        let mut machine = match Machine::new(module, arguments, limits, blocks) {
            Ok(machine) => machine,
            Err(trap) => {
                return OrderEnd::Failed(Failed {
                    trap,
                    others: Some(Vec::new()),
                    blocked: Vec::new(),
                });
            }
        };
        if self.keep_dead {
            machine.keep_dead_objects();
        }
        let mut schedule = Cooperative::default();
        let mut waiting: Vec<TaskId> = Vec::new();
        let mut names: Vec<TaskName> = Vec::new();
        // Those of the waiting that can go on, by their places.
        let mut able: Vec<usize> = Vec::new();
        let mut place = 0;
        let mut failed: Option<Failed> = None;
        let mut goes_on = Some(TaskId::MAIN);
        let mut entering = false;
        let mut steps = 0;
        loop {
            let Some(task) = goes_on else {
                blocks.end_locked_block();
                names.clear();
                able.clear();
                let status = |task: &TaskId| machine.status(*task);
                let places = waiting.iter().enumerate();
                able.extend(
                    places
                        .filter(|(_, task)| status(task) == Status::Runnable)
                        .map(|it| it.0),
                );
                names.extend(able.iter().map(|place| blocks.name(waiting[*place])));
                if able.is_empty() {
                    break;
                }
                if ends(blocks.detector()) {
                    return OrderEnd::Stopped;
                }
                if chooser.is_overdue(std::mem::take(&mut steps)) {
                    return OrderEnd::Overdue;
                }
                let Some(chosen) = chooser.choose(&names, blocks.blocks()) else {
                    return OrderEnd::Stopped;
                };
                place = able[chosen];
                let task = waiting.remove(place);
                if let Some(site) = machine.next_site(task) {
                    blocks.enter(site);
                }
                goes_on = Some(task);
                entering = true;
                continue;
            };
            if !std::mem::take(&mut entering) && machine.is_before_block(task) {
                waiting.insert(place, task);
                place += 1;
                goes_on = schedule.pop();
                continue;
            }
            steps += 1;
            if steps == PULSE && chooser.is_overdue(std::mem::take(&mut steps)) {
                return OrderEnd::Overdue;
            }
            let progress = match machine.step(task, blocks) {
                Ok(progress) => progress,
                Err(trap) => {
                    let ends = machine.isolated().is_some() || is_of_memory(&trap.kind);
                    blocks.end_failed_block();
                    let failed = failed.get_or_insert(Failed {
                        trap,
                        others: None,
                        blocked: Vec::new(),
                    });
                    if ends {
                        failed.others = Some(names);
                        break;
                    }
                    goes_on = schedule.pop();
                    continue;
                }
            };
            if let Some(output) = &mut output
                && !machine.output.is_empty()
            {
                if let Err(error) = output.write_all(&machine.output) {
                    return OrderEnd::OutputError(error);
                }
                machine.output.clear();
            }
            goes_on = schedule.next(task, progress, &machine);
        }
        let blocked = waiting
            .iter()
            .filter_map(|task| match machine.status(*task) {
                Status::WaitingForLock { lock, .. } => blocks.blocked(*task, lock),
                _ => None,
            });
        let blocked: Vec<Blocked> = blocked.collect();
        match failed {
            Some(failed) => OrderEnd::Failed(Failed { blocked, ..failed }),
            None => match machine.deadlock() {
                Some(trap) => OrderEnd::Deadlock {
                    trap,
                    machine: Box::new(machine),
                    blocked,
                },
                None => OrderEnd::Finished(Box::new(machine)),
            },
        }
    }
}

/// Whether all tasks together are to blame.
fn is_of_memory(kind: &TrapKind) -> bool {
    matches!(
        kind,
        TrapKind::Memory { .. }
            | TrapKind::SystemMemory { .. }
            | TrapKind::TooManyTasks { .. }
            | TrapKind::TooManyFinishes { .. }
    )
}
