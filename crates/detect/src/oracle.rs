//! The oracle builds the whole computation graph of a run, closes it, and compares every pair of
//! accesses.
//!
//! It is quadratic, obvious, and independent of every detector: it shares no code with the orders
//! and histories, and needs no depth-first run.
//!
//! [`crate::steps`] makes the steps and edges. In the mode [`Mode::Observed`] the observed edges
//! count too: those of isolated blocks and of releases.
//!
//! Two accesses to one location conflict if one is a write. They exclude each other if both are in
//! isolated blocks, or if one lock protects both, at least one of them exclusively, and was taken
//! twice. Accesses that conflict and don't exclude each other race if no path joins their steps.
//!
//! Steps come in an order of the run, so the ancestors of a step are known when it begins: the
//! union of its predecessors' sets, one bit an earlier step. Memory: n²/8 bytes for n steps and
//! each mode. Equal accesses of a step are recorded once. Beyond a limit of steps, or of accesses,
//! the oracle gives up.

use crate::Failure;
use crate::findings::Findings;
use crate::locations::LocationSet;
use crate::order::Effort;
use crate::steps::{Hold, Observed, STEPS_OF_AN_EVENT, Step, StepGraph, Steps};
use finishline_model::Statistics;
use finishline_model::{Access, AccessId, AccessKind, Event, Location, LockId, Observer, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// The most recorded accesses for each step of the limit. Beyond it the oracle gives up.
pub const ACCESSES_A_STEP: usize = 100;

/// Which edges order steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Task structure alone.
    Structure,
    /// Task structure, the order in which isolated blocks ran, and releases with their acquires.
    Observed,
}

/// One access to one location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recorded {
    pub step: usize,
    pub task: TaskId,
    pub access: AccessId,
    pub kind: AccessKind,
    pub isolated: bool,
    /// The locks that protect it, as an index into the oracle's list.
    locks: usize,
}

#[derive(Debug)]
pub struct Oracle {
    steps_limit: usize,
    recorded: usize,
    failure: Option<Failure>,
    steps: Steps,
    closure: Closure,
    locksets: Vec<Vec<Hold>>,
    accesses: BTreeMap<Location, Vec<Recorded>>,
    /// By lock: those that were taken while it was held, and by whom.
    taken_inside: BTreeMap<LockId, BTreeSet<(LockId, TaskId)>>,
    statistics: Statistics,
}

impl Oracle {
    /// An oracle for runs of at most `steps_limit` steps.
    pub fn new(steps_limit: usize) -> Self {
        Oracle {
            steps_limit,
            recorded: 0,
            failure: None,
            steps: Steps::new(),
            closure: Closure::default(),
            locksets: Vec::new(),
            accesses: BTreeMap::new(),
            taken_inside: BTreeMap::new(),
            statistics: Statistics::default(),
        }
    }

    /// Whether the run was too big. Then the answers below cover only a part of it.
    pub fn gave_up(&self) -> bool {
        self.failure.is_some()
    }

    /// Every access, by location, in the order of the run.
    pub fn accesses(&self, location: Location) -> &[Recorded] {
        self.accesses.get(&location).map_or(&[], Vec::as_slice)
    }

    /// Whether one of the accesses happens before the other. They must be given in the order of the
    /// run.
    pub fn ordered(&self, mode: Mode, earlier: &Recorded, later: &Recorded) -> bool {
        self.ancestors(mode).contains(later.step, earlier.step)
    }

    pub fn racing_locations(&self, mode: Mode) -> BTreeSet<Location> {
        self.locations_with(|a, b| !self.exclude(a, b) && !self.ordered(mode, a, b))
    }

    /// The locations where two accesses conflict and exclude each other, but are parallel by
    /// structure.
    pub fn overlapping_locations(&self) -> BTreeSet<Location> {
        self.locations_with(|a, b| self.exclude(a, b) && !self.ordered(Mode::Structure, a, b))
    }

    /// The locations where two accesses conflict, do not exclude each other, and only observation
    /// orders them.
    pub fn excused_locations(&self) -> BTreeSet<Location> {
        self.locations_with(|a, b| {
            !self.exclude(a, b)
                && !self.ordered(Mode::Structure, a, b)
                && self.ordered(Mode::Observed, a, b)
        })
    }

    /// The locations with two conflicting accesses for which `holds` is true.
    fn locations_with(&self, holds: impl Fn(&Recorded, &Recorded) -> bool) -> BTreeSet<Location> {
        let with = self
            .accesses
            .iter()
            .filter(|(_, accesses)| any_pair(accesses, |a, b| conflict(a, b) && holds(a, b)));
        with.map(|(&location, _)| location).collect()
    }

    /// Whether two accesses exclude each other.
    pub fn exclude(&self, a: &Recorded, b: &Recorded) -> bool {
        let [of_a, of_b] = [a, b].map(|access| &self.locksets[access.locks]);
        a.isolated && b.isolated || of_a.iter().any(|a| of_b.iter().any(|b| a.excludes(b)))
    }

