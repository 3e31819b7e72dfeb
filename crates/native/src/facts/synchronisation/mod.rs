//! What atomic operations mean: which are releases and acquires, and which take and give up a lock.
//!
//! **Releases and acquires** are as the orders of the operations say: a write that releases passes
//! on what its task knows, and a read that acquires takes it, as long as nothing but
//! read-and-replace operations came in between, which add to it.
//!
//! **Fences** make the reads before them acquire, and the writes behind them release. What the task
//! did before a releasing fence is released to an object of the fence's own, and a write behind it
//! that does not release itself relays that to its variable. What a read that does not acquire
//! finds is relayed to an object of the task's own, which an acquiring fence acquires. So a write
//! passes on what was done before the fence and not what came between the two, and a fence acquires
//! what was there when it was read and not what came there since.
//!
//! **Locks** are not announced; they are recognised. Taking one is an operation that reads and
//! replaces and acquires; giving it up is an operation by the same task that releases and puts back
//! the value that was there before. Mutexes, reader-writer locks and spin locks of the standard
//! library, of other crates and by hand all do this. Counters, stacks and flags don't put the value
//! back. A variable that was taken for a lock then turns out to be none. It gets a new name, so
//! that no other task ever holds that lock. If that happens over and over, the variable is not
//! taken for a lock any more.
//!
//! Whether a lock is held exclusively shows when it is given up: readers count themselves out by a
//! subtraction ([`readers`]). Until that is known the holder is taken for one that excludes only
//! exclusive ones, which does no harm: two holds exclude each other if one of them is exclusive,
//! and later ones are known.
//!
//! A thread that finds a lock held may write into the lock that it waits, and acquire by that
//! operation. This does not take the lock.
//!
//! What a reader did before it gave up the lock is passed on to all who acquire there, but not to
//! other readers that take it: these may be inside at the same time. As long as it is uncertain
//! whether holders are readers, each passes on to the next.

mod readers;

use crate::facts::holding::{Holding, Holdings, Taken};
use crate::facts::structure::Position;
use finishline_model::{LockId, LockMode, ObjectId, TaskId};
pub use readers::{Left, Share};
use readers::{MOST_TOLD, Taking, Ways};
use std::collections::BTreeMap;
use std::ops::Range;

/// One atomic operation that has been made.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub address: u64,
    /// The value that was read, if one was.
    pub before: Option<u64>,
    /// The value that was written, if one was.
    pub after: Option<u64>,
    pub how: How,
    pub acquires: bool,
    pub releases: bool,
}

impl Operation {
    fn counts(&self) -> bool {
        self.how == How::Counted
    }
}

/// How the value was changed, if it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    Replaced,
    /// By adding or subtracting.
    Counted,
    /// By setting or clearing some of its bits.
    Flagged,
}

/// What the variable behind an object or a lock has shown itself to be so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nature {
    Atomic,
    Lock,
    ReaderWriterLock,
}

/// A variable by which tasks are kept in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Synchroniser {
    pub address: u64,
    pub nature: Nature,
}

/// What the detector is told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    Lock(LockId, LockMode),
    Unlock(LockId),
    Release {
        object: ObjectId,
        continues: bool,
    },
    Acquire(ObjectId),
    Relay {
        from: ObjectId,
        to: ObjectId,
        continues: bool,
    },
}

/// What a variable was found to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LockKind {
    Unknown,
    Exclusive,
    /// Who adds this may be a reader.
    Shares(u64),
    /// Who adds this is a reader.
    Readers(u64),
}

impl LockKind {
    fn nature(self) -> Nature {
        match self {
            LockKind::Unknown => Nature::Atomic,
            LockKind::Exclusive | LockKind::Shares(_) => Nature::Lock,
            LockKind::Readers(_) => Nature::ReaderWriterLock,
        }
    }
}

/// When an operation is made, and where.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub at: Position,
    /// The detector's stamp.
    pub step: u32,
    /// The number of sequentially consistent operations before.
    pub sequential: u64,
}

#[derive(Clone, Copy, Debug)]
struct Variable {
    object: ObjectId,
    kind: LockKind,
    ways: Ways,
    /// The latest operation gave up what may be a reader's share.
    left: Option<Left>,
    /// How often somebody was told that the share is still held.
    told: u32,
    lock: Option<LockId>,
    /// How much more often it has turned out to be no lock than to be one.
    doubts: u32,
    /// Its value carries what some release passed on, and how many of these there were.
    released: bool,
    releases: u64,
    /// What readers of the lock pass on, and whether some did since it was last taken exclusively.
    readers: ObjectId,
    readers_released: bool,
}

