//! The oracle builds the whole computation graph of a run, closes it, and compares every pair of
//! accesses.
//!
//! It is quadratic, obvious, and independent of every detector: it shares no code with the orders
//! and histories, and needs no depth-first run.
//!
//! Nodes are steps. Every event except an allocation ends the step of its task. Edges go from a
//! step to the next step of its task, from a creation to the first step of the task, and from the
//! last step of a task to the step after the end or join of its immediately enclosing finish, and
//! from the `set` of a promise to the step after each of its gets. A join of a finish is also a
//! join of the finishes open inside it. In the mode [`Mode::Observed`] each isolated block has an
//! edge to the next one that ran, and each release of an object has an edge to the acquires that
//! see it.
//!
//! A glimpse is an acquire that expires. During a glimpse each step of the task has a twin without
//! accesses. All edges except that of the glimpse go to the twin as well. After the glimpse the
//! task goes on from the twin. Suspension adds no edges.
//!
//! Two accesses to one location conflict if one is a write. They exclude each other if both are in
//! isolated blocks, or if one lock protects both, at least one of them exclusively, and was taken
//! twice. A task is protected by the locks that it has taken, and by those that protected the owner
//! of its finish when that began. Accesses that conflict and don't exclude each other race if no
//! path joins their steps.
//!
//! Steps come in an order of the run, so the ancestors of a step are known when it begins: the
//! union of its predecessors' sets, one bit an earlier step. Memory: n²/8 bytes for n steps and
//! each mode. Equal accesses of a step are recorded once. Beyond a limit of steps, or of accesses,
//! the oracle gives up.

use crate::Failure;
use crate::findings::Findings;
use crate::locations::LocationSet;
use crate::order::Effort;
use finishline_model::Statistics;
use finishline_model::{
    Access, AccessId, AccessKind, Event, Location, LockId, LockMode, ObjectId, Observer, TaskId,
};
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

/// A lock that was taken once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hold {
    lock: LockId,
    mode: LockMode,
    /// The number of this taking among all takings of locks.
    taken: usize,
}

#[derive(Debug, Default)]
struct TaskState {
    step: usize,
    /// The `FinishId` of the finish that waits for the task.
    finish: usize,
    /// The finishes that the task has open, innermost last.
    open: Vec<usize>,
    isolated: bool,
    /// The twin of its step during a glimpse.
    firmly: Option<usize>,
    /// The locks that protected it from its beginning, then those that it has taken.
    holds: Vec<Hold>,
}

#[derive(Debug)]
pub struct Oracle {
    steps_limit: usize,
    recorded: usize,
    failure: Option<Failure>,
    structure: Ancestors,
    observed: Ancestors,
    tasks: BTreeMap<TaskId, TaskState>,
    /// The last steps of a finish's ended tasks that no join has waited for yet.
    ended: BTreeMap<usize, Vec<usize>>,
    last_isolated: Option<usize>,
    /// The locks that protected the owner of a finish when the finish began.
    protects: BTreeMap<usize, Vec<Hold>>,
    /// The releases of an object that are in effect.
    released: BTreeMap<ObjectId, Vec<usize>>,
    /// The step that set a promise.
    set_by: BTreeMap<Location, usize>,
    locks_taken: usize,
    locksets: Vec<Vec<Hold>>,
    accesses: BTreeMap<Location, Vec<Recorded>>,
    statistics: Statistics,
}