    /// Whether two isolated blocks conflict that are parallel by structure.
    pub fn isolated_blocks_conflict(&self) -> bool {
        let overlaps = |a: &Recorded, b: &Recorded| {
            conflict(a, b) && a.isolated && b.isolated && !self.ordered(Mode::Structure, a, b)
        };
        self.accesses
            .values()
            .any(|accesses| any_pair(accesses, overlaps))
    }

    /// Whether several tasks took locks that lead to each other: each was taken inside the other,
    /// directly or by way of others.
    pub fn locks_form_a_cycle(&self) -> bool {
        let leads_to = |first: LockId| {
            let mut reached = BTreeSet::new();
            let mut next = vec![first];
            while let Some(lock) = next.pop() {
                for (inner, _) in self.taken_inside.get(&lock).into_iter().flatten() {
                    if reached.insert(*inner) {
                        next.push(*inner);
                    }
                }
            }
            reached
        };
        let locks = self.taken_inside.keys();
        let reached: BTreeMap<LockId, BTreeSet<LockId>> =
            locks.map(|lock| (*lock, leads_to(*lock))).collect();
        let mutual = |a: LockId, b: LockId| {
            let leads = |from, to| reached.get(&from).is_some_and(|it| it.contains(&to));
            leads(a, b) && leads(b, a)
        };
        reached.keys().any(|&first| {
            let takings = self.taken_inside.iter().flat_map(|(outer, inside)| {
                let inner = inside.iter();
                inner.map(|(inner, task)| (*outer, *inner, *task))
            });
            let group = takings.filter(|(a, b, _)| mutual(first, *a) && mutual(first, *b));
            let takers: BTreeSet<TaskId> = group.map(|(.., task)| task).collect();
            takers.len() > 1
        })
    }

    /// The accesses of which some instance races with another, by task structure.
    pub fn racing_accesses(&self) -> BTreeSet<AccessId> {
        let mut racing = BTreeSet::new();
        self.each_race(|_, a, b| racing.extend([a.access, b.access]));
        racing
    }

    /// The accesses of which some instance conflicts with a parallel one, whether or not a lock
    /// keeps the two apart. Pairs in isolated blocks do not count.
    pub fn conflicting_accesses(&self) -> BTreeSet<AccessId> {
        let mut conflicting = BTreeSet::new();
        for accesses in self.accesses.values() {
            for (index, b) in accesses.iter().enumerate() {
                for a in &accesses[..index] {
                    let may_meet = conflict(a, b) && !(a.isolated && b.isolated);
                    if may_meet && !self.ordered(Mode::Structure, a, b) {
                        conflicting.extend([a.access, b.access]);
                    }
                }
            }
        }
        conflicting
    }

    /// Calls a function for every pair that races by task structure, in the order of the run.
    /// Quadratic in the accesses of a location.
    pub fn each_race(&self, mut found: impl FnMut(Location, &Recorded, &Recorded)) {
        for (&location, accesses) in &self.accesses {
            for (index, b) in accesses.iter().enumerate() {
                for a in &accesses[..index] {
                    let may_meet = conflict(a, b) && !self.exclude(a, b);
                    if may_meet && !self.ordered(Mode::Structure, a, b) {
                        found(location, a, b);
                    }
                }
            }
        }
    }

    /// The number of pairs of accesses to compare.
    pub fn pairs(&self) -> u64 {
        let counts = self.accesses.values().map(|accesses| accesses.len() as u64);
        counts.map(|count| count * count / 2).sum()
    }

    /// The answer in the form of a detector's, by task structure alone. Racing locations are in
    /// ascending order.
    pub fn finish(self) -> Result<Findings, Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut racing = LocationSet::new()?;
        for location in self.racing_locations(Mode::Structure) {
            racing.insert(location)?;
        }
        Ok(Findings {
            racing,
            isolated_conflict: self.isolated_blocks_conflict(),
            synchronised: self.steps.has_releases() && !self.excused_locations().is_empty(),
            overlap: self.steps.has_locks() && !self.overlapping_locations().is_empty(),
            lock_cycle: self.locks_form_a_cycle(),
            statistics: self.statistics,
            blocks: None,
            effort: Effort::default(),
            task_bytes: self.closure.structure.bytes() + self.closure.observed.bytes(),
            location_bytes: self.recorded * size_of::<Recorded>(),
        })
    }

    /// Starts over for another run.
    pub fn clear(&mut self) {
        self.recorded = 0;
        self.failure = None;
        self.steps.clear();
        self.closure.structure.clear();
        self.closure.observed.clear();
        self.locksets.clear();
        self.accesses.clear();
        self.taken_inside.clear();
        self.statistics = Statistics::default();
    }

    fn give_up(&mut self, what: &'static str, limit: usize) {
        self.failure.get_or_insert(Failure::TooMany { what, limit });
    }

    fn ancestors(&self, mode: Mode) -> &Ancestors {
        match mode {
            Mode::Structure => &self.closure.structure,
            Mode::Observed => &self.closure.observed,
        }
    }
}

