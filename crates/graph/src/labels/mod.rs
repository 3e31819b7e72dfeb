//! `labels`, ours: task structure, two numbers a step, and an exact history. Near-linear.
//!
//! Whether an earlier step happens before the current one is decided by two questions. An [`Order`]
//! of `detect` knows task structure. [`IsolationOrder`] knows the chain of isolated blocks by the
//! numbers *first* and *last* of a step, and has the proof. Both follow the run as it goes on, so a
//! run can be judged online, by a [`LabelsOf`] that listens to it, or from its graph, which tells
//! the run again ([`Graph::replay`]).
//!
//! What is remembered of a location depends on the run ([`History`]): in a depth-first run the last
//! writer and two readers, else the last writer and the readers that nothing later stands for.
//! Either is exact: a location is found iff it races.
//!
//! Cost: an event and an access take amortised constant time, apart from searches over promises,
//! which are seldom long, and near-constant walks in bags. Memory: some 50 bytes a step, 12 bytes
//! a location in depth-first runs.
//!
//! Locks and releases are refused.

mod cells;
mod maximal_readers;

use crate::check::{Checker, FirstRaces, RacingLocation, refuse_what_is_missing};
use crate::graph::{Graph, NodeId, make_room};
use cells::Cells;
use finishline_detect::Failure;
use finishline_detect::history::ObservedOrder;
use finishline_detect::order::isolation::{CurrentStep, IsolationOrder, StepId};
use finishline_detect::order::{ESCAPING, EspBags, LOCKS, Labelled, NOBODY, Order, Stamp};
use finishline_model::{Access, AccessKind, Event, Location, Observer, TaskId};
pub use maximal_readers::MaximalReaders;

pub struct Labels;

impl Checker for Labels {
    fn name(&self) -> &'static str {
        "labels"
    }

    fn check(&self, graph: &Graph) -> Result<Vec<RacingLocation>, Failure> {
        refuse_what_is_missing(graph)?;
        let constructs = graph.constructs();
        if constructs.promises || constructs.turns || constructs.escaping {
            check_by::<AnyOrderLabels>(graph)
        } else {
            check_by::<DepthFirstLabels>(graph)
        }
    }
}

/// Judges depth-first runs without promises.
pub type DepthFirstLabels = LabelsOf<EspBags, TwoReaders>;

/// Judges runs in which tasks take turns.
pub type AnyOrderLabels = LabelsOf<Labelled, MaximalReaders>;

fn check_by<L: Online>(graph: &Graph) -> Result<Vec<RacingLocation>, Failure> {
    let mut labels = L::new()?;
    graph.replay(&mut labels);
    labels.finish()
}

/// A checker that listens to a run.
pub trait Online: Observer + Sized {
    fn new() -> Result<Self, Failure>;

    /// The racing locations of a run that has ended or was cut short. Nodes have the numbers that
    /// the run's graph would give them.
    fn finish(self) -> Result<Vec<RacingLocation>, Failure>;
}

/// What is remembered of a location.
pub trait History: Default {
    /// Whether an access changes and finds nothing, because its step has made one like it.
    fn is_known(&self, step: StepId, kind: AccessKind) -> bool;

    /// Remembers an access. One earlier access that races with it, if there is one. `before` says
    /// whether a step happens before this one, `first_block` which isolated block follows a step
    /// first, if one has so far.
    fn access(
        &mut self,
        step: StepId,
        kind: AccessKind,
        before: impl FnMut(StepId) -> bool,
        first_block: impl Fn(StepId) -> Option<u32>,
    ) -> Option<StepId>;
}

/// The last writer and two readers, exact for depth-first runs.
pub type TwoReaders = ObservedOrder<StepId>;

impl History for TwoReaders {
    #[inline]
    fn is_known(&self, step: StepId, kind: AccessKind) -> bool {
        self.remembers(step, kind)
    }

    fn access(
        &mut self,
        step: StepId,
        kind: AccessKind,
        mut before: impl FnMut(StepId) -> bool,
        first_block: impl Fn(StepId) -> Option<u32>,
    ) -> Option<StepId> {
        let before = |&earlier: &StepId| before(earlier);
        let races =
            ObservedOrder::access(self, step, kind, before, |&earlier| first_block(earlier));
        races.into_iter().flatten().next()
    }
}

