//! FastTrack: a vector clock for each task [Flanagan and Freund 2009; FastRacer §2.1].
//!
//! A task counts its *epochs*. Its vector clock has, for each other task that it knows of, the last
//! epoch that precedes it. Epoch c of task u precedes a task iff u is the task itself, or its clock
//! has c or more for u.
//!
//! ```text
//! T creates U         U knows what T knows, and T's epoch; T's next one begins
//! a finish ends       its owner knows what its tasks know, and their epochs
//! T releases          who acquires later knows what T knows, and T's epoch; T's next one begins
//! ```
//!
//! A promise is released by its set and acquired by each get. A lock is released and acquired, too,
//! in the order of this run: **other orders of critical sections are not judged**. So this is the
//! one order here that says nothing of other schedules of programs with locks.
//!
//! Clocks share what they have in common ([`Layers`]), but there is an entry for each task of the
//! past: that is the price of this order.

use super::super::rows::Rows;
use super::super::{NO_STAMP, SharedOrder};
use super::layers::Layers;
use crate::Failure;
use crate::detectors::Uses;
use crate::order::{NOBODY, Stamp};
use crate::table::{TableError, make_room};
use finishline_model::hash::IdMap;
use finishline_model::{LockId, TaskId};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const MOST_EPOCHS: usize = 1 << 31;

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A live task.
#[derive(Debug)]
pub struct TaskClock {
    number: u32,
    epoch: u32,
    knows: Layers,
    /// The stamp of the present epoch, if it has one.
    stamp: Stamp,
}

impl TaskClock {
    fn new(number: u32, knows: Layers) -> Box<TaskClock> {
        Box::new(TaskClock {
            number,
            epoch: 1,
            knows,
            stamp: NO_STAMP,
        })
    }

    /// What whoever comes after it knows.
    fn passes_on(&self) -> Layers {
        let mut knows = self.knows.clone();
        knows.learn(self.number, self.epoch);
        knows
    }

    fn next_epoch(&mut self) {
        self.epoch += 1;
        self.stamp = NO_STAMP;
    }
}

/// What the ended tasks of a finish know.
#[derive(Debug, Default)]
pub struct EndedClocks(Mutex<Layers>);

pub struct Clocks {
    tasks: AtomicU32,
    /// By stamp: a task and its epoch.
    epochs: Rows<2>,
    sets: Mutex<Vec<Layers>>,
    locks: Mutex<IdMap<LockId, Layers>>,
    /// Whether a lock has ordered anything.
    used_locks: AtomicBool,
}

impl SharedOrder for Clocks {
    type Strand = Box<TaskClock>;
    type Finish = Box<EndedClocks>;
    type Memo = ();

    fn new(_: Uses) -> Result<Self, Failure> {
        let epochs = Rows::reserve("epochs", MOST_EPOCHS)?;
        // Stamp 0 is nobody's.
        epochs.take(1)?;
        Ok(Clocks {
            tasks: AtomicU32::new(0),
            epochs,
            sets: Mutex::default(),
            locks: Mutex::default(),
            used_locks: AtomicBool::new(false),
        })
    }

    fn main(&self) -> Result<Box<TaskClock>, Failure> {
        let number = self.tasks.fetch_add(1, Ordering::Relaxed);
        Ok(TaskClock::new(number, Layers::default()))
    }

    fn create(&self, _: &mut (), creator: &mut Box<TaskClock>) -> Result<Box<TaskClock>, Failure> {
        let number = self.tasks.fetch_add(1, Ordering::Relaxed);
        let task = TaskClock::new(number, creator.passes_on());
        creator.next_epoch();
        Ok(task)
    }

    fn end(&self, task: Box<TaskClock>, finish: &Box<EndedClocks>) -> Result<(), Failure> {
        held(&finish.0).join(&task.passes_on());
        Ok(())
    }

    fn open(&self, _: &mut (), _: &mut Box<TaskClock>) -> Result<Box<EndedClocks>, Failure> {
        Ok(Box::default())
    }

    fn close(
        &self,
        _: &mut (),
        task: &mut Box<TaskClock>,
        finish: Box<EndedClocks>,
    ) -> Result<(), Failure> {
        task.knows.join(&held(&finish.0));
        Ok(())
    }

    fn set(&self, _: &mut (), task: &mut Box<TaskClock>) -> Result<u32, Failure> {
        let mut sets = held(&self.sets);
        make_room(&mut sets, 1, "sets")?;
        sets.push(task.passes_on());
        task.next_epoch();
        Ok(sets.len() as u32 - 1)
    }

    fn get(&self, task: &mut Box<TaskClock>, set: u32) -> Result<(), Failure> {
        let clock = held(&self.sets).get(set as usize).cloned();
        clock.iter().for_each(|clock| task.knows.join(clock));
        Ok(())
    }

    fn acquire(
        &self,
        _: &mut Self::Memo,
        task: &mut Box<TaskClock>,
        _: TaskId,
        lock: LockId,
    ) -> Result<(), Failure> {
        let clock = held(&self.locks).get(&lock).cloned();
        clock.iter().for_each(|clock| task.knows.join(clock));
        Ok(())
    }

    fn release(
        &self,
        _: &mut Self::Memo,
        task: &mut Box<TaskClock>,
        lock: LockId,
    ) -> Result<(), Failure> {
        self.used_locks.store(true, Ordering::Relaxed);
        let mut locks = held(&self.locks);
        let refused = |_| TableError::refused::<(LockId, Layers)>("locks", 1);
        locks.try_reserve(1).map_err(refused)?;
        locks.insert(lock, task.passes_on());
        task.next_epoch();
        Ok(())
    }

    #[inline]
    fn stamp(&self, _: &mut (), task: &mut Box<TaskClock>) -> Result<Stamp, Failure> {
        if task.stamp == NO_STAMP {
            task.stamp = self.epochs.add([task.number, task.epoch])?;
        }
        Ok(task.stamp)
    }

    #[inline]
    fn stamp_so_far(&self, task: &Box<TaskClock>) -> Stamp {
        task.stamp
    }

    fn parallel(&self, _: &mut (), task: &Box<TaskClock>, earlier: Stamp) -> bool {
        if earlier == NOBODY || earlier == task.stamp {
            return false;
        }
        let [number, epoch] = self.epochs.get(earlier);
        number != task.number && task.knows.get(number) < epoch
    }

    fn orders_by_locks(&self) -> bool {
        self.used_locks.load(Ordering::Relaxed)
    }

    fn used_bytes(&self) -> usize {
        self.epochs.used_bytes()
    }
}
