//! The locks that an access is made under, and whether two accesses exclude each other.
//!
//! A **lockset** is the set of locks that protect an access, each held shared or exclusively. It is
//! named by a small number. Two accesses exclude each other if some lock protects both, at least
//! one of them exclusively, by different *holds*: a task that took the lock twice released it in
//! between.
//!
//! A task is protected by the locks that it takes itself. It is also protected by the locks under
//! which its finish began: they are held until the task has ended. The tasks of that finish share
//! one hold. So the hold does not protect them from each other, nor from the task that holds it.
//! Therefore the exclusive locks held when a finish begins are numbered. Other holds protect only
//! one task, so any two of them are different.
//!
//! A task may release a lock inside a finish that began under it. Then it takes the lock away from
//! tasks that seemed to be protected by it: [`Held::gave_up_early`].
//!
//! Accesses during a glimpse are made under a lock that excludes nobody ([`LockId::GLIMPSE`]). So
//! they are remembered beside earlier accesses and do not replace them: after the glimpse the task
//! no longer knows what it glimpsed.
//!
//! A suspended task keeps its locks and has them again when it goes on.
//!
//! In a run in which tasks take turns, every event names its task, and the others wait meanwhile
//! ([`Held::event_in_turn`], [`Held::goes_on`]). No finish begins under a lock there, so a task has
//! the locks that it takes itself and no others.
//!
//! Locks are followed from the first one taken until none is held. At any other time an event costs
//! one comparison.

use crate::lock_order::LockOrder;
use crate::table::{TableError, make_room};
use finishline_model::hash::IdMap;
use finishline_model::{Event, FinishId, LockId, LockMode, TaskId};

/// A set of locks. [`Locksets`] has its members.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct LocksetId(u32);

impl LocksetId {
    pub const NONE: LocksetId = LocksetId(0);
}

/// A lock that protects an access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Hold {
    pub lock: LockId,
    pub mode: LockMode,
    /// Identifies a hold that protects several tasks. 0 for a hold that protects only its own task.
    shared_by_tasks: u32,
}

impl Hold {
    fn excludes(&self, other: &Hold) -> bool {
        self.lock == other.lock
            && (self.mode == LockMode::Exclusive || other.mode == LockMode::Exclusive)
            && (self.shared_by_tasks == 0 || self.shared_by_tasks != other.shared_by_tasks)
    }
}

/// Every lockset that occurred, once.
#[derive(Debug)]
pub struct Locksets {
    sets: Vec<Box<[Hold]>>,
    numbers: IdMap<Box<[Hold]>, LocksetId>,
    /// The set after adding one more lock.
    with: IdMap<(LocksetId, LockId, LockMode), LocksetId>,
    /// The latest answer for an atomic access: most are under the same locks as the one before.
    atomic: [LocksetId; 2],
}

const TABLE: &str = "sets of locks";

impl Locksets {
    fn new() -> Self {
        Locksets {
            sets: vec![Box::default()],
            numbers: IdMap::default(),
            with: IdMap::default(),
            atomic: [LocksetId::NONE; 2],
        }
    }

    /// The locks of a set.
    pub fn holds(&self, set: LocksetId) -> &[Hold] {
        &self.sets[set.0 as usize]
    }

    /// The number of the set of these holds. The holds are sorted.
    fn number(&mut self, holds: &mut Vec<Hold>) -> Result<LocksetId, TableError> {
        holds.sort_unstable();
        holds.dedup();
        if let Some(&number) = self.numbers.get(&holds[..]) {
            return Ok(number);
        }
        make_room(&mut self.sets, 1, TABLE)?;
        let number = LocksetId(self.sets.len() as u32);
        self.sets.push(holds[..].into());
        self.numbers.insert(holds[..].into(), number);
        Ok(number)
    }

