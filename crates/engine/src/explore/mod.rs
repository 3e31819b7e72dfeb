//! Runs a program in every order of its isolated blocks that can make a difference, and checks each
//! of them for races. So the answer holds for every schedule of the input.
//!
//! Without a race, a run is decided by its input and by the order of its isolated blocks
//! ([`order_run`]), and by the latter only as far as blocks conflict ([`blocks`]). [`tree`] says
//! which orders are to be run. Each of them is checked with what happens before what by task
//! structure and conflicting blocks. Orders that are equivalent have the same races: so if no order
//! that was run has one, no schedule has.
//!
//! After a race nothing is certain any more, because the program may do something else for another
//! outcome of the race. So an order is followed up to its first race only.
//!
//! - [`answer`]: what the orders show, told.
//! - [`footprint`]: what a block touches, and whether two of them conflict.
//! - [`task_names`]: names of tasks that mean the same in every order.
//! - [`order_script`]: an order, written down. [`scheduled`]: the run in such an order.

pub mod answer;
pub mod blocks;
pub mod footprint;
pub mod order_run;
pub mod order_script;
pub(crate) mod scheduled;
pub mod task_names;
pub mod tree;

use crate::interleavings::Outcome;
use crate::run::Program;
use blocks::{Block, Blocks, Roles};
use finishline_detect::Failure;
use finishline_detect::any_order::AnyOrder;
use finishline_detect::order::Labelled;
use finishline_ir::listener::EventsAlone;
use finishline_ir::machine::Trap;
use order_run::{Chooser, OrderEnd, OrderRun};
use order_script::OrderScript;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use task_names::{TaskName, TaskNames};
use tree::{Guided, Job, Reduction, Tree};

/// The most orders that are kept of those with one kind of fault.
const MOST_KEPT: u64 = 1000;

/// What is explored, and how far.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub reduction: Reduction,
    /// Go on after a race, to find all.
    pub all: bool,
    pub max_orders: u64,
    /// The most blocks of an order. Beyond it blocks are taken to spin.
    pub max_blocks: usize,
    /// The most steps of all runs together.
    pub max_steps: u64,
    pub timeout: Option<Duration>,
    /// Compare the states at the end.
    pub states: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            reduction: Reduction::Optimal,
            all: false,
            max_orders: u64::MAX,
            max_blocks: 10_000,
            max_steps: u64::MAX,
            timeout: None,
            states: false,
        }
    }
}

/// What happened in an order.
#[derive(Clone, Debug)]
pub enum Fault {
    Race,
    Failed(Trap),
    Deadlock(Trap),
}

/// An order in which something happened.
#[derive(Clone, Debug)]
pub struct Faulty {
    pub script: OrderScript,
    pub fault: Fault,
}

/// Why not all orders were run that can differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Incomplete {
    FirstRace,
    MaxOrders,
    MaxBlocks,
    MaxSteps,
    Timeout,
    /// A planned order could not be followed.
    Lost,
}

/// What the exploration found.
#[derive(Debug, Default)]
pub struct Exploration {
    /// Orders that were run to their end, or to their first race.
    pub orders: u64,
    /// Runs that were given up because an equivalent order was run.
    pub cut_off: u64,
    /// Runs up to some block, to find out what that touches.
    pub trials: u64,
    /// Orders that were given up because they have too many blocks.
    pub too_long: u64,
    pub incomplete: Option<Incomplete>,
    /// The first orders with each kind of fault.
    pub faults: Vec<Faulty>,
    /// How many orders have a race, fail, deadlock.
    pub races: u64,
    pub failures: u64,
    pub deadlocks: u64,
    /// How the program can end, each with the first order that ended so.
    pub states: BTreeMap<Outcome, OrderScript>,
    /// A detector that could not go on.
    pub failure: Option<Failure>,
}

