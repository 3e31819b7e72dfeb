//! Follows one run and notes its isolated and locked blocks: what each touches, and what happens
//! before it.
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
//! **Locks.** A *locked block* is what a task does from the acquire of a lock to its next acquire
//! or isolated block. It touches what it accesses under locks, and the locks themselves: it only
//! reads a lock that it acquires and releases, since such blocks can be exchanged if their data
//! allows it, and it writes a lock that it holds at its beginning or its end. An isolated block of
//! a task that holds locks goes on as a locked block. What these blocks order,
//! [`sections`](super::sections) tells the detector. A block that begins with the acquire of a lock
//! can't come before a block whose task holds the lock already: it can come before the one that
//! acquired it.
//!
//! Cost: a set takes a bit for each block of the run, and tasks share it until it changes.

use super::footprint::{Footprint, NamedLocation, Touch};
use super::sections::{Hold, Sections};
use super::task_names::{TaskName, TaskNames};
use finishline_ir::listener::{Allocated, Creation, Listener, Shape};
use finishline_ir::steering::steering;
use finishline_ir::updates::updates;
use finishline_ir::{BinaryOp, Module};
use finishline_model::event::{Record, replay};
use finishline_model::{
    Access, AccessId, AccessKind, Event, FinishId, Location, LockId, ObjectId, Observer, SiteId,
    TaskId,
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

    fn iter(&self) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate();
        words.flat_map(|(at, word)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| at * 64 + bit)
        })
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

/// An isolated or locked block that ran.
#[derive(Clone, Debug)]
pub struct Block {
    pub task: TaskName,
    /// How many blocks the task had run before.
    pub ordinal: u32,
    /// Where it begins.
    pub site: SiteId,
    pub footprint: Arc<Footprint>,
    /// The blocks that happen before it, and those that do by task structure and the conflicts of
    /// earlier blocks.
    pub before: BlockSet,
    pub structural: BlockSet,
    /// The earlier blocks that it conflicts with, where nothing else orders the two: without that
    /// one block, this one could have come first. Instead of a block whose task holds the lock that
    /// this one begins with, the block that acquired it.
    pub reversible: Vec<usize>,
}

/// A task that waits for a lock when nobody goes on.
#[derive(Clone, Copy, Debug)]
pub struct Blocked {
    pub task: TaskName,
    /// How many blocks the task has run.
    pub ordinal: u32,
    /// The block that acquired the lock. Without it, the task could have gone on.
    pub acquired: usize,
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

/// The locked block under way.
struct Locked {
    task: TaskId,
    number: usize,
    /// The lock that it begins with. None if it begins with an isolated block.
    begins: Option<LockId>,
    /// What happens before it by task structure, and which locks its task held before.
    structural: BlockSet,
    held: Box<[Hold]>,
    touches: FxHashMap<Location, Touch>,
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
    locked: Option<Locked>,
    sections: Sections,
    /// By number of the lock.
    locks: Vec<Location>,
    blocks: Vec<Block>,
    /// Where the latest block begins.
    begins_at: SiteId,
    /// Isolated blocks that set promises.
    setters: Vec<usize>,
    /// By block: the locks that its task held when it began.
    held: Vec<Box<[Hold]>>,
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
            locked: None,
            sections: Sections::default(),
            locks: Vec::new(),
            blocks: Vec::new(),
            begins_at: SiteId(0),
            setters: Vec::new(),
            held: Vec::new(),
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

    /// The next block begins at this place.
    pub fn enter(&mut self, site: SiteId) {
        self.begins_at = site;
    }

    /// The blocks that have ended.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    pub fn detector(&self) -> &D {
        &self.detector
    }

    pub fn into_parts(mut self) -> (Vec<Block>, D) {
        self.end_locked_block();
        (self.blocks, self.detector)
    }

    /// The program failed inside a block. No other block can run after that, so it conflicts with
    /// all of them.
    pub fn end_failed_block(&mut self) {
        if let Some(task) = self.under_way.task {
            self.end_block(task, true);
        }
    }

