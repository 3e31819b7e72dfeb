//! What the workers of a parallel run share: work to steal, stacks, the budget, and when all stop.
//!
//! **Stopping.** A worker that collects the heap raises a [signal](super::signals) and waits until
//! all others rest. A worker that finds the signal leaves a note where its references are, and
//! rests until it is lowered. Workers without work and workers that have ended rest, too. The end
//! of a run is another signal: whoever finds it leaves the program.
//!
//! **Sleeping.** A worker that finds nothing to steal for a while sleeps. Whoever hands over work
//! wakes one. It looks for sleepers without a fence, so a worker that falls asleep at that moment
//! may be missed: sleepers look for work now and then by themselves.
//!
//! **Deadlock.** If all workers sleep and no work is left, nobody will ever make any: every task
//! waits for another. The last one to fall asleep finds out. Workers fall asleep under one lock, so
//! it sees what the others have left.

use super::finish::Finish;
use super::lock::Isolation;
use super::pool::Depot;
use super::record::Record;
use super::signals::{OVER, STOP, Signals};
use super::strand::Strand;
use crate::End;
use crate::runtime::stacks::Stacks;
use crossbeam_deque::{Steal, Stealer, Worker};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a worker can go on with.
pub(super) enum Item {
    /// A task that has not begun.
    Task(NonNull<Record>),
    /// A strand that can go on.
    Strand(NonNull<Strand>),
}

// SAFETY: whoever has the item has the task or the strand for itself.
unsafe impl Send for Item {}

/// How long a worker sleeps at first before it looks for work by itself. Each time that it finds
/// none it sleeps twice as long, a few times: among many workers some moment must come at which all
/// sleep, or a deadlock is not found.
const NAP: Duration = Duration::from_millis(1);
const MOST_DOUBLINGS: u32 = 6;
/// How long a worker waits for others to heed a signal before it takes their room again.
const PATIENCE: Duration = Duration::from_micros(200);

pub(super) struct Crew<'a> {
    pub(super) signals: Signals<'a>,
    stealers: Vec<Stealer<Item>>,
    pub(super) strands: Depot<Strand>,
    pub(super) records: Depot<Record>,
    pub(super) finishes: Depot<Finish>,
    pub(super) stacks: Mutex<Stacks>,
    /// What no worker has yet of the budget for frames, tasks and finishes.
    pub(super) budget: AtomicU64,
    pub(super) isolated: Isolation,
    /// By the address of a lock, the strands that wait for it in their order.
    pub(super) waiting_for_locks: Mutex<FxHashMap<usize, VecDeque<Parked>>>,
    sleepers: AtomicUsize,
    rest: Mutex<Rest>,
    /// A worker has come to rest; the others may go on; there is work.
    rested: Condvar,
    lowered: Condvar,
    work: Condvar,
    /// By worker, where it keeps references while it rests.
    notes: Vec<[AtomicUsize; 2]>,
    failed: Mutex<Option<End>>,
}

/// A strand that waits in a queue.
pub(super) struct Parked(pub(super) NonNull<Strand>);

// SAFETY: whoever takes it from the queue has the strand for itself.
unsafe impl Send for Parked {}

#[derive(Default)]
struct Rest {
    /// Workers that use neither the heap nor any strand.
    resting: usize,
    /// Those among them that sleep.
    asleep: usize,
    /// Those that have left the program.
    left: usize,
    /// Whether one worker has stopped the others, or is about to.
    stopping: bool,
}

/// Why a worker that had no work goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    Look,
    /// Every task waits for another.
    Deadlock,
}

impl<'a> Crew<'a> {
    /// A crew with a deque for each of the workers.
    pub(super) fn new(
        workers: usize,
        signals: &'a AtomicU32,
        budget: u64,
        largest_stack: usize,
    ) -> (Crew<'a>, Vec<Worker<Item>>) {
        let deques: Vec<Worker<Item>> = (0..workers).map(|_| Worker::new_lifo()).collect();
        let crew = Crew {
            signals: Signals::new(workers, signals),
            stealers: deques.iter().map(Worker::stealer).collect(),
            strands: Depot::new(),
            records: Depot::new(),
            finishes: Depot::new(),
            stacks: Mutex::new(Stacks::new(largest_stack)),
            budget: AtomicU64::new(budget),
            isolated: Isolation::new(),
            waiting_for_locks: Mutex::default(),
            sleepers: AtomicUsize::new(0),
            rest: Mutex::default(),
            rested: Condvar::new(),
            lowered: Condvar::new(),
            work: Condvar::new(),
            notes: (0..workers).map(|_| Default::default()).collect(),
            failed: Mutex::new(None),
        };
        (crew, deques)
    }

    pub(super) fn workers(&self) -> usize {
        self.stealers.len()
    }