impl Oracle {
    /// An oracle for runs of at most `steps_limit` steps.
    pub fn new(steps_limit: usize) -> Self {
        Oracle {
            steps_limit,
            recorded: 0,
            failure: None,
            structure: Ancestors::default(),
            observed: Ancestors::default(),
            tasks: BTreeMap::new(),
            ended: BTreeMap::new(),
            last_isolated: None,
            protects: BTreeMap::new(),
            released: BTreeMap::new(),
            set_by: BTreeMap::new(),
            locks_taken: 0,
            locksets: Vec::new(),
            accesses: BTreeMap::new(),
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
        let excludes = |a: &Hold, b: &Hold| {
            a.lock == b.lock
                && a.taken != b.taken
                && (a.mode == LockMode::Exclusive || b.mode == LockMode::Exclusive)
        };
        let [of_a, of_b] = [a, b].map(|access| &self.locksets[access.locks]);
        a.isolated && b.isolated || of_a.iter().any(|a| of_b.iter().any(|b| excludes(a, b)))
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

    /// The accesses of which some instance races with another, by task structure.
    pub fn racing_accesses(&self) -> BTreeSet<AccessId> {
        let mut racing = BTreeSet::new();
        self.each_race(|_, a, b| racing.extend([a.access, b.access]));
        racing
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
            synchronised: !self.released.is_empty() && !self.excused_locations().is_empty(),
            overlap: self.locks_taken > 0 && !self.overlapping_locations().is_empty(),
            statistics: self.statistics,
            effort: Effort::default(),
            task_bytes: self.structure.bytes() + self.observed.bytes(),
            location_bytes: self.recorded * size_of::<Recorded>(),
        })
    }

    /// Starts over for another run.
    pub fn clear(&mut self) {
        self.recorded = 0;
        self.failure = None;
        self.structure.clear();
        self.observed.clear();
        self.tasks.clear();
        self.ended.clear();
        self.last_isolated = None;
        self.protects.clear();
        self.released.clear();
        self.set_by.clear();
        self.locks_taken = 0;
        self.locksets.clear();
        self.accesses.clear();
        self.statistics = Statistics::default();
    }

    fn give_up(&mut self, what: &'static str, limit: usize) {
        self.failure.get_or_insert(Failure::TooMany { what, limit });
    }

    fn ancestors(&self, mode: Mode) -> &Ancestors {
        match mode {
            Mode::Structure => &self.structure,
            Mode::Observed => &self.observed,
        }
    }

    fn new_step(&mut self, predecessors: &[usize]) -> usize {
        self.observed.add(predecessors);
        self.structure.add(predecessors)
    }

    /// Gives the task a new step. Its previous step and `also` precede it.
    fn next_step(&mut self, task: TaskId, also: &[usize]) -> usize {
        let mut predecessors = vec![self.task(task).step];
        predecessors.extend(also);
        let step = self.new_step(&predecessors);
        self.task(task).step = step;
        if let Some(twin) = self.task(task).firmly {
            predecessors[0] = twin;
            self.task(task).firmly = Some(self.new_step(&predecessors));
        }
        step
    }

    /// The releases of an object that are in effect happen before the newest step.
    fn see(&mut self, object: ObjectId) {
        let step = self.observed.len() - 1;
        for release in self.released.get(&object).into_iter().flatten() {
            self.observed.also(step, *release);
        }
    }

    fn task(&mut self, task: TaskId) -> &mut TaskState {
        self.tasks.entry(task).or_default()
    }