/// A lock that seems to be held.
#[derive(Clone, Copy, Debug)]
struct Hold {
    address: u64,
    lock: LockId,
    /// The value that giving it up puts back.
    before: u64,
    taking: Taking,
    /// It has turned out to be none.
    void: bool,
    taken: Position,
    /// This hold and those that its task had before.
    holding: Holding,
}

impl Hold {
    /// Whether this hold and the one that an operation takes may be shares.
    fn is_beside(&self, operation: &Operation, taking: Taking) -> bool {
        taking.may_be_share() && self.taking == taking && operation.before != Some(self.before)
    }
}

#[derive(Debug, Default)]
pub struct Synchronisation {
    variables: BTreeMap<u64, Variable>,
    /// By object, and by lock, both counted from 1: also of those whose memory was forgotten.
    objects: Vec<Option<Synchroniser>>,
    locks: Vec<Synchroniser>,
    holdings: Holdings,
    /// By the address of a barrier: what is released by those who have come to it.
    barriers: BTreeMap<u64, ObjectId>,
    /// The running thread's.
    thread: OfThread,
    /// Of the threads that are not running.
    threads: BTreeMap<TaskId, OfThread>,
    /// Objects that were `Fences::seen` of tasks that have ended.
    spare: Vec<ObjectId>,
}

#[derive(Debug, Default)]
struct OfThread {
    /// Of all its tasks that are running or suspended, the running one's last.
    holds: Vec<Hold>,
    /// Where the running task's begin.
    own: usize,
    /// Of the running task.
    fences: Fences,
    latest: Latest,
}

/// What the running task has done last.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    /// The variable that it read, and has not written since.
    looked_at: Option<u64>,
    /// The lock that it gave up, and has not taken since.
    gave_up: Option<u64>,
}

/// What a task has to do with fences.
#[derive(Clone, Copy, Debug, Default)]
struct Fences {
    /// What it found in values that it read without acquiring.
    seen: Option<ObjectId>,
    /// The variable with a released value that it read last, with its number of releases then.
    latest: Option<(ObjectId, u64)>,
    /// What it did before its last releasing fence.
    behind: Option<Fence>,
}

#[derive(Clone, Copy, Debug)]
struct Fence {
    object: ObjectId,
    /// It was relayed to some variable.
    used: bool,
}

/// What a task's creator takes up again when it has ended.
#[derive(Debug, Default)]
pub struct Suspended {
    own: usize,
    fences: Fences,
    latest: Latest,
}

/// A lock that is made use of in strange ways may seem to be none now and then.
const MOST_DOUBTS: u32 = 4;

/// How many variables may be held at once that have not yet shown to be locks.
const MOST_UNCERTAIN: usize = 8;

impl Synchronisation {
    /// This thread does not run for now.
    pub fn put_away(&mut self, thread: TaskId) {
        let own = std::mem::take(&mut self.thread);
        self.threads.insert(thread, own);
    }

    /// Lets this thread run. None did.
    pub fn take_up(&mut self, thread: TaskId) {
        self.thread = self.threads.remove(&thread).unwrap_or_default();
    }

    pub fn begin_task(&mut self) -> Suspended {
        let suspended = Suspended {
            own: self.thread.own,
            fences: std::mem::take(&mut self.thread.fences),
            latest: std::mem::take(&mut self.thread.latest),
        };
        self.thread.own = self.thread.holds.len();
        suspended
    }

    /// The running thread ends, and no other one runs yet.
    pub fn end_thread(&mut self, tell: impl FnMut(Told)) {
        self.end_task(Suspended::default(), tell);
        self.thread = OfThread::default();
    }

    /// The running task ends; what it still holds was no lock.
    pub fn end_task(&mut self, suspended: Suspended, mut tell: impl FnMut(Told)) {
        for hold in self
            .thread
            .holds
            .split_off(self.thread.own)
            .into_iter()
            .rev()
        {
            self.disown(hold.address, hold.lock);
            tell(Told::Unlock(hold.lock));
        }
        self.spare.extend(self.thread.fences.seen);
        (self.thread.own, self.thread.fences) = (suspended.own, suspended.fences);
        self.thread.latest = suspended.latest;
    }

    /// An object that is no variable.
    pub fn new_object(&mut self) -> ObjectId {
        self.object_of(None)
    }