fn conflict(a: &Recorded, b: &Recorded) -> bool {
    a.kind == AccessKind::Write || b.kind == AccessKind::Write
}

fn any_pair(accesses: &[Recorded], holds: impl Fn(&Recorded, &Recorded) -> bool) -> bool {
    accesses
        .iter()
        .enumerate()
        .any(|(index, b)| accesses[..index].iter().any(|a| holds(a, b)))
}

impl Observer for Oracle {
    fn event(&mut self, event: &Event) {
        if self.steps.count() + STEPS_OF_AN_EVENT > self.steps_limit {
            self.give_up("steps", self.steps_limit);
        }
        if self.gave_up() {
            return;
        }
        self.statistics.event(event);
        if let Event::Lock { task, lock, .. } = *event {
            for hold in &self.steps.now(task).holds {
                let inside = self.taken_inside.entry(hold.lock).or_default();
                inside.insert((lock, task));
            }
        }
        self.steps.event(event, &mut self.closure);
    }

    fn access(&mut self, access: &Access) {
        self.statistics.access(access);
        let state = self.steps.now(access.task);
        let (step, isolated) = (state.step, state.isolated);
        let (task, kind) = (access.task, access.kind);
        if self.locksets.last() != Some(&state.holds) {
            self.locksets.push(state.holds.clone());
        }
        let locks = self.locksets.len() - 1;
        let recorded = Recorded {
            step,
            task,
            access: access.id,
            kind,
            isolated,
            locks,
        };
        for location in access.locations() {
            if self.recorded >= self.steps_limit * ACCESSES_A_STEP {
                self.give_up("accesses", self.steps_limit * ACCESSES_A_STEP);
            }
            if self.gave_up() {
                return;
            }
            let accesses = self.accesses.entry(location).or_default();
            let mut of_this_step = accesses
                .iter()
                .rev()
                .take_while(|earlier| earlier.step == step);
            if !of_this_step.any(|earlier| *earlier == recorded) {
                accesses.push(recorded);
                self.recorded += 1;
            }
        }
    }
}

/// The steps that happen before each step, in either mode.
#[derive(Debug, Default)]
struct Closure {
    structure: Ancestors,
    observed: Ancestors,
}

impl StepGraph for Closure {
    fn step(&mut self, _: Step, predecessors: &[usize]) {
        self.observed.add(predecessors);
        self.structure.add(predecessors);
    }

    fn observed(&mut self, step: usize, predecessor: usize, _: Observed) {
        self.observed.also(step, predecessor);
    }

    fn after_glimpse(&mut self, _: Step, previous: usize, twin: usize) {
        let after = self.structure.add(&[previous]);
        self.observed.add(&[twin]);
        // Its own steps still precede it by structure.
        self.observed.also_as_in(&self.structure, after);
    }
}

/// For each step the set of its ancestors and itself. Row i has i + 1 bits.
#[derive(Debug, Default)]
struct Ancestors {
    starts: Vec<usize>,
    words: Vec<u64>,
}

impl Ancestors {
    fn len(&self) -> usize {
        self.starts.len()
    }

    /// Adds a step. The given steps and all their ancestors precede it.
    fn add(&mut self, predecessors: &[usize]) -> usize {
        let step = self.len();
        self.starts.push(self.words.len());
        self.words.resize(self.words.len() + step / 64 + 1, 0);
        let own = self.starts[step] + step / 64;
        self.words[own] |= 1 << (step % 64);
        for &predecessor in predecessors {
            self.also(step, predecessor);
        }
        step
    }

    /// Adds a predecessor to the newest step.
    fn also(&mut self, step: usize, predecessor: usize) {
        let (older, newest) = self.words.split_at_mut(self.starts[step]);
        let row = &older[self.starts[predecessor]..][..predecessor / 64 + 1];
        for (word, bits) in newest.iter_mut().zip(row) {
            *word |= bits;
        }
    }

    /// Adds the ancestors that a step has in the other graph.
    fn also_as_in(&mut self, other: &Ancestors, step: usize) {
        let own = &mut self.words[self.starts[step]..][..step / 64 + 1];
        for (word, bits) in own.iter_mut().zip(&other.words[other.starts[step]..]) {
            *word |= bits;
        }
    }

    fn contains(&self, step: usize, ancestor: usize) -> bool {
        ancestor <= step
            && self.words[self.starts[step] + ancestor / 64] >> (ancestor % 64) & 1 == 1
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.words[..]) + size_of_val(&self.starts[..])
    }

    fn clear(&mut self) {
        self.starts.clear();
        self.words.clear();
    }
}
