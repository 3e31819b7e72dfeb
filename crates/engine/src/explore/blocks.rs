//! Follows one run and notes its isolated blocks: what each touches, and what happens before it.
//!
//! Only *conflicting* blocks are ordered, by the order in which they ran. A block happens before
//! what follows it by task structure, before the later blocks that it conflicts with, and before
//! what these happen before. An order of all blocks would be too strong: blocks that do not
//! conflict can be exchanged, and if only their order separates two accesses, those race.
//!
//! What happens before a task's next step is a set of blocks, one bit each. A task gets its
//! creator's set, a join adds the sets of the tasks that it waits for, a `get` that of the `set`.
//! Nothing else changes it but the task's own blocks.
//!
//! The events are passed on to a detector with the same order. A block is held back until its end,
//! when its conflicts are known. Then the detector hears of an *acquire* of each earlier block that
//! it conflicts with, then of the block, then of a *release* by it. An `isolated` block is atomic,
//! so all of it comes after all of the earlier one.
//!
//! Cost: a set takes a bit for each block of the run, and tasks share it until it changes.

use super::footprint::{Footprint, NamedLocation, Touch};
use super::task_names::{TaskName, TaskNames};
use finishline_ir::listener::{Allocated, Creation, Listener};
use finishline_ir::steering::steering;
use finishline_ir::updates::updates;
use finishline_ir::{BinaryOp, Module};
use finishline_model::event::{Record, replay};
use finishline_model::{
    Access, AccessId, AccessKind, Event, FinishId, Location, ObjectId, Observer, TaskId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::sync::Arc;

/// Some blocks of a run, by their numbers. A set is never changed in place unless nobody shares it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockSet(Rc<Vec<u64>>);

impl BlockSet {
    pub fn contains(&self, block: usize) -> bool {
        let word = self.0.get(block / 64).copied().unwrap_or_default();
        word >> (block % 64) & 1 == 1
    }

    fn insert(&mut self, block: usize) {
        let words = Rc::make_mut(&mut self.0);
        words.resize(words.len().max(block / 64 + 1), 0);
        words[block / 64] |= 1 << (block % 64);
    }

    fn add(&mut self, other: &BlockSet) {
        if Rc::ptr_eq(&self.0, &other.0) || other.0.is_empty() {
            return;
        }
        if self.0.is_empty() {
            self.0 = other.0.clone();
            return;
        }
        let covered =
            self.0.len() >= other.0.len() && other.0.iter().zip(&*self.0).all(|(b, a)| b & !a == 0);
        if !covered {
            let words = Rc::make_mut(&mut self.0);
            words.resize(words.len().max(other.0.len()), 0);
            for (a, b) in words.iter_mut().zip(&*other.0) {
                *a |= b;
            }
        }
    }
}

/// An isolated block that ran.
#[derive(Clone, Debug)]
pub struct Block {
    pub task: TaskName,
    /// How many blocks the task had run before.
    pub ordinal: u32,
    pub footprint: Arc<Footprint>,
    /// The blocks that happen before it.
    pub before: BlockSet,
    /// The earlier blocks that it conflicts with, where nothing else orders the two: without that
    /// one block, this one could have come first.
    pub reversible: Vec<usize>,
}

struct TaskState {
    name: TaskName,
    finish: FinishId,
    /// How many tasks and objects it has made.
    created: u32,
    allocated: u32,
    blocks: u32,
    before: BlockSet,
}

/// The accesses of blocks to one location that a later block can conflict with.
#[derive(Default)]
struct Touched(Vec<(usize, Touch)>);

/// The block under way.
#[derive(Default)]
struct UnderWay {
    task: Option<TaskId>,
    records: Vec<Record>,
    touches: FxHashMap<Location, Touch>,
    /// The accesses in `records`.
    heard: FxHashSet<(Location, AccessKind)>,
    /// Promises that it has set: what waits for them goes on after the block.
    set: Vec<Location>,
}

impl UnderWay {
    /// A value that steers may have come through memory that the block has written itself. Then
    /// whatever the block has read may have gone into it.
    fn follow_memory(&mut self) {
        let mut touches = self.touches.values();
        if touches.any(|touch| *touch == Touch::Write { steers: true }) {
            for touch in self.touches.values_mut() {
                *touch = touch.steering();
            }
        }
    }
}

/// What the accesses of a program do besides reading and writing.
#[derive(Default)]
pub struct Roles {
    updates: FxHashMap<AccessId, BinaryOp>,
    steering: FxHashSet<AccessId>,
}

impl Roles {
    pub fn of(module: &Module) -> Roles {
        Roles {
            updates: updates(module).into_iter().collect(),
            steering: steering(module).into_iter().collect(),
        }
    }

    fn touch(&self, access: &Access) -> Touch {
        match (self.updates.get(&access.id), access.kind) {
            (Some(op), _) => Touch::Update(*op),
            (None, AccessKind::Read) => Touch::Read {
                steers: self.steering.contains(&access.id),
            },
            (None, AccessKind::Write) => Touch::Write { steers: false },
        }
    }
}

/// Follows a run. See the module.
pub struct Blocks<'a, D> {
    names: &'a mut TaskNames,
    roles: &'a Roles,
    detector: D,
    tasks: Vec<TaskState>,
    /// By finish: what happens before its end.
    ended: FxHashMap<FinishId, BlockSet>,
    set: FxHashMap<Location, BlockSet>,
    /// Objects by their first location, in increasing order: who made each, and its number there.
    objects: Vec<(Location, TaskName, u32)>,
    touched: FxHashMap<Location, Touched>,
    under_way: UnderWay,
    blocks: Vec<Block>,
    /// Whether the detector also hears of accesses that a block repeats.
    with_repetitions: bool,
}