    /// A lock by which accesses under these two locksets exclude each other. Atomicity only if
    /// there is no other.
    #[inline]
    pub fn exclusion(&self, a: LocksetId, b: LocksetId) -> Option<LockId> {
        let of_b = self.holds(b);
        let excluding = self
            .holds(a)
            .iter()
            .filter(|hold| of_b.iter().any(|other| hold.excludes(other)));
        excluding.map(|hold| hold.lock).min()
    }

    /// Whether each lock of the first set is in the second one.
    pub fn is_subset(&self, few: LocksetId, many: LocksetId) -> bool {
        let many = self.holds(many);
        self.holds(few).iter().all(|hold| many.contains(hold))
    }

    /// Whether these are the locks of an access in a glimpse.
    pub fn is_glimpse(&self, set: LocksetId) -> bool {
        self.holds(set)
            .iter()
            .any(|hold| hold.lock == LockId::GLIMPSE)
    }

    /// Whether the present locks exclude exactly what the earlier locks would still exclude: the
    /// locks are the same and held in the same way. If somebody else held one exclusively, that
    /// hold is over.
    #[inline]
    pub fn renews(&self, now: LocksetId, earlier: LocksetId) -> bool {
        if now == LocksetId::NONE || earlier == LocksetId::NONE {
            return now == earlier;
        }
        let key = |hold: &Hold| (hold.lock, hold.mode);
        let [now_holds, earlier_holds] = [now, earlier].map(|set| self.holds(set).iter().map(key));
        now == earlier || now_holds.eq(earlier_holds)
    }

    /// The set with one more lock, held by one task.
    fn with(
        &mut self,
        set: LocksetId,
        lock: LockId,
        mode: LockMode,
    ) -> Result<LocksetId, TableError> {
        let key = (set, lock, mode);
        if let Some(&more) = self.with.get(&key) {
            return Ok(more);
        }
        let mut holds = Vec::new();
        make_room(&mut holds, self.holds(set).len() + 1, TABLE)?;
        holds.extend_from_slice(self.holds(set));
        holds.push(Hold {
            lock,
            mode,
            shared_by_tasks: 0,
        });
        let more = self.number(&mut holds)?;
        self.with.insert(key, more);
        Ok(more)
    }
}

/// A task or finish that began since the first lock was taken.
#[derive(Clone, Copy, Debug)]
enum LockedScope {
    /// The start of its creator's holds, the start of those that the creator took itself, and the
    /// creator's lockset.
    Task {
        creators: usize,
        creators_own: usize,
        creators_lockset: LocksetId,
    },
    /// The lockset when the finish began.
    Finish { finish: FinishId, under: LocksetId },
}

/// The locks held by live tasks.
#[derive(Debug)]
pub struct Held {
    sets: Locksets,
    /// The holds of live tasks. Those of the running task come last.
    holds: Vec<Hold>,
    /// The start of the running task's holds, and the start of those that it took itself.
    running: usize,
    own: usize,
    now: LocksetId,
    live: Vec<LockedScope>,
    /// The holds of suspended tasks.
    suspended: IdMap<TaskId, Vec<Hold>>,
    /// If tasks take turns: the running one, if any task holds a lock.
    turn: TaskId,
    order: LockOrder,
    shared_holds: u32,
    gave_up_early: bool,
    /// A reused buffer.
    scratch: Vec<Hold>,
}

impl Held {
    pub fn new() -> Self {
        Held {
            sets: Locksets::new(),
            holds: Vec::new(),
            running: 0,
            own: 0,
            now: LocksetId::NONE,
            live: Vec::new(),
            suspended: IdMap::default(),
            turn: TaskId::MAIN,
            order: LockOrder::default(),
            shared_holds: 0,
            gave_up_early: false,
            scratch: Vec::new(),
        }
    }

    /// The locks that protect an access made now.
    #[inline]
    pub fn now(&self) -> LocksetId {
        self.now
    }