/// How many orders of the isolated blocks differ, and whether there are no more. None if that takes
/// too long to find out.
pub(crate) fn orders_that_differ(program: Program<'_>) -> Option<(u64, bool)> {
    let options = Options {
        all: true,
        max_orders: 100,
        max_steps: 1_000_000,
        ..Options::default()
    };
    let found = explore(program, options, &AtomicU64::new(0));
    let complete = found.incomplete.is_none() && found.failure.is_none();
    (complete || found.orders > 1).then_some((found.orders, complete))
}

/// Explores the orders of a verified program. Those that were run are counted in `progress`
/// meanwhile.
pub fn explore(program: Program<'_>, options: Options, progress: &AtomicU64) -> Exploration {
    explore_telling(program, options, progress, &|_| {})
}

/// The same. `tell` hears of the blocks of each order that was run to its end.
pub fn explore_telling(
    program: Program<'_>,
    options: Options,
    progress: &AtomicU64,
    tell: &dyn Fn(&[Block]),
) -> Exploration {
    let explorer = Explorer {
        tell,
        program,
        options,
        progress,
        roles: Roles::of(program.module),
        // A time that no clock reaches is no limit.
        deadline: (options.timeout).and_then(|timeout| Instant::now().checked_add(timeout)),
        steps_left: Cell::new(options.max_steps),
    };
    match AnyOrder::new() {
        Ok(detector) => explorer.explore(detector),
        Err(failure) => Exploration {
            failure: Some(failure),
            ..Exploration::default()
        },
    }
}

struct Explorer<'a> {
    tell: &'a dyn Fn(&[Block]),
    program: Program<'a>,
    options: Options,
    progress: &'a AtomicU64,
    roles: Roles,
    deadline: Option<Instant>,
    /// The steps that may still be made.
    steps_left: Cell<u64>,
}

/// The run of a job, as far as the tree needs it.
struct Run {
    blocks: Vec<Block>,
    choices: Vec<Vec<TaskName>>,
    others: Option<Vec<TaskName>>,
    ended: Ended,
    script: OrderScript,
}

enum Ended {
    Finished(Option<Outcome>),
    Faulty(Fault),
    CutOff,
    /// A task of the plan stood before no block.
    Lost,
    TooLong,
    Overdue,
    NoDetector(Failure),
}

impl<'a> Explorer<'a> {
    /// Runs orders until none is left.
    fn explore(&self, mut detector: AnyOrder<Labelled>) -> Exploration {
        let mut names = TaskNames::default();
        let mut tree = Tree::new(self.options.reduction);
        let mut found = Exploration::default();
        while found.failure.is_none()
            && !found.incomplete.is_some_and(ends)
            && let Some(job) = tree.next_job()
        {
            if self.is_overdue() {
                found.incomplete = Some(self.why_overdue());
            } else if found.orders + found.too_long >= self.options.max_orders {
                found.incomplete.get_or_insert(Incomplete::MaxOrders);
                break;
            } else {
                let run = self.run(&job, &mut names, &mut detector);
                self.learn(&mut tree, &mut found, &job, run);
            }
        }
        found
    }

