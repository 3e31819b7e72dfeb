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
//! The search is cut into *pieces*, which [`jobs`] explores on several threads: [`frontier`] says
//! where, and why that loses nothing. [`subtree`] explores one piece, order by order.
//!
//! - [`answer`]: what the orders show, told.
//! - `determinacy`: what the order decides. [`in_all`]: how many orders there are.
//! - [`shown_orders`]: the first orders, for a picture.
//! - [`footprint`]: what a block touches, and whether two of them conflict.
//! - [`task_names`]: names of tasks that mean the same in every order.
//! - [`order_script`]: an order, written down. [`scheduled`]: the run in such an order.

pub mod answer;
pub mod blocks;
mod determinacy;
pub mod footprint;
pub(crate) mod frontier;
pub mod in_all;
pub(crate) mod jobs;
pub mod order_run;
pub mod order_script;
pub(crate) mod scheduled;
pub(crate) mod sections;
pub mod shown_orders;
pub(crate) mod subtree;
pub mod task_names;
pub mod tree;

use crate::run::Program;
use blocks::Block;
use finishline_detect::Failure;
pub use frontier::Missing;
use in_all::Structures;
pub use jobs::{Course, Keep, Piece};
use order_script::OrderScript;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use subtree::Explorer;
use task_names::TaskNames;
use tree::Reduction;

/// The most orders that are kept of those with one kind of fault.
const MOST_KEPT: u64 = 1000;
/// The most of these in one piece: there are many pieces.
const MOST_KEPT_OF_A_PIECE: u64 = 100;

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
    /// The threads that explore. One explores everything in one piece.
    pub jobs: NonZero<usize>,
    pub pieces: Pieces,
}

/// How finely the search is cut into pieces. The answer does not depend on it, but which race is
/// met first does. So it does not depend on the number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    /// No piece should be larger than this part of the whole.
    pub share: u32,
    /// A piece with fewer orders than this is not cut.
    pub least: u32,
}

impl Default for Pieces {
    fn default() -> Pieces {
        Pieces {
            share: 256,
            least: 32,
        }
    }
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
            jobs: NonZero::<usize>::MIN,
            pieces: Pieces::default(),
        }
    }
}

/// What happened in an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Race,
    /// The program failed. The [word](finishline_ir::machine::TrapKind::word) says how.
    Failed(&'static str),
    Deadlock,
}

impl Fault {
    /// The number of its kind.
    fn kind(self) -> usize {
        match self {
            Fault::Race => 0,
            Fault::Failed(_) => 1,
            Fault::Deadlock => 2,
        }
    }
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
    Interrupted,
    /// A planned order could not be followed.
    Lost,
}

/// The [digest](crate::interleavings::Outcome::digest) of what a program printed and of its memory.
pub type FinalState = u128;

/// What the exploration found.
#[derive(Clone, Debug, Default)]
pub struct Exploration {
    /// Orders that were run to their end, or to their first race.
    pub orders: u64,
    /// Runs that were given up because an equivalent order was run.
    pub cut_off: u64,
    /// Runs up to some block, to find out what that touches.
    pub trials: u64,
    /// Runs to find out where to cut the search into pieces.
    pub probes: u64,
    /// Orders that were given up because they have too many blocks.
    pub too_long: u64,
    pub incomplete: Option<Incomplete>,
    /// The first orders with each kind of fault.
    pub faults: Vec<Faulty>,
    /// How many orders have a race, fail, deadlock.
    pub races: u64,
    pub failures: u64,
    pub deadlocks: u64,
    /// The [states](FinalState) in which the program can end, each with the first order that did.
    pub states: BTreeMap<FinalState, OrderScript>,
    pub structures: Structures,
    /// A detector that could not go on.
    pub failure: Option<Failure>,
}

/// How many orders of the isolated blocks differ, and whether there are no more. None if that takes
/// too long to find out.
pub(crate) fn orders_that_differ(program: Program<'_>) -> Option<(u64, bool)> {
    let options = Options {
        all: true,
        max_orders: 100,
        // What is known of the conflicts of a run takes the square of its blocks.
        max_blocks: 300,
        max_steps: 1_000_000,
        ..Options::default()
    };
    let found = explore(program, options, &Progress::default());
    let complete = found.incomplete.is_none() && found.failure.is_none();
    (complete || found.orders > 1).then_some((found.orders, complete))
}

/// What an exploration and those who wait for it tell each other meanwhile.
#[derive(Default)]
pub struct Progress {
    /// Orders that were run.
    pub orders: AtomicU64,
    /// Pieces that are known, and how many of them are explored.
    pub pieces: AtomicU64,
    pub explored: AtomicU64,
    /// Somebody wants the exploration to end.
    pub interrupted: Arc<AtomicBool>,
}

/// Explores the orders of a verified program.
pub fn explore(program: Program<'_>, options: Options, progress: &Progress) -> Exploration {
    explore_telling(program, options, progress, &|_, _| {})
}

/// Hears of the blocks of each order that was run to its end, with the names of their tasks.
pub type Tell<'a> = &'a (dyn Fn(&[Block], &TaskNames) + Sync);

/// The same, told.
pub fn explore_telling(
    program: Program<'_>,
    options: Options,
    progress: &Progress,
    tell: Tell<'_>,
) -> Exploration {
    let explorer = Explorer::new(program, options, progress, tell);
    match options.jobs.get() {
        1 => jobs::in_one_piece(&explorer),
        _ => jobs::in_pieces(&explorer, Course::default()),
    }
}

/// Explores in pieces, whatever the number of threads, some of which were explored before.
pub fn explore_course(
    program: Program<'_>,
    options: Options,
    progress: &Progress,
    course: Course<'_>,
) -> Exploration {
    let explorer = Explorer::new(program, options, progress, &|_, _| {});
    jobs::in_pieces(&explorer, course)
}

impl Exploration {
    /// Adds what another part of the search found. What this one has comes first.
    fn add(&mut self, other: Exploration) {
        self.orders += other.orders;
        self.cut_off += other.cut_off;
        self.trials += other.trials;
        self.probes += other.probes;
        self.too_long += other.too_long;
        self.incomplete = match (self.incomplete, other.incomplete) {
            // What ends the exploration says more.
            (Some(Incomplete::MaxBlocks) | None, Some(other)) => Some(other),
            (mine, _) => mine,
        };
        let mut kept = [0; 3];
        for faulty in &self.faults {
            kept[faulty.fault.kind()] += 1;
        }
        for faulty in other.faults {
            let kept = &mut kept[faulty.fault.kind()];
            if *kept < MOST_KEPT {
                *kept += 1;
                self.faults.push(faulty);
            }
        }
        self.races += other.races;
        self.failures += other.failures;
        self.deadlocks += other.deadlocks;
        for (state, script) in other.states {
            self.states.entry(state).or_insert(script);
        }
        let mine = std::mem::take(&mut self.structures);
        self.structures = mine.and(other.structures);
        self.failure = self.failure.or(other.failure);
    }
}
