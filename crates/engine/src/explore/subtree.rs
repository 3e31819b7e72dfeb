//! Explores one part of the search, order by order: all orders, or those that begin with the same
//! blocks. A [`Tree`] says which are to be run.

use super::blocks::{Block, Blocked, Blocks, Roles};
use super::in_all::{Structure, Structures};
use super::order_run::{Chooser, OrderEnd, OrderRun};
use super::order_script::OrderScript;
use super::task_names::{TaskName, TaskNames};
use super::tree::{Guided, Job, Reduction, Reversal, Start, Tree};
use super::{
    Exploration, Fault, Faulty, FinalState, Incomplete, MOST_KEPT, MOST_KEPT_OF_A_PIECE, Options,
    Progress, Tell,
};
use crate::interleavings::Outcome;
use crate::run::Program;
use finishline_detect::Failure;
use finishline_detect::any_order::AnyOrder;
use finishline_detect::order::Labelled;
use finishline_ir::listener::EventsAlone;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What is explored, up to which limits. All threads share it.
pub(crate) struct Explorer<'a> {
    tell: Tell<'a>,
    program: Program<'a>,
    pub(super) options: Options,
    pub(super) progress: &'a Progress,
    roles: Roles,
    deadline: Option<Instant>,
    /// The steps that were made, if they are limited.
    steps: AtomicU64,
    /// The orders that were run or given up.
    orders: AtomicU64,
}

/// Hears what is to be run from nodes above the start.
type Above<'a> = &'a mut dyn FnMut(&Reversal, &TaskNames);

/// What one thread needs.
pub(super) struct Worker {
    pub(super) names: TaskNames,
    detector: AnyOrder<Labelled>,
}

impl Worker {
    pub(super) fn new(names: TaskNames) -> Result<Worker, Failure> {
        Ok(Worker {
            names,
            detector: AnyOrder::new()?,
        })
    }
}

/// The run of a job, as far as the tree needs it.
pub(super) struct Run {
    pub(super) blocks: Vec<Block>,
    /// Before each block the tasks that could run one and do not sleep, if they are asked for.
    pub(super) choices: Vec<Vec<TaskName>>,
    others: Option<Vec<TaskName>>,
    blocked: Vec<Blocked>,
    pub(super) ended: Ended,
    script: OrderScript,
    structure: Structure,
}

pub(super) enum Ended {
    Finished(Option<FinalState>),
    Faulty(Fault),
    CutOff,
    /// A task of the plan stood before no block.
    Lost,
    TooLong,
    Overdue,
    NoDetector(Failure),
}