impl<'a, D: Listener> Blocks<'a, D> {
    /// Passes the events on to `detector`.
    pub fn new(names: &'a mut TaskNames, roles: &'a Roles, detector: D) -> Self {
        Blocks {
            names,
            roles,
            detector,
            tasks: Vec::new(),
            ended: FxHashMap::default(),
            set: FxHashMap::default(),
            objects: Vec::new(),
            touched: FxHashMap::default(),
            under_way: UnderWay::default(),
            blocks: Vec::new(),
            with_repetitions: false,
        }
    }

    /// Lets the detector hear of every access. Otherwise a block takes memory for each location
    /// alone.
    #[must_use]
    pub fn with_repetitions(self) -> Self {
        Blocks {
            with_repetitions: true,
            ..self
        }
    }

    pub fn name(&self, task: TaskId) -> TaskName {
        self.tasks[task.index()].name
    }

    /// The blocks that have ended.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    pub fn detector(&self) -> &D {
        &self.detector
    }

    pub fn into_parts(self) -> (Vec<Block>, D) {
        (self.blocks, self.detector)
    }

    /// The program failed inside a block. No other block can run after that, so it conflicts with
    /// all of them.
    pub fn end_failed_block(&mut self) {
        if let Some(task) = self.under_way.task {
            self.end_block(task, true);
        }
    }

    fn end_block(&mut self, task: TaskId, failed: bool) {
        let mut under_way = std::mem::take(&mut self.under_way);
        under_way.follow_memory();
        let number = self.blocks.len();
        let structural = self.tasks[task.index()].before.clone();
        let mut conflicting: Vec<usize> = Vec::new();
        for (location, touch) in &under_way.touches {
            let touched = self.touched.entry(*location).or_default();
            let earlier = touched.0.iter();
            conflicting.extend(
                earlier
                    .filter(|(_, other)| touch.conflicts(*other))
                    .map(|it| it.0),
            );
            if matches!(touch, Touch::Write { .. }) {
                // What conflicts with an earlier touch conflicts with this one.
                touched.0.clear();
            }
            touched.0.push((number, *touch));
        }
        conflicting.sort_unstable();
        conflicting.dedup();
        for earlier in &conflicting {
            self.detector.event(&Event::Acquire {
                task,
                object: object_of(*earlier),
            });
        }
        if failed {
            // That nothing can follow a failure orders no accesses.
            conflicting = (0..number).collect();
        }
        let mut before = structural.clone();
        for earlier in &conflicting {
            before.add(&self.blocks[*earlier].before);
        }
        let by_others = before.clone();
        for earlier in &conflicting {
            before.insert(*earlier);
        }
        replay(&under_way.records, &mut self.detector);
        self.detector.event(&Event::Release {
            task,
            object: object_of(number),
            continues: false,
        });

        let touches = under_way.touches.iter();
        let named = touches.filter_map(|(location, touch)| Some((self.named(*location)?, *touch)));
        let footprint = match failed {
            false => Footprint::new(named.collect()),
            true => Footprint::everything(),
        };
        let footprint = Arc::new(footprint);
        conflicting.retain(|earlier| !by_others.contains(*earlier));
        let state = &mut self.tasks[task.index()];
        self.blocks.push(Block {
            task: state.name,
            ordinal: state.blocks,
            footprint,
            before: before.clone(),
            reversible: conflicting,
        });
        state.blocks += 1;
        before.insert(number);
        state.before = before.clone();
        for promise in under_way.set {
            self.set.insert(promise, before.clone());
        }
    }

    /// None only if nobody has told of the object.
    fn named(&self, location: Location) -> Option<NamedLocation> {
        let after = self
            .objects
            .partition_point(|(first, ..)| *first <= location);
        let (first, creator, ordinal) = *self.objects.get(after.checked_sub(1)?)?;
        Some(NamedLocation {
            creator,
            ordinal,
            offset: location.0 - first.0,
        })
    }

    fn begin_task(&mut self, task: TaskId, parent: Option<TaskId>, finish: FinishId) {
        let mut state = TaskState {
            name: TaskName::MAIN,
            finish,
            created: 0,
            allocated: 0,
            blocks: 0,
            before: BlockSet::default(),
        };
        if let Some(parent) = parent {
            let parent = &mut self.tasks[parent.index()];
            state.name = self.names.child(parent.name, parent.created);
            parent.created += 1;
            state.before = parent.before.clone();
        }
        debug_assert_eq!(task.index(), self.tasks.len());
        self.tasks.push(state);
    }
}