    fn object_of(&mut self, variable: Option<Synchroniser>) -> ObjectId {
        self.objects.push(variable);
        ObjectId(self.objects.len() as u32)
    }

    pub fn has_object(&self, object: ObjectId) -> bool {
        (1..=self.objects.len()).contains(&object.index())
    }

    /// The variable that an object is of.
    pub fn variable_of(&self, object: ObjectId) -> Option<Synchroniser> {
        self.objects[object.index() - 1]
    }

    pub fn lock(&self, lock: LockId) -> Synchroniser {
        self.locks[lock.index() - 1]
    }

    /// The locks that the running task holds, and where it took them.
    pub fn holding(&self) -> Holding {
        let own = &self.thread.holds[self.thread.own..];
        own.last().map_or(Holding::NOTHING, |hold| hold.holding)
    }

    pub fn holdings(&self) -> &Holdings {
        &self.holdings
    }

    /// Whether the running task read this variable last, and has not written it since.
    pub fn looked_at(&self, address: u64) -> bool {
        self.thread.latest.looked_at == Some(address)
    }

    /// Whether this is the lock that the running task gave up last, and has not taken since.
    pub fn gave_up(&self, address: u64) -> bool {
        self.thread.latest.gave_up == Some(address)
    }

    /// Whether a task on the running thread holds what may be a lock.
    pub fn holds_anything(&self) -> bool {
        self.thread.holds.iter().any(|hold| !hold.void)
    }

    /// Whether a task on the running thread holds what is a lock, and not as a reader may.
    pub fn holds_exclusively(&self) -> bool {
        let excludes = |hold: &Hold| !hold.taking.may_be_share() && self.is_lock(hold.address);
        let mut holds = self.thread.holds.iter().filter(|hold| !hold.void);
        holds.any(excludes)
    }

    /// Whether the variable at an address was used as a lock.
    pub fn is_lock(&self, address: u64) -> bool {
        let variable = self.variables.get(&address);
        variable.is_some_and(|variable| variable.kind != LockKind::Unknown)
    }

    /// Forgets all about these addresses.
    pub fn forget(&mut self, addresses: Range<u64>) {
        if addresses.is_empty() {
            return;
        }
        if !self.barriers.is_empty() {
            self.barriers
                .retain(|address, _| !addresses.contains(address));
        }
        if self.variables.is_empty() {
            return;
        }
        let old: Vec<u64> = self
            .variables
            .range(addresses)
            .map(|(address, _)| *address)
            .collect();
        for address in old {
            self.variables.remove(&address);
        }
    }

    /// Something that is not seen put a value there that all who read it may rely on: a release.
    pub fn published(&mut self, address: u64, mut tell: impl FnMut(Told)) {
        let variable = self.variable(address);
        let (object, continues) = (variable.object, variable.released);
        self.variables.entry(address).and_modify(|variable| {
            variable.released = true;
            variable.releases += 1;
        });
        tell(Told::Release { object, continues });
    }

    /// Something that is not seen has read the value there as well, and acquired.
    pub fn relied_on(&mut self, address: u64, mut tell: impl FnMut(Told)) {
        let variable = self.variables.get(&address);
        if let Some(variable) = variable.filter(|variable| variable.released) {
            tell(Told::Acquire(variable.object));
        }
    }

    /// The variables in a range whose value carries what some release passed on.
    pub fn released_in(&self, range: Range<u64>) -> Vec<u64> {
        let variables = self.variables.range(range);
        let released = variables.filter(|(_, variable)| variable.released);
        released.map(|(address, _)| *address).collect()
    }

    /// The object by which those pass on what they know who come to a barrier until all have.
    pub fn round_of_barrier(&mut self, address: u64) -> ObjectId {
        if let Some(&round) = self.barriers.get(&address) {
            return round;
        }
        let barrier = Synchroniser {
            address,
            nature: Nature::Atomic,
        };
        let round = self.object_of(Some(barrier));
        self.barriers.insert(address, round);
        round
    }

    /// All have come.
    pub fn end_round_of_barrier(&mut self, address: u64) {
        self.barriers.remove(&address);
    }

    pub fn fence(&mut self, acquires: bool, releases: bool, mut tell: impl FnMut(Told)) {
        if acquires && let Some(seen) = self.thread.fences.seen.take() {
            tell(Told::Acquire(seen));
            self.spare.push(seen);
        }
        if releases {
            let unused = self.thread.fences.behind.filter(|fence| !fence.used);
            let object = unused.map_or_else(|| self.new_object(), |fence| fence.object);
            let used = false;
            self.thread.fences.behind = Some(Fence { object, used });
            tell(Told::Release {
                object,
                continues: false,
            });
        }
    }