    fn run(&self, job: &Job, names: &mut TaskNames, detector: &mut AnyOrder<Labelled>) -> Run {
        detector.clear();
        let mut chooser = Follow {
            explorer: self,
            guided: Guided::new(job),
            choices: Vec::new(),
            why: None,
        };
        let mut blocks = Blocks::new(names, &self.roles, EventsAlone(detector));
        let order = OrderRun {
            program: self.program,
            keep_dead: self.options.states,
        };
        let races =
            |detector: &EventsAlone<&mut AnyOrder<Labelled>>| !detector.0.racing().is_empty();
        let end = order.run(&mut blocks, &mut chooser, races, None);
        let (blocks, EventsAlone(detector)) = blocks.into_parts();
        let racing = !detector.racing().is_empty();
        let mut others = None;
        let ended = match (end, chooser.why, detector.failure()) {
            (_, _, Some(failure)) => Ended::NoDetector(failure),
            _ if racing => Ended::Faulty(Fault::Race),
            (OrderEnd::Finished(machine), ..) => {
                Ended::Finished(self.options.states.then(|| Outcome::of(&machine)))
            }
            (OrderEnd::Failed(failed), ..) => {
                others = failed.others;
                Ended::Faulty(Fault::Failed(failed.trap))
            }
            (OrderEnd::Deadlock(trap, _), ..) => Ended::Faulty(Fault::Deadlock(trap)),
            (OrderEnd::Overdue | OrderEnd::OutputError(_), ..) => Ended::Overdue,
            (OrderEnd::Stopped, Some(Incomplete::MaxBlocks), _) => Ended::TooLong,
            (OrderEnd::Stopped, ..) if blocks.len() < job.guide.len() => Ended::Lost,
            (OrderEnd::Stopped, ..) => Ended::CutOff,
        };
        let choices = chooser.choices;
        let script = match &ended {
            Ended::Finished(None) | Ended::CutOff => OrderScript::default(),
            _ => OrderScript::new(blocks.iter().map(|block| names.path(block.task))),
        };
        Run {
            blocks,
            choices,
            others,
            ended,
            script,
        }
    }

    fn learn(&self, tree: &mut Tree, found: &mut Exploration, job: &Job, run: Run) {
        let Run {
            blocks,
            choices,
            others,
            ended,
            script,
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
        tree.learn(job, &blocks, &choices, others.as_deref());
        if let Ended::CutOff = ended {
            found.cut_off += 1;
            return;
        }
        if let Ended::TooLong = ended {
            found.too_long += 1;
            found.incomplete.get_or_insert(Incomplete::MaxBlocks);
            return;
        }
        found.orders += 1;
        self.progress.fetch_add(1, Ordering::Relaxed);
        match ended {
            Ended::Finished(state) => {
                (self.tell)(&blocks);
                if let Some(state) = state {
                    found.states.entry(state).or_insert(script);
                }
            }
            Ended::Faulty(fault) => {
                if matches!(fault, Fault::Race) && !self.options.all {
                    found.incomplete = Some(Incomplete::FirstRace);
                }
                let count = match fault {
                    Fault::Race => &mut found.races,
                    Fault::Failed(_) => &mut found.failures,
                    Fault::Deadlock(_) => &mut found.deadlocks,
                };
                *count += 1;
                if *count <= MOST_KEPT {
                    found.faults.push(Faulty { script, fault });
                }
            }
            _ => {}
        }
    }

    fn is_overdue(&self) -> bool {
        self.steps_left.get() == 0
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn why_overdue(&self) -> Incomplete {
        match self.steps_left.get() {
            0 => Incomplete::MaxSteps,
            _ => Incomplete::Timeout,
        }
    }
}

/// Whether the exploration ends there. After an order with too many blocks it goes on: others may
/// have a race.
fn ends(why: Incomplete) -> bool {
    why != Incomplete::MaxBlocks
}

/// Chooses as the tree says, up to the limits.
struct Follow<'a> {
    explorer: &'a Explorer<'a>,
    guided: Guided<'a>,
    /// The tasks that could have gone on at each choice, if they are asked for.
    choices: Vec<Vec<TaskName>>,
    why: Option<Incomplete>,
}

impl Chooser for Follow<'_> {
    fn choose(&mut self, waiting: &[TaskName], blocks: &[Block]) -> Option<usize> {
        let options = &self.explorer.options;
        if blocks.len() >= options.max_blocks {
            self.why = Some(Incomplete::MaxBlocks);
            return None;
        }
        if options.reduction == Reduction::None {
            self.choices.push(waiting.to_vec());
        }
        self.guided.choose(waiting, blocks)
    }

    fn is_overdue(&mut self, steps: u64) -> bool {
        let left = self.explorer.steps_left.get().saturating_sub(steps);
        self.explorer.steps_left.set(left);
        self.explorer.is_overdue()
    }
}
