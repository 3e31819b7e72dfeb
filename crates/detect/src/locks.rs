//! Which locks an access is made under, and whether two accesses exclude each other.
//!
//! A **lockset** is the set of locks that protect an access, each held shared or exclusively, as a small number. Two accesses
//! exclude each other if some lock protects both, one of them exclusively, by different *holds*: whoever took the lock twice
//! gave it up in between.
//!
//! A task is protected by the locks that it takes itself and by those under which the finish began that waits for it: they are
//! held until it has ended. The tasks of that finish share one hold, so it protects none of them from the others, nor from
//! whoever holds it. When a finish begins, the locks held there are therefore numbered; of the others, which only ever protect
//! one task, any two are different holds.
//!
//! Whoever gives up a lock inside a finish that began under it takes it away from tasks that were thought protected by it:
//! [`Held::gave_up_early`].
//!
//! Locks are followed from the first one taken until none is held; else an event costs one comparison.

use crate::hash::IdMap;
use crate::table::{TableError, make_room};
use finishline_model::{Event, FinishId, LockId, LockMode};

/// A set of locks; [`Locksets`] tells which.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct LocksetId(u32);

impl LocksetId {
    pub const NONE: LocksetId = LocksetId(0);
}

/// A lock as it protects an access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Hold {
    pub lock: LockId,
    pub mode: LockMode,
    /// Tells holds apart that protect several tasks each; 0 for one that protects only the task that has it.
    shared_by_tasks: u32,
}

impl Hold {
    fn excludes(&self, other: &Hold) -> bool {
        self.lock == other.lock
            && (self.mode == LockMode::Exclusive || other.mode == LockMode::Exclusive)
            && (self.shared_by_tasks == 0 || self.shared_by_tasks != other.shared_by_tasks)
    }

    /// Whether this one excludes whatever the other one does.
    fn is_as_good_as(&self, other: &Hold) -> bool {
        self.lock == other.lock
            && self.mode >= other.mode
            && (self.shared_by_tasks == 0 || self.shared_by_tasks == other.shared_by_tasks)
    }
}

/// Every lockset that occurred, once.
#[derive(Debug)]
pub struct Locksets {
    sets: Vec<Box<[Hold]>>,
    numbers: IdMap<Box<[Hold]>, LocksetId>,
}

const TABLE: &str = "sets of locks";

impl Locksets {
    fn new() -> Self {
        Locksets {
            sets: vec![Box::default()],
            numbers: IdMap::default(),
        }
    }

    /// The locks of a set.
    pub fn holds(&self, set: LocksetId) -> &[Hold] {
        &self.sets[set.0 as usize]
    }

    fn number(&mut self, holds: &[Hold]) -> Result<LocksetId, TableError> {
        if holds.is_empty() {
            return Ok(LocksetId::NONE);
        }
        let mut sorted = Vec::new();
        make_room(&mut sorted, holds.len(), TABLE)?;
        sorted.extend_from_slice(holds);
        sorted.sort_unstable();
        sorted.dedup();
        if let Some(&number) = self.numbers.get(&sorted[..]) {
            return Ok(number);
        }
        make_room(&mut self.sets, 1, TABLE)?;
        let number = LocksetId(self.sets.len() as u32);
        self.sets.push(sorted.clone().into());
        self.numbers.insert(sorted.into(), number);
        Ok(number)
    }

    /// A lock by which accesses under these two exclude each other; atomicity only if there is no other.
    pub fn exclusion(&self, a: LocksetId, b: LocksetId) -> Option<LockId> {
        let of_b = self.holds(b);
        let excluding = self
            .holds(a)
            .iter()
            .filter(|hold| of_b.iter().any(|other| hold.excludes(other)));
        excluding.map(|hold| hold.lock).min()
    }

    /// Whether whatever `a` excludes `b` excludes too.
    pub fn is_weaker(&self, a: LocksetId, b: LocksetId) -> bool {
        let of_b = self.holds(b);
        let mut of_a = self.holds(a).iter();
        a == b || of_a.all(|hold| of_b.iter().any(|other| other.is_as_good_as(hold)))
    }

    fn with(&mut self, set: LocksetId, lock: LockId) -> Result<LocksetId, TableError> {
        let mut holds = self.holds(set).to_vec();
        make_room(&mut holds, 1, TABLE)?;
        holds.push(Hold {
            lock,
            mode: LockMode::Exclusive,
            shared_by_tasks: 0,
        });
        self.number(&holds)
    }
}