fn object_of(block: usize) -> ObjectId {
    ObjectId::from_index(block)
}

impl<D: Listener> Observer for Blocks<'_, D> {
    fn event(&mut self, event: &Event) {
        match *event {
            Event::TaskBegin {
                task,
                parent,
                finish,
                ..
            } => self.begin_task(task, parent, finish),
            Event::TaskEnd { task } => {
                let state = &mut self.tasks[task.index()];
                let before = std::mem::take(&mut state.before);
                self.ended.entry(state.finish).or_default().add(&before);
            }
            Event::FinishJoin { task, finish, .. } | Event::FinishEnd { task, finish, .. } => {
                if let Some(ended) = self.ended.remove(&finish) {
                    self.tasks[task.index()].before.add(&ended);
                }
            }
            Event::PromiseSet { task, promise, .. } => {
                if self.under_way.task == Some(task) {
                    self.under_way.set.push(promise);
                } else {
                    let before = self.tasks[task.index()].before.clone();
                    self.set.insert(promise, before);
                }
            }
            Event::PromiseGet { task, promise, .. } => {
                if let Some(set) = self.set.get(&promise) {
                    self.tasks[task.index()].before.add(set);
                }
            }
            Event::Alloc { task, first, .. } => {
                let state = &mut self.tasks[task.index()];
                self.objects.push((first, state.name, state.allocated));
                state.allocated += 1;
            }
            Event::IsolatedBegin { task, .. } => self.under_way.task = Some(task),
            _ => {}
        }
        match self.under_way.task {
            None => self.detector.event(event),
            Some(task) => {
                self.under_way.records.push(Record::Event(*event));
                if matches!(event, Event::IsolatedEnd { .. }) {
                    self.end_block(task, false);
                }
            }
        }
    }

    fn access(&mut self, access: &Access) {
        if self.under_way.task != Some(access.task) {
            self.detector.access(access);
            return;
        }
        let touch = self.roles.touch(access);
        let UnderWay {
            touches,
            heard,
            records,
            ..
        } = &mut self.under_way;
        let mut is_new = self.with_repetitions;
        for location in access.locations() {
            let touched = touches.entry(location).or_insert(touch);
            *touched = touched.and(touch);
            is_new |= heard.insert((location, access.kind));
        }
        if is_new {
            records.push(Record::Access(*access));
        }
    }
}

impl<D: Listener> Listener for Blocks<'_, D> {
    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        self.detector.created(task, creation);
    }

    /// Nobody has accessed the object yet, so it does not matter if a block is held back.
    fn allocated(&mut self, object: &Allocated<'_>) {
        self.detector.allocated(object);
    }
}
