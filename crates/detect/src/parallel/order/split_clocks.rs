//! FastRacer: vector clocks that tasks share parts of [FastRacer §3], repaired.
//!
//! As in [`Clocks`](super::Clocks) a task counts its epochs, and epoch c of task u precedes a task
//! that knows of it. What a task knows is split:
//!
//! ```text
//! shared      a clock that it has in common with its creator, and never changes
//! own         a few epochs of its ancestors; beyond a threshold they are merged into a new shared
//!             clock before a task is created
//! joined      tasks that have ended, and were joined: all that they did precedes, so their epochs
//!             don't matter
//! ```
//!
//! At the end of a finish its owner gains all tasks of the finish, and all that they have joined.
//! `joined` is [shared](Layers) by tasks as far as it is the same. A worker remembers the clocks
//! that it looked up last.
//!
//! **Inheritance clocks** choose two of three parallel accesses: the path of each task in the tree
//! of tasks and finishes, as the epochs in which its ancestors made them. Paths without finishes
//! would not do: in `async B{r} finish{async A{r} async C{r}} w` all three would part at once, but
//! the write is parallel to B alone.
//!
//! **Locks** don't order anything here. A new task holds none.

use super::super::rows::Rows;
use super::super::{Lockset, Locksets, NO_STAMP, SharedOrder, lock_name};
use super::layers::Layers;
use super::two_that_part_first;
use crate::Failure;
use crate::detectors::Uses;
use crate::order::{NOBODY, Stamp};
use crate::table::{TableError, make_room};
use finishline_model::hash::IdMap;
use finishline_model::{LockId, TaskId};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The most epochs that a task has for itself when it creates another one.
const THRESHOLD: usize = 16;
const MOST_EPOCHS: usize = 1 << 31;
/// Words for all paths together.
const MOST_WORDS: usize = 1 << 31;
const MEMO: usize = 64;
const ALL_EPOCHS: u32 = u32::MAX;

/// The path of a node in the tree of tasks and finishes: where its words begin, and how many.
#[derive(Clone, Copy, Debug)]
struct Path {
    from: u32,
    len: u32,
}

/// A live task.
#[derive(Debug)]
pub struct SplitClock {
    number: u32,
    epoch: u32,
    shared: Arc<IdMap<u32, u32>>,
    own: Vec<(u32, u32)>,
    /// With all epochs of each.
    joined: Layers,
    /// Those that it has joined itself.
    joined_itself: Vec<u32>,
    /// Its own path, or that of the innermost finish that it has open.
    inside: Path,
    locks: Lockset,
    /// The stamp of the present epoch under the present locks, if it has one.
    stamp: Stamp,
}

/// What is around a finish, and the tasks that have ended inside.
#[derive(Debug)]
pub struct JoinedByFinish {
    around: Path,
    ended: Mutex<Vec<u32>>,
}

/// Clocks that a worker looked up last: a task, another one, and the epoch that it knows of that.
pub struct LastClocks([[u32; 3]; MEMO]);

impl Default for LastClocks {
    fn default() -> Self {
        LastClocks([[0; 3]; MEMO])
    }
}

pub struct SplitClocks {
    tasks: AtomicU32,
    /// By stamp: a task, its epoch, its path and its locks.
    epochs: Rows<5>,
    words: Rows<1>,
    locksets: Option<Locksets>,
}

impl SplitClocks {
    /// The path of a node that a task makes in this epoch.
    fn path(&self, inside: Path, epoch: u32) -> Result<Path, TableError> {
        let len = inside.len + 1;
        let from = self.words.take(len as usize)?;
        for place in 0..inside.len {
            let word = self.words.get(inside.from + place);
            self.words.put(from + place, word);
        }
        self.words.put(from + inside.len, [epoch]);
        Ok(Path { from, len })
    }

    /// How far two paths are the same.
    fn meet(&self, a: Stamp, b: Stamp) -> u32 {
        let [a, b] = [a, b].map(|stamp| {
            let [_, _, from, len, _] = self.epochs.get(stamp);
            Path { from, len }
        });
        let same = |place: &u32| {
            let [a, b] = [a, b].map(|path| self.words.get(path.from + place));
            a == b
        };
        (0..a.len.min(b.len)).take_while(same).count() as u32
    }

    fn locksets(&self, lock: LockId) -> Result<&Locksets, Failure> {
        let locksets = self.locksets.as_ref();
        locksets.ok_or(Failure::Unsupported(lock_name(lock)))
    }
}

impl SplitClock {
    fn next_epoch(&mut self) {
        self.epoch += 1;
        self.stamp = NO_STAMP;
    }

    /// The epoch of another task that it knows of. All of them, if it has joined the task.
    fn knows(&self, task: u32) -> u32 {
        let own = self.own.iter().find(|(other, _)| *other == task);
        let of_ancestor = own.map(|(_, epoch)| *epoch);
        of_ancestor
            .or_else(|| self.shared.get(&task).copied())
            .unwrap_or_else(|| self.joined.get(task))
    }
}

impl SharedOrder for SplitClocks {
    type Strand = Box<SplitClock>;
    type Finish = Box<JoinedByFinish>;
    type Memo = LastClocks;

    fn new(uses: Uses) -> Result<Self, Failure> {
        let epochs = Rows::reserve("epochs", MOST_EPOCHS)?;
        // Stamp 0 is nobody's.
        epochs.take(1)?;
        Ok(SplitClocks {
            tasks: AtomicU32::new(1),
            epochs,
            words: Rows::reserve("inheritance clocks", MOST_WORDS)?,
            locksets: match uses.locks || uses.isolated {
                true => Some(Locksets::new()?),
                false => None,
            },
        })
    }