    /// A set with atomicity, which is held exclusively during an access.
    #[inline]
    pub fn with_atomicity(&mut self, set: LocksetId) -> Result<LocksetId, TableError> {
        let [latest, with] = self.sets.atomic;
        if latest == set && with != LocksetId::NONE {
            return Ok(with);
        }
        let with = self.with(set, LockId::ATOMIC)?;
        self.sets.atomic = [set, with];
        Ok(with)
    }

    /// A set with one more lock that is held exclusively during an access.
    pub fn with(&mut self, set: LocksetId, lock: LockId) -> Result<LocksetId, TableError> {
        self.sets.with(set, lock, LockMode::Exclusive)
    }

    pub fn sets(&self) -> &Locksets {
        &self.sets
    }

    /// Whether a task gave up a lock inside a finish that began under it.
    pub fn gave_up_early(&self) -> bool {
        self.gave_up_early
    }

    /// Whether tasks that take turns took locks in such orders that they might wait for each
    /// other.
    pub fn has_cycle(&self) -> bool {
        self.order.has_cycle()
    }

    pub fn clear(&mut self) {
        *self = Held::new();
    }

    #[inline]
    pub fn event(&mut self, event: &Event) -> Result<(), TableError> {
        let begins = matches!(
            event,
            Event::Lock { .. } | Event::Glimpse { .. } | Event::Resume { .. }
        );
        if self.holds.len() + self.live.len() == 0 && !begins {
            return Ok(());
        }
        self.follow(event)
    }

    /// Follows an event of a run in which tasks take turns.
    #[inline]
    pub fn event_in_turn(&mut self, event: &Event) -> Result<(), TableError> {
        let begins = matches!(event, Event::Lock { .. } | Event::Glimpse { .. });
        if self.holds.len() + self.suspended.len() == 0 && !begins {
            return Ok(());
        }
        self.goes_on(event.task())?;
        match *event {
            Event::Lock { task, lock, mode } => {
                let held = self.holds.iter().map(|hold| hold.lock);
                self.order.taken(task, held, lock)?;
                self.lock(lock, mode)
            }
            Event::Unlock { lock, .. } => self.unlock(lock),
            Event::Glimpse { .. } if self.glimpses() => Ok(()),
            Event::Glimpse { .. } => self.lock(LockId::GLIMPSE, LockMode::Shared),
            Event::GlimpseEnd { .. } => self.unlock(LockId::GLIMPSE),
            _ => Ok(()),
        }
    }

    /// It is this task's turn.
    #[inline]
    pub fn goes_on(&mut self, task: TaskId) -> Result<(), TableError> {
        if self.turn == task {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.turn, task);
        if self.holds.len() + self.suspended.len() == 0 {
            return Ok(());
        }
        let next = self.suspended.remove(&task).unwrap_or_default();
        let holds = std::mem::replace(&mut self.holds, next);
        if !holds.is_empty() {
            self.suspended.insert(before, holds);
        }
        self.renumber()
    }

    fn follow(&mut self, event: &Event) -> Result<(), TableError> {
        match *event {
            Event::Lock { lock, mode, .. } => self.lock(lock, mode),
            Event::Unlock { lock, .. } => self.unlock(lock),
            Event::Glimpse { .. } if self.glimpses() => Ok(()),
            Event::Glimpse { .. } => self.lock(LockId::GLIMPSE, LockMode::Shared),
            Event::GlimpseEnd { .. } => self.unlock(LockId::GLIMPSE),
            Event::Suspend { task } => {
                let holds = self.holds.split_off(self.running);
                if !holds.is_empty() {
                    self.suspended.insert(task, holds);
                }
                self.structure(&Event::TaskEnd { task })
            }
            Event::Resume { task } => {
                self.begin_task(LocksetId::NONE)?;
                let mut holds = self.suspended.remove(&task).unwrap_or_default();
                make_room(&mut self.holds, holds.len(), TABLE)?;
                self.holds.append(&mut holds);
                self.renumber()
            }
            _ => self.structure(event),
        }
    }