/// A task or finish that began since the first lock was taken.
#[derive(Clone, Copy, Debug)]
enum Frame {
    /// Where the holds of its creator begin, and those that it took itself; and its creator's lockset.
    Task {
        creators: usize,
        creators_own: usize,
        creators_lockset: LocksetId,
    },
    /// What was held when it began.
    Finish { finish: FinishId, under: LocksetId },
}

/// The locks held by live tasks.
#[derive(Debug)]
pub struct Held {
    sets: Locksets,
    /// Of live tasks, the running one's last.
    holds: Vec<Hold>,
    /// Where those of the running task begin, and those that it took itself.
    running: usize,
    own: usize,
    now: LocksetId,
    live: Vec<Frame>,
    shared_holds: u32,
    gave_up_early: bool,
    atomic: IdMap<LocksetId, LocksetId>,
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
            shared_holds: 0,
            gave_up_early: false,
            atomic: IdMap::default(),
        }
    }

    /// What protects an access made now.
    #[inline]
    pub fn now(&self) -> LocksetId {
        self.now
    }

    /// What protects an atomic access made now.
    pub fn atomic(&mut self) -> Result<LocksetId, TableError> {
        if let Some(&set) = self.atomic.get(&self.now) {
            return Ok(set);
        }
        let set = self.sets.with(self.now, LockId::ATOMIC)?;
        self.atomic.insert(self.now, set);
        Ok(set)
    }

    pub fn sets(&self) -> &Locksets {
        &self.sets
    }

    /// Whether a lock was given up inside a finish that began under it.
    pub fn gave_up_early(&self) -> bool {
        self.gave_up_early
    }

    pub fn clear(&mut self) {
        *self = Held::new();
    }

    #[inline]
    pub fn event(&mut self, event: &Event) -> Result<(), TableError> {
        let idle = self.holds.is_empty() && self.live.is_empty();
        match *event {
            Event::Lock { lock, mode, .. } => self.lock(lock, mode),
            Event::IsolatedBegin { .. } => self.lock(LockId::ISOLATED, LockMode::Exclusive),
            _ if idle => Ok(()),
            Event::Unlock { lock, .. } => self.unlock(lock),
            Event::IsolatedEnd { .. } => self.unlock(LockId::ISOLATED),
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
        self.renumber()
    }

    fn unlock(&mut self, lock: LockId) -> Result<(), TableError> {
        let own = &self.holds[self.own..];
        let Some(place) = own.iter().rposition(|hold| hold.lock == lock) else {
            return Ok(());
        };
        let given_up = self.holds.remove(self.own + place);
        let open = self.live.iter().rev().map_while(|frame| match *frame {
            Frame::Finish { under, .. } => Some(under),
            Frame::Task { .. } => None,
        });
        let holds = |under: LocksetId| self.sets.holds(under).contains(&given_up);
        self.gave_up_early |= given_up.shared_by_tasks != 0 && open.into_iter().any(holds);
        self.renumber()
    }

    fn renumber(&mut self) -> Result<(), TableError> {
        self.now = self.sets.number(&self.holds[self.running..])?;
        Ok(())
    }

    fn structure(&mut self, event: &Event) -> Result<(), TableError> {
        match *event {
            Event::TaskBegin { finish, .. } => {
                let protects = self.live.iter().rev().find_map(|frame| match *frame {
                    Frame::Finish { finish: id, under } if id == finish => Some(under),
                    _ => None,
                });
                let protects = protects.unwrap_or(LocksetId::NONE);
                let inherited = &self.sets.sets[protects.0 as usize];
                make_room(&mut self.live, 1, TABLE)?;
                make_room(&mut self.holds, inherited.len(), TABLE)?;
                self.live.push(Frame::Task {
                    creators: self.running,
                    creators_own: self.own,
                    creators_lockset: self.now,
                });
                self.running = self.holds.len();
                self.holds.extend_from_slice(inherited);
                self.own = self.holds.len();
                self.now = protects;
            }
            Event::TaskEnd { .. } => match self.live.pop() {
                Some(Frame::Task {
                    creators,
                    creators_own,
                    creators_lockset,
                }) => {
                    self.holds.truncate(self.running);
                    (self.running, self.own) = (creators, creators_own);
                    self.now = creators_lockset;
                }
                // It began before the first lock was taken.
                _ => {
                    self.holds.clear();
                    self.now = LocksetId::NONE;
                }
            },
            Event::FinishBegin { finish, .. } => {
                make_room(&mut self.live, 1, TABLE)?;
                for hold in &mut self.holds[self.own..] {
                    if hold.shared_by_tasks == 0 {
                        self.shared_holds += 1;
                        hold.shared_by_tasks = self.shared_holds;
                    }
                }
                self.renumber()?;
                let under = self.now;
                self.live.push(Frame::Finish { finish, under });
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