    /// An operation was made.
    pub fn follow(&mut self, operation: &Operation, now: Moment, mut tell: impl FnMut(Told)) {
        let address = operation.address;
        let looked = self.looks(operation);
        let fenced = self.thread.fences.behind.is_some();
        let relaxed = !operation.acquires && !operation.releases && !fenced;
        if relaxed && !self.variables.contains_key(&address) {
            // It passes nothing on, and there is nothing to be passed on.
            return;
        }
        let variable = self.variable(address);
        let taking = self.takes(operation, looked);
        if operation.before.is_some() {
            self.read(operation, &variable, taking, &mut tell);
        }
        let Some(after) = operation.after else {
            self.variables
                .entry(address)
                .and_modify(|it| it.left = None);
            return;
        };
        let releases = operation.releases || self.thread.fences.behind.is_some();
        let given_up = self.give_up(operation, releases, after, now, &mut tell);
        if given_up {
            self.thread.latest.gave_up = Some(address);
        } else if self.gave_up(address) {
            self.thread.latest.gave_up = None;
        }
        // A value that replaces another one without having read it carries nothing of that.
        let continues = operation.before.is_some() && variable.released;
        let variable = self.variable(address);
        let less = operation.before.unwrap_or(after).wrapping_sub(after);
        let share = match variable.kind {
            LockKind::Shares(share) | LockKind::Readers(share) => Some(share),
            LockKind::Unknown | LockKind::Exclusive => None,
        };
        let by_reader = given_up && operation.counts() && share == Some(less);
        if by_reader {
            let continues = variable.readers_released;
            self.pass_on(operation, variable.readers, continues, &mut tell);
        } else if releases {
            self.pass_on(operation, variable.object, continues, &mut tell);
        }
        self.variables.entry(address).and_modify(|variable| {
            if !given_up {
                variable.left = None;
            }
            variable.releases += u64::from(releases);
            variable.readers_released = by_reader || variable.readers_released && !releases;
            variable.released = continues || releases && !by_reader;
        });
        if let Some(taking) = taking
            && !given_up
        {
            self.take(operation, now.at, taking, variable.kind, &mut tell);
        }
    }

    /// Whether the task knows the value that an operation finds, or does not need to.
    fn looks(&mut self, operation: &Operation) -> bool {
        let looked_at = &mut self.thread.latest.looked_at;
        let looked = *looked_at == Some(operation.address);
        if operation.after.is_none() {
            *looked_at = Some(operation.address);
        } else if looked {
            *looked_at = None;
        }
        looked || operation.counts()
    }

    /// A write passes on what its task did before it, or before the last fence, by an object of its
    /// variable.
    fn pass_on(
        &mut self,
        operation: &Operation,
        to: ObjectId,
        continues: bool,
        tell: &mut impl FnMut(Told),
    ) {
        match &mut self.thread.fences.behind {
            Some(fence) if !operation.releases => {
                fence.used = true;
                let from = fence.object;
                // In reports it goes by the first variable that it was seen with.
                let of_variable = self.objects[to.index() - 1];
                let of_fence = &mut self.objects[from.index() - 1];
                *of_fence = of_fence.or(of_variable);
                tell(Told::Relay {
                    from,
                    to,
                    continues,
                });
            }
            _ => tell(Told::Release {
                object: to,
                continues,
            }),
        }
    }

    /// What was released was read, and may be acquired by a fence.
    fn see(&mut self, released: ObjectId, tell: &mut impl FnMut(Told)) {
        let before = self.thread.fences.seen;
        let seen = before
            .or_else(|| self.spare.pop())
            .unwrap_or_else(|| self.new_object());
        self.thread.fences.seen = Some(seen);
        tell(Told::Relay {
            from: released,
            to: seen,
            continues: before.is_some(),
        });
    }

    /// A value was read.
    fn read(
        &mut self,
        operation: &Operation,
        variable: &Variable,
        taking: Option<Taking>,
        tell: &mut impl FnMut(Told),
    ) {
        let by_reader =
            taking.is_some_and(|taking| variable.kind == LockKind::Readers(taking.more));
        let carried = [
            Some(variable.object).filter(|_| variable.released),
            Some(variable.readers).filter(|_| variable.readers_released && !by_reader),
        ];
        if carried == [None; 2] {
            return;
        }
        let latest = Some((variable.object, variable.releases));
        let is_known = std::mem::replace(&mut self.thread.fences.latest, latest) == latest;
        for object in carried.into_iter().flatten() {
            match operation.acquires {
                true => tell(Told::Acquire(object)),
                false if is_known => {}
                false => self.see(object, tell),
            }
        }
    }