    /// Lets the task wait for everything in the finish and in those open inside it.
    fn join(&mut self, task: TaskId, finish: usize) {
        let open = &self.tasks.entry(task).or_default().open;
        let outermost = open
            .iter()
            .position(|&other| other == finish)
            .unwrap_or(open.len());
        let mut ended = Vec::new();
        for inside in &open[outermost..] {
            ended.extend(self.ended.remove(inside).unwrap_or_default());
        }
        self.next_step(task, &ended);
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
        // An event makes at most three steps.
        if self.structure.len() + 3 > self.steps_limit {
            self.give_up("steps", self.steps_limit);
        }
        if self.gave_up() {
            return;
        }
        self.statistics.event(event);
        match *event {
            Event::TaskBegin {
                task,
                parent,
                finish,
                ..
            } => {
                let creation: Vec<usize> = parent.iter().map(|&p| self.task(p).step).collect();
                let step = self.new_step(&creation);
                let finish = finish.index();
                self.tasks.insert(
                    task,
                    TaskState {
                        step,
                        finish,
                        holds: self.protects.get(&finish).cloned().unwrap_or_default(),
                        ..TaskState::default()
                    },
                );
                if let Some(parent) = parent {
                    self.next_step(parent, &[]);
                }
            }
            Event::TaskEnd { task } => {
                let TaskState { step, finish, .. } = *self.task(task);
                self.ended.entry(finish).or_default().push(step);
            }
            Event::FinishBegin { task, finish, .. } => {
                self.next_step(task, &[]);
                let task = self.task(task);
                task.open.push(finish.index());
                let holds = task.holds.clone();
                self.protects.insert(finish.index(), holds);
            }
            Event::FinishJoin { task, finish, .. } => self.join(task, finish.index()),
            Event::FinishEnd { task, finish, .. } => {
                self.join(task, finish.index());
                self.task(task).open.pop();
            }
            Event::IsolatedBegin { task, .. } => {
                let step = self.next_step(task, &[]);
                self.task(task).isolated = true;
                if let Some(previous) = self.last_isolated.replace(step) {
                    self.observed.also(step, previous);
                }
            }
            Event::IsolatedEnd { task, .. } => {
                self.task(task).isolated = false;
                self.next_step(task, &[]);
            }
            Event::Lock { task, lock, mode } => {
                let taken = self.locks_taken;
                self.locks_taken += 1;
                self.task(task).holds.push(Hold { lock, mode, taken });
            }
            Event::Unlock { task, lock } => {
                let holds = &mut self.task(task).holds;
                if let Some(place) = holds.iter().rposition(|hold| hold.lock == lock) {
                    holds.remove(place);
                }
            }
            Event::Release {
                task,
                object,
                continues,
            } => {
                let step = self.task(task).step;
                let released = self.released.entry(object).or_default();
                if !continues {
                    released.clear();
                }
                released.push(step);
                self.next_step(task, &[]);
            }
            Event::Acquire { task, object } => {
                let firmly = self.task(task).firmly.take();
                self.next_step(task, &[]);
                self.see(object);
                if let Some(twin) = firmly {
                    self.task(task).firmly = Some(self.new_step(&[twin]));
                    self.see(object);
                }
            }
            Event::Relay {
                from,
                to,
                continues,
                ..
            } => {
                let mut held = self.released.get(&from).cloned().unwrap_or_default();
                if continues {
                    held.extend(self.released.get(&to).into_iter().flatten());
                }
                self.released.insert(to, held);
            }
            Event::Glimpse { task, object } => {
                let step = self.task(task).step;
                self.task(task).firmly.get_or_insert(step);
                let firmly = self.task(task).firmly.take();
                self.next_step(task, &[]);
                self.see(object);
                self.task(task).firmly = firmly;
            }
            Event::GlimpseEnd { task, keep } => {
                let (step, twin) = (self.task(task).step, self.task(task).firmly.take());
                if let Some(twin) = twin.filter(|_| !keep) {
                    let after = self.structure.add(&[step]);
                    self.observed.add(&[twin]);
                    // Its own steps still precede it by structure.
                    self.observed.also_as_in(&self.structure, after);
                    self.task(task).step = after;
                }
            }
            Event::PromiseSet { task, promise, .. } => {
                let step = self.task(task).step;
                self.set_by.insert(promise, step);
                let after = self.next_step(task, &[]);
                if self.task(task).isolated {
                    self.last_isolated = Some(after);
                }
            }
            Event::PromiseGet { task, promise, .. } => {
                let set_by = self.set_by.get(&promise).copied();
                self.next_step(task, set_by.as_slice());
            }
            Event::Suspend { .. } | Event::Resume { .. } => {}
            Event::Alloc { .. } => {}
        }
    }

    fn access(&mut self, access: &Access) {
        self.statistics.access(access);
        let state = self.tasks.entry(access.task).or_default();
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
