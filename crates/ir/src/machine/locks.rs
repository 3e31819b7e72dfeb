//! Locks: what one task at a time can hold.
//!
//! A lock that is free is an object without a state: the machine keeps a list of those that are
//! held. Few are at any time. A task that waits changes nothing, and tries again when it is
//! stepped. A task that acquires a lock which it holds waits for itself.
//!
//! A task must not wait for other tasks while it holds a lock, whether or not there is anything to
//! wait for: otherwise it would depend on the schedule whether that fails. Nor may a finish begin
//! then, because its end waits.

use super::*;
use finishline_model::LockMode;

/// A lock that a task holds.
#[derive(Clone, Copy)]
pub(super) struct Held {
    lock: LockId,
    holder: TaskId,
    acquired: SiteId,
    /// Who made the lock, and how many objects that task had made before.
    creator: TaskId,
    ordinal: u32,
}

impl Machine<'_> {
    pub(super) fn acquire<L: Listener>(
        &mut self,
        slot: usize,
        lock: Value,
        site: SiteId,
        listener: &mut L,
    ) -> Result<Progress, TrapKind> {
        let task = &mut self.tasks[slot];
        let object = task.get(lock).reference().ok_or(TrapKind::NullUse)?;
        let object = self.heap.object(object);
        let lock = object.lock();
        if self.held.iter().any(|held| held.lock == lock) {
            return Ok(Progress::Blocked);
        }
        self.held.push(Held {
            lock,
            holder: task.id,
            acquired: site,
            creator: object.creator,
            ordinal: object.ordinal,
        });
        listener.event(&Event::Lock {
            task: task.id,
            lock,
            mode: LockMode::Exclusive,
        });
        task.advance();
        Ok(Progress::Continue)
    }

    pub(super) fn release<L: Listener>(
        &mut self,
        slot: usize,
        lock: Value,
        listener: &mut L,
    ) -> Result<Progress, TrapKind> {
        let task = &mut self.tasks[slot];
        let object = task.get(lock).reference().ok_or(TrapKind::NullUse)?;
        let object = self.heap.object(object);
        let lock = object.lock();
        let held = self.held.iter().position(|held| held.lock == lock);
        match held {
            Some(place) if self.held[place].holder == task.id => self.held.remove(place),
            _ => {
                let held = held.is_some();
                return Err(TrapKind::ReleaseNotHeld { held });
            }
        };
        listener.event(&Event::Unlock {
            task: task.id,
            lock,
        });
        task.advance();
        Ok(Progress::Released(object.first()))
    }

    /// Where the task acquired the first of the locks that it holds.
    pub(super) fn first_held(&self, task: TaskId) -> Option<SiteId> {
        let mut held = self.held.iter();
        held.find_map(|held| (held.holder == task).then_some(held.acquired))
    }

    /// The locks that a task holds, by name and in the order of names, as words.
    pub(super) fn write_held(&self, task: TaskId, words: &mut Vec<u64>) {
        let own = self.held.iter().filter(|held| held.holder == task);
        let mut names: Vec<(Vec<u32>, u32)> = own
            .map(|held| (self.path(held.creator), held.ordinal))
            .collect();
        names.sort_unstable();
        words.push(names.len() as u64);
        for (creator, ordinal) in names {
            words.push(creator.len() as u64);
            words.extend(creator.into_iter().map(u64::from));
            words.push(u64::from(ordinal));
        }
    }

    /// Fails if a task that is about to wait for others, now or at the end of a finish, holds a
    /// lock.
    pub(super) fn may_wait(&self, slot: usize) -> Result<(), TrapKind> {
        match self.first_held(self.tasks[slot].id) {
            Some(acquired) => Err(TrapKind::WaitUnderLock { acquired }),
            None => Ok(()),
        }
    }

    /// The status of a task that is about to acquire a lock.
    pub(super) fn waits_for_lock(&self, slot: usize, lock: Value) -> Status {
        // The step fails.
        let Some(object) = self.tasks[slot].get(lock).reference() else {
            return Status::Runnable;
        };
        let object = self.heap.object(object);
        match self.held.iter().find(|held| held.lock == object.lock()) {
            Some(held) => Status::WaitingForLock {
                lock: object.first(),
                holder: held.holder,
            },
            None => Status::Runnable,
        }
    }
}