impl<'a> Explorer<'a> {
    pub(super) fn new(
        program: Program<'a>,
        options: Options,
        progress: &'a Progress,
        tell: Tell<'a>,
    ) -> Explorer<'a> {
        Explorer {
            tell,
            program,
            options,
            progress,
            roles: Roles::of(program.module),
            // A time that no clock reaches is no limit.
            deadline: (options.timeout).and_then(|timeout| Instant::now().checked_add(timeout)),
            steps: AtomicU64::new(0),
            orders: AtomicU64::new(0),
        }
    }

    /// Runs the orders from `start` on until none is left, or nobody `wants` more. `above` hears
    /// what is to be run from nodes above the start.
    pub(super) fn explore(
        &self,
        worker: &mut Worker,
        start: Start,
        wants: &dyn Fn() -> bool,
        above: Above<'_>,
    ) -> Exploration {
        let mut tree = Tree::new(self.options.reduction, start);
        let mut found = Exploration::default();
        while found.failure.is_none()
            && !found.incomplete.is_some_and(ends)
            && wants()
            && let Some(job) = tree.next_job()
        {
            if self.is_overdue() {
                found.incomplete = Some(self.why_overdue());
            } else if self.orders.load(Ordering::Relaxed) >= self.options.max_orders {
                found.incomplete.get_or_insert(Incomplete::MaxOrders);
                break;
            } else {
                let asks = self.options.reduction == Reduction::None;
                let run = self.run(&job, worker, asks);
                self.learn(&mut tree, &mut found, &job, run, &worker.names, above);
            }
        }
        found
    }

    /// Runs the order of a job. `asks` for the choices that there were.
    pub(super) fn run(&self, job: &Job, worker: &mut Worker, asks: bool) -> Run {
        let Worker { names, detector } = worker;
        detector.clear();
        let mut chooser = Follow {
            explorer: self,
            guided: Guided::new(job),
            choices: asks.then(Vec::new),
            why: None,
        };
        let listener = (EventsAlone(detector), EventsAlone(Structure::default()));
        let mut blocks = Blocks::new(names, &self.roles, listener);
        let order = OrderRun {
            program: self.program,
            keep_dead: self.options.states,
        };
        let races = |(detector, _): &(EventsAlone<&mut AnyOrder<Labelled>>, _)| {
            !detector.0.racing().is_empty()
        };
        let end = order.run(&mut blocks, &mut chooser, races, None);
        let (blocks, (EventsAlone(detector), EventsAlone(structure))) = blocks.into_parts();
        let racing = !detector.racing().is_empty();
        let (mut others, mut blocked) = (None, Vec::new());
        let ended = match (end, chooser.why, detector.failure()) {
            (_, _, Some(failure)) => Ended::NoDetector(failure),
            _ if racing => Ended::Faulty(Fault::Race),
            (OrderEnd::Finished(machine), ..) => {
                Ended::Finished(self.options.states.then(|| Outcome::of(&machine).digest()))
            }
            (OrderEnd::Failed(failed), ..) => {
                (others, blocked) = (failed.others, failed.blocked);
                Ended::Faulty(Fault::Failed(failed.trap.kind.word()))
            }
            (OrderEnd::Deadlock { blocked: it, .. }, ..) => {
                blocked = it;
                Ended::Faulty(Fault::Deadlock)
            }
            (OrderEnd::Overdue | OrderEnd::OutputError(_), ..) => Ended::Overdue,
            (OrderEnd::Stopped, Some(Incomplete::MaxBlocks), _) => Ended::TooLong,
            (OrderEnd::Stopped, ..) if blocks.len() < job.guide.len() => Ended::Lost,
            (OrderEnd::Stopped, ..) => Ended::CutOff,
        };
        let choices = chooser.choices.unwrap_or_default();
        let script = match &ended {
            Ended::Finished(None) | Ended::CutOff => OrderScript::default(),
            _ => OrderScript::new(blocks.iter().map(|block| names.path(block.task))),
        };
        Run {
            blocks,
            choices,
            others,
            blocked,
            ended,
            script,
            structure,
        }
    }

    fn learn(
        &self,
        tree: &mut Tree,
        found: &mut Exploration,
        job: &Job,
        run: Run,
        names: &TaskNames,
        above: Above<'_>,
    ) {
        let Run {
            blocks,
            choices,
            others,
            blocked,
            ended,
            script,
            structure,
        } = run;
        if let Ended::NoDetector(failure) = ended {
            found.failure = Some(failure);
            return;
        }
        if let Ended::Overdue = ended {
            found.incomplete = Some(self.why_overdue());
            return;
        }
        if let Ended::Lost = ended {
            found.incomplete = Some(Incomplete::Lost);
            return;
        }
        if job.is_trial {
            tree.tried(job, &blocks);
            found.trials += 1;
            return;
        }
        let above = &mut |reversal| above(&reversal, names);
        tree.learn(job, &blocks, &choices, others.as_deref(), &blocked, above);
        if let Ended::CutOff = ended {
            found.cut_off += 1;
            return;
        }
        self.orders.fetch_add(1, Ordering::Relaxed);
        if let Ended::TooLong = ended {
            found.too_long += 1;
            found.structures = Structures::Different;
            found.incomplete.get_or_insert(Incomplete::MaxBlocks);
            return;
        }
        found.orders += 1;
        self.progress.orders.fetch_add(1, Ordering::Relaxed);
        match ended {
            Ended::Finished(state) => {
                found.structures.note(&structure);
                (self.tell)(&blocks, names);
                if let Some(state) = state {
                    found.states.entry(state).or_insert(script);
                }
            }
            Ended::Faulty(fault) => {
                // What it would have done is not known.
                found.structures = Structures::Different;
                if matches!(fault, Fault::Race) && !self.options.all {
                    found.incomplete = Some(Incomplete::FirstRace);
                }
                let count = match fault {
                    Fault::Race => &mut found.races,
                    Fault::Failed(_) => &mut found.failures,
                    Fault::Deadlock => &mut found.deadlocks,
                };
                *count += 1;
                let most_kept = match tree.is_whole() {
                    true => MOST_KEPT,
                    false => MOST_KEPT_OF_A_PIECE,
                };
                if *count <= most_kept {
                    found.faults.push(Faulty { script, fault });
                }
            }
            _ => {}
        }
    }

    pub(super) fn is_overdue(&self) -> bool {
        self.is_interrupted()
            || self.steps.load(Ordering::Relaxed) >= self.options.max_steps
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn is_interrupted(&self) -> bool {
        self.progress.interrupted.load(Ordering::Relaxed)
    }

    pub(super) fn why_overdue(&self) -> Incomplete {
        if self.is_interrupted() {
            Incomplete::Interrupted
        } else if self.steps.load(Ordering::Relaxed) >= self.options.max_steps {
            Incomplete::MaxSteps
        } else {
            Incomplete::Timeout
        }
    }
}

/// Whether the exploration ends there. After an order with too many blocks it goes on: others may
/// have a race.
pub(super) fn ends(why: Incomplete) -> bool {
    why != Incomplete::MaxBlocks
}

/// Chooses as the tree says, up to the limits.
struct Follow<'a> {
    explorer: &'a Explorer<'a>,
    guided: Guided<'a>,
    /// The tasks that could have gone on at each choice, if they are asked for.
    choices: Option<Vec<Vec<TaskName>>>,
    why: Option<Incomplete>,
}

impl Chooser for Follow<'_> {
    fn choose(&mut self, waiting: &[TaskName], blocks: &[Block]) -> Option<usize> {
        if blocks.len() >= self.explorer.options.max_blocks {
            self.why = Some(Incomplete::MaxBlocks);
            return None;
        }
        let chosen = self.guided.choose(waiting, blocks);
        if let Some(choices) = &mut self.choices {
            let awake = waiting.iter().filter(|task| !self.guided.sleeps(**task));
            choices.push(awake.copied().collect());
        }
        chosen
    }

    fn is_overdue(&mut self, steps: u64) -> bool {
        // The threads do not meet at a number that nobody asks for.
        if self.explorer.options.max_steps < u64::MAX {
            self.explorer.steps.fetch_add(steps, Ordering::Relaxed);
        }
        self.explorer.is_overdue()
    }
}