    /// An isolated block ends.
    fn end_block(&mut self, task: TaskId, failed: bool) {
        let mut under_way = std::mem::take(&mut self.under_way);
        under_way.follow_memory();
        let number = self.blocks.len();
        let structural = self.tasks[task.index()].before.clone();
        let conflicting = self.conflicting(&under_way.touches);
        // What gets a promise goes on while the block that set it may still be under way, until it
        // comes to an isolated block of its own.
        let setters = self.setters.iter().filter(|it| structural.contains(**it));
        for earlier in conflicting.iter().chain(setters) {
            self.detector.event(&Event::Acquire {
                task,
                object: object_of(*earlier),
            });
        }
        let held: Box<[Hold]> = self.sections.held(task).into();
        if !held.is_empty() {
            for (location, touch) in &under_way.touches {
                let sections = &mut self.sections;
                sections.access(task, *location, *touch, &mut self.detector);
            }
        }
        replay(&under_way.records, &mut self.detector);
        self.detector.event(&Event::Release {
            task,
            object: object_of(number),
            continues: false,
        });
        self.begin_any_block(task, number);
        let locked = Locked {
            task,
            number,
            begins: None,
            structural,
            held,
            touches: under_way.touches,
        };
        match locked.held.is_empty() || failed {
            true => self.close(locked, conflicting, failed),
            false => self.locked = Some(locked),
        }
        if !under_way.set.is_empty() {
            self.setters.push(number);
        }
        for promise in under_way.set {
            let before = self.tasks[task.index()].before.clone();
            self.set.insert(promise, before);
        }
    }

    /// The task has begun a block: what it does next happens after it.
    fn begin_any_block(&mut self, task: TaskId, number: usize) {
        let state = &mut self.tasks[task.index()];
        state.blocks += 1;
        state.before.insert(number);
    }

    fn begin_locked_block(&mut self, task: TaskId, lock: LockId) {
        let number = self.blocks.len();
        self.locked = Some(Locked {
            task,
            number,
            begins: Some(lock),
            structural: self.tasks[task.index()].before.clone(),
            held: self.sections.held(task).into(),
            touches: FxHashMap::default(),
        });
        self.begin_any_block(task, number);
    }

    /// Nobody goes on before another block begins: the locked block under way has ended.
    pub fn end_locked_block(&mut self) {
        let Some(mut locked) = self.locked.take() else {
            return;
        };
        self.sections.carry(locked.task, &mut self.detector);
        let still_held = self.sections.held(locked.task);
        let before = locked.held.iter().map(|hold| hold.lock);
        for lock in before.chain(locked.begins) {
            let is_carried = locked.held.iter().chain(still_held);
            let touch = match is_carried.clone().any(|hold| hold.lock == lock) {
                true => Touch::Write { steers: false },
                false => Touch::Read { steers: false },
            };
            if let Some(location) = self.locks.get(lock.index()) {
                locked.touches.insert(*location, touch);
            }
        }
        let conflicting = self.conflicting(&locked.touches);
        self.close(locked, conflicting, false);
    }

    /// The earlier blocks that one with these touches conflicts with.
    fn conflicting(&self, touches: &FxHashMap<Location, Touch>) -> Vec<usize> {
        let mut conflicting: Vec<usize> = Vec::new();
        for (location, touch) in touches {
            let earlier = self.touched.get(location).into_iter().flat_map(|it| &it.0);
            let conflicts = earlier.filter(|(_, other)| touch.conflicts(*other));
            conflicting.extend(conflicts.map(|it| it.0));
        }
        conflicting.sort_unstable();
        conflicting.dedup();
        conflicting
    }

