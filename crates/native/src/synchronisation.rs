//! What atomic operations mean: which are releases and acquires, and which take and give up a lock.
//!
//! **Releases and acquires** are as the orders of the operations say: a write that releases passes on what its task knows, and a read
//! that acquires takes it, as long as nothing but read-and-replace operations came in between, which add to it. A fence
//! makes the reads before it acquire, and the writes behind it release. DIVERGENCE: such a write passes on all that its task did before the write, by
//! the language only what it did before the fence; a race with what lies between the two is missed.
//!
//! **Locks** are not told, they are recognised. Taking one is an operation that reads and replaces and acquires; giving it up is one by the same task
//! that releases and puts back the value that was there before. Mutexes, reader-writer locks and spin locks of the standard library, of other
//! crates and by hand all do this, and counters, stacks and flags don't put the value back: what was thought a lock then turns
//! out to be none, and gets a new name so that nobody else ever has it.
//!
//! Whether a lock is held exclusively shows when it is given up: readers count themselves out by a subtraction. Until that is known the
//! holder is taken for a reader, which does no harm: two holds exclude each other if one of them is exclusive, and later ones
//! are known.
//!
//! What a reader did before it gave up the lock is passed on to those who take it exclusively, not to other readers: those may be inside
//! at the same time.

use finishline_model::{LockId, LockMode, ObjectId};
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
    /// It added or subtracted.
    pub counts: bool,
    pub acquires: bool,
    pub releases: bool,
}

/// What the detector is told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    Lock(LockId, LockMode),
    Unlock(LockId),
    Release { object: ObjectId, continues: bool },
    Acquire(ObjectId),
}

/// What a variable was found to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Unknown,
    Exclusive,
    /// A reader adds this.
    Readers(u64),
}

#[derive(Clone, Copy, Debug)]
struct Variable {
    object: ObjectId,
    kind: Kind,
    lock: Option<LockId>,
    /// Its value carries what some release passed on.
    released: bool,
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
    /// It has turned out to be none.
    void: bool,
}

#[derive(Debug, Default)]
pub struct Synchronisation {
    variables: BTreeMap<u64, Variable>,
    objects: u32,
    locks: u32,
    /// Of all tasks that are running or suspended, the running one's last.
    holds: Vec<Hold>,
    /// Where the running task's begin.
    own: usize,
    /// What an acquiring fence acquires: variables with released values that the running task read without acquiring.
    read: Vec<u64>,
    /// A releasing fence has been passed by the running task.
    fenced: bool,
}

/// What a task's creator takes up again when it has ended.
#[derive(Debug, Default)]
pub struct Suspended {
    own: usize,
    read: Vec<u64>,
    fenced: bool,
}

/// What a reader adds is one, or a bit above a few flags; a writer that subtracts takes away many bits.
const MOST_PER_READER: u64 = 64;

/// The most variables that are remembered for a fence.
const MOST_READ: usize = 64;

impl Synchronisation {
    pub fn begin_task(&mut self) -> Suspended {
        let suspended = Suspended {
            own: self.own,
            read: std::mem::take(&mut self.read),
            fenced: std::mem::take(&mut self.fenced),
        };
        self.own = self.holds.len();
        suspended
    }

    /// The running task ends; what it still holds was no lock.
    pub fn end_task(&mut self, suspended: Suspended, mut tell: impl FnMut(Told)) {
        for hold in self.holds.split_off(self.own).into_iter().rev() {
            self.disown(hold.address, hold.lock);
            tell(Told::Unlock(hold.lock));
        }
        (self.own, self.read, self.fenced) = (suspended.own, suspended.read, suspended.fenced);
    }

    pub fn new_object(&mut self) -> ObjectId {
        self.objects += 1;
        ObjectId(self.objects)
    }

    /// Whether the variable at an address was used as a lock.
    pub fn is_lock(&self, address: u64) -> bool {
        let variable = self.variables.get(&address);
        variable.is_some_and(|variable| variable.kind != Kind::Unknown)
    }