    /// How an operation takes a lock, if it may be taking one.
    fn takes(&self, operation: &Operation, looked: bool) -> Option<Taking> {
        let (before, after) = (operation.before?, operation.after?);
        let doubtful = self.variables.get(&operation.address)?.doubts >= MOST_DOUBTS;
        // Flags of several tasks in one word.
        let flags = operation.how == How::Flagged && operation.releases;
        let more = after.wrapping_sub(before);
        let taking = Taking { more, looked };
        let takes = operation.acquires
            && before != after
            && !doubtful
            && !flags
            && !self.contends(operation, taking);
        takes.then_some(taking)
    }

    /// Whether another thread holds the lock, so that this is a note that somebody waits for it.
    fn contends(&self, operation: &Operation, taking: Taking) -> bool {
        let mut others = self.threads.values().flat_map(|thread| &thread.holds);
        let keeps = |hold: &Hold| {
            hold.address == operation.address
                && !hold.void
                && operation.before != Some(hold.before)
                && !hold.is_beside(operation, taking)
        };
        !operation.counts() && others.any(keeps)
    }

    fn variable(&mut self, address: u64) -> Variable {
        if let Some(known) = self.variables.get(&address) {
            return *known;
        }
        let synchroniser = Synchroniser {
            address,
            nature: Nature::Atomic,
        };
        let variable = Variable {
            object: self.object_of(Some(synchroniser)),
            kind: LockKind::Unknown,
            ways: Ways::default(),
            left: None,
            told: 0,
            lock: None,
            doubts: 0,
            released: false,
            releases: 0,
            readers: self.object_of(Some(synchroniser)),
            readers_released: false,
        };
        self.variables.insert(address, variable);
        variable
    }

    /// Ends the running task's hold of the variable, if it has one. Whether it was a lock and is
    /// given up.
    fn give_up(
        &mut self,
        operation: &Operation,
        releases: bool,
        after: u64,
        now: Moment,
        tell: &mut impl FnMut(Told),
    ) -> bool {
        let own = &self.thread.holds[self.thread.own..];
        let Some(at) = own
            .iter()
            .rposition(|hold| hold.address == operation.address)
        else {
            return false;
        };
        let hold = self.thread.holds.remove(self.thread.own + at);
        self.renumber_holds_from(self.thread.own + at);
        tell(Told::Unlock(hold.lock));
        let read = operation.before.unwrap_or(after);
        let more = hold.taking.more;
        let subtracted = operation.counts() && read.wrapping_sub(after) == more;
        let puts_back = after == hold.before || subtracted && hold.taking.may_be_share();
        if !releases || !puts_back || hold.void {
            self.disown(hold.address, hold.lock);
            return false;
        }
        let mut variable = self.variable(operation.address);
        variable.doubts = variable.doubts.saturating_sub(1);
        variable.ways.held(hold.taking, subtracted);
        if subtracted && self.is_held_likewise(&hold) {
            variable.ways.held_together(more);
        }
        variable.kind = match (variable.ways.readers(), variable.ways.share()) {
            (Some(share), _) => LockKind::Readers(share),
            (None, Some(share)) => LockKind::Shares(share),
            (None, None) => LockKind::Exclusive,
        };
        variable.left = (variable.kind == LockKind::Shares(more)).then_some(Left {
            held: read,
            step: now.step,
            sequential: now.sequential,
        });
        self.variables.insert(operation.address, variable);
        self.show(operation.address, hold.lock);
        true
    }

    /// What a variable is known to be, from here on and in what was told before.
    fn show(&mut self, address: u64, lock: LockId) {
        let variable = self.variable(address);
        let shown = Synchroniser {
            address,
            nature: variable.kind.nature(),
        };
        for object in [variable.object, variable.readers] {
            self.objects[object.index() - 1] = Some(shown);
        }
        self.locks[lock.index() - 1] = shown;
    }