    /// One try to steal from each of the others, beginning with this one. None if all have nothing,
    /// or others were faster.
    pub(super) fn steal(&self, thief: usize, first: usize) -> Option<Item> {
        let workers = self.workers();
        let victims = (0..workers).map(|distance| (first + distance) % workers);
        let mut others = victims.filter(|victim| *victim != thief);
        others.find_map(|victim| match self.stealers[victim].steal() {
            Steal::Success(item) => Some(item),
            Steal::Empty | Steal::Retry => None,
        })
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is work: wakes a worker that sleeps.
    #[inline]
    pub(super) fn wake(&self) {
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            self.wake_one();
        }
    }

    #[cold]
    fn wake_one(&self) {
        drop(self.rest());
        self.work.notify_one();
    }

    /// Sleeps for a while, unless there is work. The worker must have nothing left. It has slept so
    /// many times since then.
    pub(super) fn sleep(&self, naps: u32) -> Woken {
        let mut rest = self.rest();
        rest.asleep += 1;
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        let idle = self.stealers.iter().all(Stealer::is_empty) && self.signals.raised() & OVER == 0;
        let woken = match idle && rest.asleep == self.workers() {
            true => Woken::Deadlock,
            false => Woken::Look,
        };
        if idle && woken == Woken::Look {
            rest.resting += 1;
            self.rested.notify_all();
            let nap = NAP * (1 << naps.min(MOST_DOUBLINGS));
            let waited = self.work.wait_timeout(rest, nap);
            (rest, _) = waited.unwrap_or_else(PoisonError::into_inner);
            rest = self.while_stopping(rest);
            rest.resting -= 1;
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        rest.asleep -= 1;
        woken
    }

    fn while_stopping<'r>(&self, rest: MutexGuard<'r, Rest>) -> MutexGuard<'r, Rest> {
        let waited = self.lowered.wait_while(rest, |rest| rest.stopping);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Rests until the signal to stop is lowered. References are in these addresses.
    pub(super) fn rest_while_stopped(&self, worker: usize, references: Range<usize>) {
        let rest = self.rest();
        drop(self.rest_from(rest, worker, references));
    }

    fn rest_from<'r>(
        &self,
        mut rest: MutexGuard<'r, Rest>,
        worker: usize,
        references: Range<usize>,
    ) -> MutexGuard<'r, Rest> {
        self.note(worker, references);
        rest.resting += 1;
        self.rested.notify_all();
        let mut rest = self.while_stopping(rest);
        rest.resting -= 1;
        self.note(worker, 0..0);
        rest
    }

    fn note(&self, worker: usize, references: Range<usize>) {
        let [start, end] = &self.notes[worker];
        // Read by a worker that has locked after this one.
        start.store(references.start, Ordering::Relaxed);
        end.store(references.end, Ordering::Relaxed);
    }

    /// Where the resting workers keep references.
    pub(super) fn notes(&self) -> impl Iterator<Item = Range<usize>> {
        self.notes.iter().map(|note| {
            let [start, end] = note.each_ref().map(|word| word.load(Ordering::Relaxed));
            start..end
        })
    }

    /// Does something while all other workers rest. The caller's references are in these addresses.
    pub(super) fn stop_others(
        &self,
        worker: usize,
        references: Range<usize>,
        work: &mut dyn FnMut(),
    ) {
        let mut rest = self.rest();
        while rest.stopping {
            rest = self.rest_from(rest, worker, references.clone());
        }
        rest.stopping = true;
        self.signals.raise(STOP);
        let others = self.workers() - 1;
        let mut rest = self.insist(rest, |rest| rest.resting < others);
        work();
        rest.stopping = false;
        self.signals.lower(STOP);
        drop(rest);
        self.lowered.notify_all();
    }

    /// Waits for others to heed a signal.
    fn insist<'r>(
        &self,
        mut rest: MutexGuard<'r, Rest>,
        is_missing: impl Fn(&mut Rest) -> bool,
    ) -> MutexGuard<'r, Rest> {
        loop {
            self.signals.take_room();
            let waited = self.rested.wait_timeout_while(rest, PATIENCE, &is_missing);
            let (now, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if !timeout.timed_out() {
                return now;
            }
            rest = now;
        }
    }

    /// The worker has left the program, and waits for all others to do so.
    pub(super) fn retire(&self) {
        let mut rest = self.rest();
        rest.resting += 1;
        rest.left += 1;
        self.rested.notify_all();
        drop(self.insist(rest, |rest| rest.left < self.workers()));
    }

    /// The run is over. The first failure counts.
    pub(super) fn end(&self, failed: Option<End>) {
        if let Some(failed) = failed {
            let mut first = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(failed);
        }
        self.signals.raise(OVER);
        drop(self.rest());
        self.work.notify_all();
    }

    /// Why the run ended, if the program failed.
    pub(super) fn failed(&self) -> Option<End> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take()
    }
}