    fn main(&self) -> Result<Box<SplitClock>, Failure> {
        Ok(Box::new(SplitClock {
            number: self.tasks.fetch_add(1, Ordering::Relaxed),
            epoch: 1,
            shared: Arc::default(),
            own: Vec::new(),
            joined: Layers::default(),
            joined_itself: Vec::new(),
            inside: Path { from: 0, len: 0 },
            locks: Lockset::NONE,
            stamp: NO_STAMP,
        }))
    }

    fn create(
        &self,
        _: &mut LastClocks,
        creator: &mut Box<SplitClock>,
    ) -> Result<Box<SplitClock>, Failure> {
        if creator.own.len() > THRESHOLD {
            let mut merged = (*creator.shared).clone();
            merged.extend(creator.own.drain(..));
            creator.shared = Arc::new(merged);
        }
        let mut own = creator.own.clone();
        make_room(&mut own, 1, "clocks")?;
        own.push((creator.number, creator.epoch));
        let task = SplitClock {
            number: self.tasks.fetch_add(1, Ordering::Relaxed),
            epoch: 1,
            shared: Arc::clone(&creator.shared),
            own,
            joined: creator.joined.clone(),
            joined_itself: Vec::new(),
            inside: self.path(creator.inside, creator.epoch)?,
            locks: Lockset::NONE,
            stamp: NO_STAMP,
        };
        creator.next_epoch();
        Ok(Box::new(task))
    }

    fn end(&self, task: Box<SplitClock>, finish: &Box<JoinedByFinish>) -> Result<(), Failure> {
        let ended = finish.ended.lock();
        let mut ended = ended.unwrap_or_else(PoisonError::into_inner);
        make_room(&mut ended, 1 + task.joined_itself.len(), "joined tasks")?;
        ended.push(task.number);
        ended.extend(&task.joined_itself);
        Ok(())
    }

    fn open(
        &self,
        _: &mut LastClocks,
        task: &mut Box<SplitClock>,
    ) -> Result<Box<JoinedByFinish>, Failure> {
        let around = task.inside;
        task.inside = self.path(around, task.epoch)?;
        task.next_epoch();
        Ok(Box::new(JoinedByFinish {
            around,
            ended: Mutex::default(),
        }))
    }

    fn close(
        &self,
        _: &mut LastClocks,
        task: &mut Box<SplitClock>,
        finish: Box<JoinedByFinish>,
    ) -> Result<(), Failure> {
        task.inside = finish.around;
        task.next_epoch();
        let ended = finish.ended.into_inner();
        let ended = ended.unwrap_or_else(PoisonError::into_inner);
        make_room(&mut task.joined_itself, ended.len(), "joined tasks")?;
        task.joined_itself.extend(&ended);
        let all = ended.into_iter().map(|joined| (joined, ALL_EPOCHS));
        task.joined.add(all.collect());
        Ok(())
    }

    fn acquire(
        &self,
        _: &mut Self::Memo,
        task: &mut Box<SplitClock>,
        id: TaskId,
        lock: LockId,
    ) -> Result<(), Failure> {
        task.locks = self.locksets(lock)?.with(task.locks, id, lock)?;
        task.stamp = NO_STAMP;
        Ok(())
    }

    fn release(
        &self,
        _: &mut Self::Memo,
        task: &mut Box<SplitClock>,
        lock: LockId,
    ) -> Result<(), Failure> {
        task.locks = self.locksets(lock)?.without(task.locks, lock)?;
        task.stamp = NO_STAMP;
        Ok(())
    }

    #[inline]
    fn stamp(&self, _: &mut LastClocks, task: &mut Box<SplitClock>) -> Result<Stamp, Failure> {
        if task.stamp == NO_STAMP {
            let Path { from, len } = task.inside;
            let row = [task.number, task.epoch, from, len, task.locks.0];
            task.stamp = self.epochs.add(row)?;
        }
        Ok(task.stamp)
    }

    #[inline]
    fn stamp_so_far(&self, task: &Box<SplitClock>) -> Stamp {
        task.stamp
    }

    fn parallel(&self, memo: &mut LastClocks, task: &Box<SplitClock>, earlier: Stamp) -> bool {
        if earlier == NOBODY || earlier == task.stamp {
            return false;
        }
        let [number, epoch, ..] = self.epochs.get(earlier);
        if number == task.number {
            return false;
        }
        // What a task knows only grows.
        let last = &mut memo.0[number as usize % MEMO];
        if [task.number, number] == last[..2] && epoch <= last[2] {
            return false;
        }
        let known = task.knows(number);
        *last = [task.number, number, known];
        known < epoch
    }

    fn locks_of(&self, stamp: Stamp) -> Lockset {
        let [.., locks] = self.epochs.get(stamp);
        Lockset(locks)
    }

    fn locksets(&self) -> Option<&Locksets> {
        self.locksets.as_ref()
    }

    fn two_of_three(&self, stamps: [Stamp; 3]) -> Option<[Stamp; 2]> {
        Some(two_that_part_first(stamps, |a, b| self.meet(a, b)))
    }

    fn used_bytes(&self) -> usize {
        self.epochs.used_bytes() + self.words.used_bytes()
    }
}