/// The step of the task that made the latest access, as both orders know it.
#[derive(Clone, Copy, Debug)]
struct Now<Strand> {
    task: TaskId,
    step: CurrentStep,
    strand: Strand,
}

/// Structure by an order, the chain of isolated blocks by labels, and a history.
#[derive(Debug)]
pub struct LabelsOf<O: Order, H> {
    structure: O,
    isolation: IsolationOrder,
    /// By step, its stamp in the structure, if it has made an access.
    stamps: Vec<Stamp>,
    cells: Cells<H>,
    /// Unknown after an event.
    now: Option<Now<O::Strand>>,
    races: FirstRaces,
    failure: Option<Failure>,
}

impl<O: Order, H: History> LabelsOf<O, H> {
    fn follow(&mut self, event: &Event) -> Result<(), Failure> {
        match event {
            Event::Lock { .. } | Event::Unlock { .. } => {
                return Err(Failure::Unsupported(LOCKS));
            }
            Event::Alloc { .. } => return Ok(()),
            _ => {}
        }
        self.now = None;
        // The chain refuses releases.
        self.isolation.event(event)?;
        self.structure.event(event)?;
        let strand = self.structure.strand(event.task());
        if O::DEPTH_FIRST && !self.structure.stands_for_now(strand, NOBODY) {
            return Err(Failure::Unsupported(ESCAPING));
        }
        Ok(())
    }

    /// The step of a task. None if the task is not live.
    #[inline]
    fn step_of(&mut self, task: TaskId) -> Result<Option<Now<O::Strand>>, Failure> {
        match self.now {
            Some(now) if now.task == task => Ok(Some(now)),
            _ => self.next_step_of(task),
        }
    }

    fn next_step_of(&mut self, task: TaskId) -> Result<Option<Now<O::Strand>>, Failure> {
        let Some(step) = self.isolation.now(task) else {
            return Ok(None);
        };
        let strand = self.structure.strand(task);
        let index = step.id.index();
        if self.stamps.len() <= index {
            let more = index + 1 - self.stamps.len();
            make_room(&mut self.stamps, more)?;
            self.stamps.resize(index + 1, NOBODY);
        }
        self.stamps[index] = self.structure.stamp(strand);
        self.now = Some(Now { task, step, strand });
        Ok(self.now)
    }

    #[inline]
    fn check(&mut self, access: &Access) -> Result<(), Failure> {
        let Some(now) = self.step_of(access.task)? else {
            return Ok(());
        };
        for location in access.locations() {
            let cell = self.cells.at(location)?;
            if cell.is_known(now.step.id, access.kind) {
                continue;
            }
            let (structure, isolation, stamps) =
                (&mut self.structure, &self.isolation, &self.stamps);
            let race = cell.access(
                now.step.id,
                access.kind,
                |earlier| {
                    isolation.before(earlier, now.step)
                        || !structure.parallel(now.strand, stamps[earlier.index()])
                },
                |earlier| isolation.first_block_after(earlier),
            );
            if let Some(earlier) = race {
                self.race(location, earlier, now.step.id);
            }
        }
        Ok(())
    }

    #[cold]
    fn race(&mut self, location: Location, earlier: StepId, now: StepId) {
        let nodes = [earlier, now].map(|step| NodeId::at(step.index()));
        self.races.add(location, nodes);
    }

    /// Memory in use.
    pub fn used_bytes(&self) -> usize {
        self.structure.used_bytes()
            + self.isolation.used_bytes()
            + self.stamps.capacity() * size_of::<Stamp>()
            + self.cells.used_bytes()
    }
}

impl<O: Order, H: History> Online for LabelsOf<O, H> {
    fn new() -> Result<Self, Failure> {
        Ok(LabelsOf {
            structure: O::new()?,
            isolation: IsolationOrder::new(),
            stamps: Vec::new(),
            cells: Cells::default(),
            now: None,
            races: FirstRaces::default(),
            failure: None,
        })
    }

    fn finish(self) -> Result<Vec<RacingLocation>, Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.races.into_list()),
        }
    }
}

impl<O: Order, H: History> Observer for LabelsOf<O, H> {
    fn event(&mut self, event: &Event) {
        if self.failure.is_none() {
            self.failure = self.follow(event).err();
        }
    }

    #[inline]
    fn access(&mut self, access: &Access) {
        if self.failure.is_none() {
            self.failure = self.check(access).err();
        }
    }
}