    /// The latest operation on a variable gave up this share, and it is uncertain whether that was
    /// a reader's.
    pub fn left_by_reader(&mut self, address: u64) -> Option<(Share, Left)> {
        let variable = self.variables.get_mut(&address)?;
        let (left, LockKind::Shares(more)) = (variable.left?, variable.kind) else {
            return None;
        };
        let held = left.held;
        let share = Share {
            address,
            held,
            more,
        };
        variable.told += 1;
        (variable.told <= MOST_TOLD).then_some((share, left))
    }

    /// Shares of this lock don't exclude each other.
    pub fn are_readers(&mut self, address: u64) {
        let Some(variable) = self.variables.get_mut(&address) else {
            return;
        };
        if let LockKind::Shares(more) = variable.kind {
            variable.ways.held_together(more);
            variable.kind = LockKind::Readers(more);
            if let Some(lock) = variable.lock {
                self.show(address, lock);
            }
        }
    }

    /// Whether another task has taken the same lock in the same way.
    fn is_held_likewise(&self, own: &Hold) -> bool {
        let threads = self.threads.values().chain([&self.thread]);
        let mut holds = threads.flat_map(|thread| &thread.holds);
        holds.any(|hold| hold.address == own.address && !hold.void && hold.taking == own.taking)
    }

    fn renumber_holds_from(&mut self, first: usize) {
        for at in first..self.thread.holds.len() {
            self.thread.holds[at].holding =
                self.holding_with(at, self.thread.holds[at].lock, self.thread.holds[at].taken);
        }
    }

    /// The running task's holds below this one, and one more.
    fn holding_with(&mut self, at: usize, lock: LockId, taken: Position) -> Holding {
        let outer = self.thread.holds[self.thread.own..at].last();
        let outer = outer.map_or(Holding::NOTHING, |hold| hold.holding);
        self.holdings.with(outer, Taken { lock, at: taken })
    }

    fn take(
        &mut self,
        operation: &Operation,
        taken: Position,
        taking: Taking,
        kind: LockKind,
        tell: &mut impl FnMut(Told),
    ) {
        let (address, Some(before)) = (operation.address, operation.before) else {
            return;
        };
        let mode = match kind {
            _ if operation.counts() => LockMode::Shared,
            LockKind::Exclusive => LockMode::Exclusive,
            LockKind::Shares(share) | LockKind::Readers(share) if taking.more != share => {
                LockMode::Exclusive
            }
            _ => LockMode::Shared,
        };
        // Another task that seems to hold it exclusively does not.
        let mut voided = Vec::new();
        let others = self.threads.values_mut().map(|thread| &mut thread.holds);
        for hold in others.chain([&mut self.thread.holds]).flatten() {
            let keeps = operation.counts() || hold.is_beside(operation, taking);
            if hold.address == address && !hold.void && !keeps {
                hold.void = true;
                voided.push(hold.lock);
            }
        }
        for lock in voided {
            self.disown(address, lock);
        }
        self.give_up_on_oldest(tell);
        let mut variable = self.variable(address);
        let lock = *variable.lock.get_or_insert_with(|| {
            self.locks.push(Synchroniser {
                address,
                nature: Nature::Atomic,
            });
            LockId(self.locks.len() as u32)
        });
        self.variables.insert(address, variable);
        let holding = self.holding_with(self.thread.holds.len(), lock, taken);
        self.thread.holds.push(Hold {
            address,
            lock,
            before,
            taking,
            void: false,
            taken,
            holding,
        });
        tell(Told::Lock(lock, mode));
    }

    /// Of what the running task took so long ago, and has not given up since, nothing shows that it
    /// is a lock.
    fn give_up_on_oldest(&mut self, tell: &mut impl FnMut(Told)) {
        let own = &self.thread.holds[self.thread.own..];
        let mut uncertain = own.iter().filter(|hold| !self.is_lock(hold.address));
        if uncertain.clone().count() < MOST_UNCERTAIN {
            return;
        }
        let Some(&oldest) = uncertain.next() else {
            return;
        };
        let at = own.iter().position(|hold| hold.lock == oldest.lock);
        let at = self.thread.own + at.unwrap_or(0);
        self.thread.holds.remove(at);
        self.renumber_holds_from(at);
        self.disown(oldest.address, oldest.lock);
        tell(Told::Unlock(oldest.lock));
    }

    /// A variable is no lock, at least not this one: if it is taken again it gets another name.
    fn disown(&mut self, address: u64, lock: LockId) {
        self.variables.entry(address).and_modify(|variable| {
            if variable.lock == Some(lock) {
                variable.lock = None;
                variable.doubts += 1;
            }
        });
    }
}

#[cfg(test)]
mod tests;