    /// Where a lock is.
    pub fn address_of(&self, lock: LockId) -> Option<u64> {
        let is_it = |(_, variable): &(&u64, &Variable)| variable.lock == Some(lock);
        self.variables
            .iter()
            .find(is_it)
            .map(|(address, _)| *address)
    }

    /// These addresses are something new from now on.
    pub fn forget(&mut self, addresses: Range<u64>) {
        if self.variables.is_empty() || addresses.is_empty() {
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
        self.variables
            .entry(address)
            .and_modify(|variable| variable.released = true);
        tell(Told::Release { object, continues });
    }

    pub fn fence(&mut self, acquires: bool, releases: bool, mut tell: impl FnMut(Told)) {
        self.fenced |= releases;
        if acquires {
            for address in std::mem::take(&mut self.read) {
                if let Some(variable) = self.variables.get(&address) {
                    tell(Told::Acquire(variable.object));
                }
            }
        }
    }

    pub fn follow(&mut self, operation: &Operation, mut tell: impl FnMut(Told)) {
        let address = operation.address;
        let variable = self.variable(address);
        let takes = self.takes(operation, variable.kind);
        if operation.before.is_some() {
            self.read(operation, &variable, takes, &mut tell);
        }
        let Some(after) = operation.after else {
            return;
        };
        let releases = operation.releases || self.fenced;
        let given_up = self.give_up(operation, releases, after, &mut tell);
        // A value that replaces another one without having read it carries nothing of that.
        let continues = operation.before.is_some() && variable.released;
        let variable = self.variable(address);
        let less = operation.before.unwrap_or(after).wrapping_sub(after);
        let by_reader = given_up && operation.counts && variable.kind == Kind::Readers(less);
        if by_reader {
            tell(Told::Release {
                object: variable.readers,
                continues: variable.readers_released,
            });
        } else if releases {
            tell(Told::Release {
                object: variable.object,
                continues,
            });
        }
        self.variables.entry(address).and_modify(|variable| {
            variable.readers_released = by_reader || variable.readers_released && !releases;
            variable.released = continues || releases && !by_reader;
        });
        if let Some(mode) = takes
            && !given_up
        {
            self.take(operation, mode, &mut tell);
        }
    }

    /// A value was read.
    fn read(
        &mut self,
        operation: &Operation,
        variable: &Variable,
        takes: Option<LockMode>,
        tell: &mut impl FnMut(Told),
    ) {
        if !operation.acquires {
            let address = operation.address;
            if variable.released && !self.read.contains(&address) && self.read.len() < MOST_READ {
                self.read.push(address);
            }
            return;
        }
        if variable.released {
            tell(Told::Acquire(variable.object));
        }
        if variable.readers_released && takes == Some(LockMode::Exclusive) {
            tell(Told::Acquire(variable.readers));
        }
    }

    /// How an operation takes a lock, if it may be taking one.
    fn takes(&self, operation: &Operation, kind: Kind) -> Option<LockMode> {
        let (before, after) = (operation.before?, operation.after?);
        if !operation.acquires || before == after {
            return None;
        }
        let more = after.wrapping_sub(before);
        Some(match kind {
            Kind::Exclusive if !operation.counts => LockMode::Exclusive,
            Kind::Readers(reader) if !operation.counts && more != reader => LockMode::Exclusive,
            _ => LockMode::Shared,
        })
    }

    fn variable(&mut self, address: u64) -> Variable {
        *self.variables.entry(address).or_insert_with(|| {
            self.objects += 2;
            Variable {
                object: ObjectId(self.objects - 1),
                kind: Kind::Unknown,
                lock: None,
                released: false,
                readers: ObjectId(self.objects),
                readers_released: false,
            }
        })
    }

    /// Ends the running task's hold of the variable, if it has one. Whether it was a lock and is given up.
    fn give_up(
        &mut self,
        operation: &Operation,
        releases: bool,
        after: u64,
        tell: &mut impl FnMut(Told),
    ) -> bool {
        let own = &self.holds[self.own..];
        let Some(at) = own
            .iter()
            .rposition(|hold| hold.address == operation.address)
        else {
            return false;
        };
        let hold = self.holds.remove(self.own + at);
        tell(Told::Unlock(hold.lock));
        let given_up = releases && after == hold.before && !hold.void;
        if !given_up {
            self.disown(hold.address, hold.lock);
            return false;
        }
        let read = operation.before.unwrap_or(after);
        self.variables
            .entry(operation.address)
            .and_modify(|variable| {
                variable.kind = match variable.kind {
                    _ if operation.counts && read.wrapping_sub(after) <= MOST_PER_READER => {
                        Kind::Readers(read.wrapping_sub(after))
                    }
                    Kind::Unknown => Kind::Exclusive,
                    known => known,
                };
            });
        true
    }

    fn take(&mut self, operation: &Operation, mode: LockMode, tell: &mut impl FnMut(Told)) {
        let (address, Some(before)) = (operation.address, operation.before) else {
            return;
        };
        // Whoever else seems to hold it exclusively does not.
        for at in 0..self.holds.len() {
            let hold = self.holds[at];
            if hold.address == address && !hold.void && !operation.counts {
                self.holds[at].void = true;
                self.disown(address, hold.lock);
            }
        }
        let lock = self.variable(address).lock.unwrap_or_else(|| {
            self.locks += 1;
            LockId(self.locks)
        });
        self.variables
            .entry(address)
            .and_modify(|variable| variable.lock = Some(lock));
        self.holds.push(Hold {
            address,
            lock,
            before,
            void: false,
        });
        tell(Told::Lock(lock, mode));
    }

    /// A variable is no lock, at least not this one: if it is taken again it gets another name.
    fn disown(&mut self, address: u64, lock: LockId) {
        self.variables.entry(address).and_modify(|variable| {
            if variable.lock == Some(lock) {
                variable.lock = None;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Told::{Acquire, Lock, Release, Unlock};

    const AT: u64 = 0x1000;

    fn swap(before: u64, after: u64, acquires: bool, releases: bool) -> Operation {
        Operation {
            address: AT,
            before: Some(before),
            after: Some(after),
            counts: false,
            acquires,
            releases,
        }
    }

    fn count(before: u64, after: u64, acquires: bool, releases: bool) -> Operation {
        Operation {
            counts: true,
            ..swap(before, after, acquires, releases)
        }
    }

    fn load(value: u64, acquires: bool) -> Operation {
        Operation {
            after: None,
            ..swap(value, value, acquires, false)
        }
    }

    fn store(value: u64, releases: bool) -> Operation {
        Operation {
            before: None,
            ..swap(0, value, false, releases)
        }
    }

    fn told(synchronisation: &mut Synchronisation, operation: Operation) -> Vec<Told> {
        let mut told = Vec::new();
        synchronisation.follow(&operation, |event| told.push(event));
        told
    }

    const ONE: ObjectId = ObjectId(1);

    fn released(continues: bool) -> Told {
        Release {
            object: ONE,
            continues,
        }
    }

    #[test]
    fn a_mutex() {
        let all = &mut Synchronisation::default();
        let lock = LockId(1);
        assert_eq!(
            told(all, swap(0, 1, true, false)),
            [Lock(lock, LockMode::Shared)]
        );
        assert!(!all.is_lock(AT));
        assert_eq!(
            told(all, swap(1, 0, false, true)),
            [Unlock(lock), released(false)]
        );
        assert!(all.is_lock(AT));
        let again = [Acquire(ONE), Lock(lock, LockMode::Exclusive)];
        assert_eq!(told(all, swap(0, 1, true, false)), again);
        assert_eq!(told(all, store(0, true)), [Unlock(lock), released(false)]);
        assert_eq!(all.address_of(lock), Some(AT));
    }

    /// As std's: readers count by one, a writer sets many bits.
    #[test]
    fn a_reader_writer_lock() {
        let all = &mut Synchronisation::default();
        let lock = LockId(1);
        let readers = |continues| Release {
            object: ObjectId(2),
            continues,
        };
        let (reader, writer) = (swap(0, 1, true, false), swap(0, 99, true, false));
        let (reader_ends, writer_ends) = (count(1, 0, false, true), count(99, 0, false, true));
        assert_eq!(told(all, writer), [Lock(lock, LockMode::Shared)]);
        assert_eq!(told(all, writer_ends), [Unlock(lock), released(false)]);
        assert_eq!(
            told(all, reader),
            [Acquire(ONE), Lock(lock, LockMode::Exclusive)]
        );
        assert_eq!(told(all, reader_ends), [Unlock(lock), readers(false)]);
        assert_eq!(
            told(all, reader),
            [Acquire(ONE), Lock(lock, LockMode::Shared)]
        );
        assert_eq!(told(all, reader_ends), [Unlock(lock), readers(true)]);
        let all_before = [
            Acquire(ONE),
            Acquire(ObjectId(2)),
            Lock(lock, LockMode::Exclusive),
        ];
        assert_eq!(told(all, writer), all_before);
        assert_eq!(told(all, writer_ends), [Unlock(lock), released(true)]);
        assert_eq!(
            told(all, reader),
            [Acquire(ONE), Lock(lock, LockMode::Shared)]
        );
    }

    #[test]
    fn a_counter_is_no_lock() {
        let all = &mut Synchronisation::default();
        assert_eq!(
            told(all, swap(0, 1, true, true)),
            [released(false), Lock(LockId(1), LockMode::Shared)]
        );
        let next = told(all, swap(1, 2, true, true));
        assert_eq!(
            next,
            [
                Acquire(ONE),
                Unlock(LockId(1)),
                released(true),
                Lock(LockId(2), LockMode::Shared)
            ]
        );
        let mut ended = Vec::new();
        all.end_task(Suspended::default(), |event| ended.push(event));
        assert_eq!(ended, [Unlock(LockId(2))]);
        assert_eq!((all.is_lock(AT), all.address_of(LockId(2))), (false, None));
    }

    #[test]
    fn a_lock_that_another_task_takes_was_none() {
        let all = &mut Synchronisation::default();
        told(all, swap(0, 7, true, false));
        let suspended = all.begin_task();
        assert_eq!(
            told(all, swap(7, 9, true, false)),
            [Lock(LockId(2), LockMode::Shared)]
        );
        assert_eq!(told(all, swap(9, 7, true, true))[0], Unlock(LockId(2)));
        all.end_task(suspended, |_| panic!("it holds nothing"));
        assert_eq!(told(all, swap(7, 0, false, true))[0], Unlock(LockId(1)));
    }

    #[test]
    fn a_flag_publishes() {
        let all = &mut Synchronisation::default();
        assert_eq!(told(all, load(0, true)), []);
        assert_eq!(told(all, store(1, true)), [released(false)]);
        assert_eq!(told(all, load(1, true)), [Acquire(ONE)]);
        assert_eq!(
            told(all, store(2, false)),
            [],
            "overwritten without a release"
        );
        assert_eq!(told(all, load(2, true)), []);
    }

    /// As the counts of `Arc`.
    #[test]
    fn a_fence_acquires_what_was_read() {
        let all = &mut Synchronisation::default();
        assert_eq!(told(all, count(3, 2, false, true)), [released(false)]);
        assert_eq!(told(all, count(2, 1, false, true)), [released(true)]);
        let suspended = all.begin_task();
        all.fence(true, false, |event| {
            panic!("{event:?}: this task has read nothing")
        });
        assert_eq!(told(all, count(1, 0, false, true)), [released(true)]);
        let mut acquired = Vec::new();
        all.fence(true, false, |event| acquired.push(event));
        assert_eq!(acquired, [Acquire(ONE)]);
        all.end_task(suspended, |_| panic!("no lock"));
    }

    #[test]
    fn what_is_freed_is_forgotten() {
        let all = &mut Synchronisation::default();
        told(all, store(1, true));
        all.forget(AT + 1..AT + 8);
        assert_eq!(told(all, load(1, true)), [Acquire(ONE)]);
        all.forget(AT..AT + 1);
        assert_eq!(told(all, load(1, true)), []);
    }
}