    /// Adds a block that has ended.
    fn close(&mut self, block: Locked, mut conflicting: Vec<usize>, failed: bool) {
        let Locked {
            task,
            number,
            begins,
            structural,
            held,
            touches,
        } = block;
        for (location, touch) in &touches {
            let touched = self.touched.entry(*location).or_default();
            if matches!(touch, Touch::Write { .. }) {
                // What conflicts with an earlier touch conflicts with this one.
                touched.0.clear();
            }
            touched.0.push((number, *touch));
        }
        if failed {
            // That nothing can follow a failure orders no accesses.
            conflicting = (0..number).collect();
        }
        let structural = self.closed(structural);
        let mut before = structural.clone();
        for earlier in &conflicting {
            before.add(&self.blocks[*earlier].before);
        }
        let by_others = before.clone();
        for earlier in &conflicting {
            before.insert(*earlier);
        }
        let mut reversible = Vec::new();
        for &earlier in &conflicting {
            let acquired = begins.and_then(|lock| {
                let held = self.held[earlier].iter();
                Some(held.into_iter().find(|hold| hold.lock == lock)?.block)
            });
            match acquired {
                None if !by_others.contains(earlier) => reversible.push(earlier),
                Some(acquired) if !self.is_before(&structural, &conflicting, begins, acquired) => {
                    reversible.push(acquired);
                }
                _ => {}
            }
        }
        reversible.sort_unstable();
        reversible.dedup();

        let touches = touches.iter();
        let named = touches.filter_map(|(location, touch)| Some((self.named(*location)?, *touch)));
        let footprint = match failed {
            false => Footprint::new(named.collect()),
            true => Footprint::everything(),
        };
        let state = &mut self.tasks[task.index()];
        state.before.add(&before);
        self.blocks.push(Block {
            task: state.name,
            ordinal: state.blocks - 1,
            site: self.begins_at,
            footprint: Arc::new(footprint),
            before,
            structural,
            reversible,
        });
        self.held.push(held);
    }

    /// Whether a block that acquired the lock comes before one that begins with the same lock, for
    /// another reason than that lock.
    fn is_before(
        &self,
        structural: &BlockSet,
        conflicting: &[usize],
        begins: Option<LockId>,
        acquired: usize,
    ) -> bool {
        let in_section = |block: usize| {
            let mut held = self.held[block].iter();
            block == acquired
                || held.any(|hold| Some(hold.lock) == begins && hold.block == acquired)
        };
        let mut others = conflicting.iter().filter(|block| !in_section(**block));
        structural.contains(acquired)
            || others.any(|block| self.blocks[*block].before.contains(acquired))
    }

    /// What happens before a task's next block. A task may have been created, or joined, while a
    /// block was under way of which it was not yet known what happens before it.
    fn closed(&self, mut structural: BlockSet) -> BlockSet {
        if self.locks.is_empty() {
            return structural;
        }
        for block in structural
            .clone()
            .iter()
            .filter(|it| *it < self.blocks.len())
        {
            structural.add(&self.blocks[block].before);
        }
        structural
    }

    /// The task waits for the lock at this location, and nobody goes on. None if nothing that it
    /// could have come before keeps it from going on.
    pub fn blocked(&self, task: TaskId, lock: Location) -> Option<Blocked> {
        let lock = self.locks.iter().position(|it| *it == lock)?;
        let (holder, hold) = self.sections.holder(LockId::from_index(lock))?;
        let state = &self.tasks[task.index()];
        let is_before = self.closed(state.before.clone()).contains(hold.block);
        (holder != task && !is_before).then_some(Blocked {
            task: state.name,
            ordinal: state.blocks,
            acquired: hold.block,
        })
    }

    /// An access outside of isolated blocks. What a locked block reads may decide what it does.
    #[inline]
    fn access_under_locks(&mut self, access: &Access) {
        let Some(locked) = &mut self.locked else {
            return;
        };
        if locked.task != access.task || self.sections.held(access.task).is_empty() {
            return;
        }
        let touch = match access.kind {
            AccessKind::Read => Touch::Read { steers: true },
            AccessKind::Write => Touch::Write { steers: false },
        };
        for location in access.locations() {
            let touched = locked.touches.entry(location).or_insert(touch);
            *touched = touched.and(touch);
            let sections = &mut self.sections;
            sections.access(access.task, location, touch, &mut self.detector);
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
            Event::IsolatedBegin { task, .. } => {
                self.end_locked_block();
                self.under_way.task = Some(task);
            }
            Event::Lock { task, lock, .. } => {
                self.end_locked_block();
                self.begin_locked_block(task, lock);
                let number = self.blocks.len();
                let before = self.closed(self.tasks[task.index()].before.clone());
                let detector = &mut self.detector;
                self.sections.take(task, lock, (number, &before), detector);
            }
            Event::Unlock { task, lock } => {
                self.sections.give_up(task, lock, &mut self.detector);
            }
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
            self.access_under_locks(access);
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
        if object.shape == Shape::Lock {
            self.locks.push(object.first);
        }
        self.detector.allocated(object);
    }
}