    fn lock(&mut self, lock: LockId, mode: LockMode) -> Result<(), TableError> {
        make_room(&mut self.holds, 1, TABLE)?;
        self.holds.push(Hold {
            lock,
            mode,
            shared_by_tasks: 0,
        });
        self.now = self.sets.with(self.now, lock, mode)?;
        Ok(())
    }

    /// Whether the running task is in a glimpse.
    fn glimpses(&self) -> bool {
        let mut own = self.holds[self.own..].iter();
        own.any(|hold| hold.lock == LockId::GLIMPSE)
    }

    /// Begins a task that these locks protect.
    fn begin_task(&mut self, protects: LocksetId) -> Result<(), TableError> {
        let inherited = &self.sets.sets[protects.0 as usize];
        make_room(&mut self.live, 1, TABLE)?;
        make_room(&mut self.holds, inherited.len(), TABLE)?;
        self.live.push(LockedScope::Task {
            creators: self.running,
            creators_own: self.own,
            creators_lockset: self.now,
        });
        self.running = self.holds.len();
        self.holds.extend_from_slice(inherited);
        self.own = self.holds.len();
        self.now = protects;
        Ok(())
    }

    fn unlock(&mut self, lock: LockId) -> Result<(), TableError> {
        let own = &self.holds[self.own..];
        let Some(place) = own.iter().rposition(|hold| hold.lock == lock) else {
            return Ok(());
        };
        let given_up = self.holds.remove(self.own + place);
        let open = self.live.iter().rev().map_while(|frame| match *frame {
            LockedScope::Finish { under, .. } => Some(under),
            LockedScope::Task { .. } => None,
        });
        let holds = |under: LocksetId| self.sets.holds(under).contains(&given_up);
        self.gave_up_early |= given_up.shared_by_tasks != 0 && open.into_iter().any(holds);
        self.renumber()
    }

    fn renumber(&mut self) -> Result<(), TableError> {
        self.now = LocksetId::NONE;
        if self.holds.len() == self.running {
            return Ok(());
        }
        let holds = &self.holds[self.running..];
        self.scratch.clear();
        make_room(&mut self.scratch, holds.len(), TABLE)?;
        self.scratch.extend_from_slice(holds);
        self.now = self.sets.number(&mut self.scratch)?;
        Ok(())
    }

    fn structure(&mut self, event: &Event) -> Result<(), TableError> {
        match *event {
            Event::TaskBegin { finish, .. } => {
                let protects = self.live.iter().rev().find_map(|frame| match *frame {
                    LockedScope::Finish { finish: id, under } if id == finish => Some(under),
                    _ => None,
                });
                self.begin_task(protects.unwrap_or(LocksetId::NONE))?;
            }
            Event::TaskEnd { .. } => match self.live.pop() {
                Some(LockedScope::Task {
                    creators,
                    creators_own,
                    creators_lockset,
                }) => {
                    self.holds.truncate(self.running);
                    (self.running, self.own) = (creators, creators_own);
                    self.now = creators_lockset;
                }
                // The task or finish began before the first lock was taken.
                _ => {
                    self.holds.clear();
                    self.now = LocksetId::NONE;
                }
            },
            Event::FinishBegin { finish, .. } => {
                make_room(&mut self.live, 1, TABLE)?;
                for hold in &mut self.holds[self.own..] {
                    if hold.mode == LockMode::Exclusive && hold.shared_by_tasks == 0 {
                        self.shared_holds += 1;
                        hold.shared_by_tasks = self.shared_holds;
                    }
                }
                self.renumber()?;
                let under = self.now;
                self.live.push(LockedScope::Finish { finish, under });
            }
            Event::FinishEnd { .. } => {
                self.live.pop();
            }
            _ => {}
        }
        Ok(())
    }
}

impl Default for Held {
    fn default() -> Self {
        Self::new()
    }
}
