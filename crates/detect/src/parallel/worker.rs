//! A shared order and its history over a parallel run: what each worker does.
//!
//! Tasks and finishes carry what belongs to them through the run. Cells lie beside the locations,
//! and the caller finds them. Each worker keeps what it finds, and at the end all of it is put
//! together.

use super::cell::SharedCell;
use super::{SharedHistory, SharedOrder};
use crate::Failure;
use crate::findings::{Findings, Found};
use crate::order::{Effort, NOBODY, Stamp};
use finishline_model::{AccessKind, Event, Location, Observer};
use std::marker::PhantomData;

/// What a task carries for its detector.
#[derive(Debug)]
pub struct CarriedByTask<O: SharedOrder>(Option<O::Strand>);

/// What a finish carries for its detector.
#[derive(Debug)]
pub struct CarriedByFinish<O: SharedOrder>(Option<O::Finish>);

/// What became of a cell in a step, without a race: the same becomes of every cell like it.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    stamp: Stamp,
    kind: AccessKind,
    before: [Stamp; 3],
    after: [Stamp; 3],
}

/// Neighbours most often remember the same accesses, and so do the cells of what many tasks read.
const OUTCOMES: usize = 16;

pub struct OfWorker<'a, O: SharedOrder, H> {
    order: &'a O,
    found: Found,
    /// The latest outcome by what the cell remembered.
    outcomes: [Outcome; OUTCOMES],
    history: PhantomData<fn() -> H>,
}

impl<'a, O, H> OfWorker<'a, O, H>
where
    O: SharedOrder,
    H: SharedHistory<O, Cell = [Stamp; 3]>,
{
    pub fn new(order: &'a O) -> Result<Self, Failure> {
        Ok(OfWorker {
            order,
            found: Found::new()?,
            outcomes: [Outcome {
                stamp: NOBODY,
                kind: AccessKind::Read,
                before: [NOBODY; 3],
                after: [NOBODY; 3],
            }; OUTCOMES],
            history: PhantomData,
        })
    }

    /// Notes a failure. What would have been carried is missing then, and nothing is checked that
    /// needs it.
    fn noted<T>(&mut self, result: Result<T, Failure>) -> Option<T> {
        result.map_err(|failure| self.found.fail(failure)).ok()
    }

    pub fn main(&mut self) -> CarriedByTask<O> {
        let main = self.order.main();
        CarriedByTask(self.noted(main))
    }

    /// A task is created.
    pub fn create(&mut self, creator: &mut CarriedByTask<O>) -> CarriedByTask<O> {
        let creator = creator.0.as_mut();
        let created = creator.map(|creator| self.order.create(creator));
        CarriedByTask(created.and_then(|created| self.noted(created)))
    }

    /// A task opens a finish.
    pub fn open(&mut self, task: &mut CarriedByTask<O>) -> CarriedByFinish<O> {
        let opened = task.0.as_mut().map(|task| self.order.open(task));
        CarriedByFinish(opened.and_then(|opened| self.noted(opened)))
    }

    /// A task closes its innermost finish.
    pub fn close(&mut self, task: &mut CarriedByTask<O>, finish: CarriedByFinish<O>) {
        if let (Some(task), Some(finish)) = (&mut task.0, finish.0) {
            let closed = self.order.close(task, finish);
            self.noted(closed);
        }
    }

    /// The stamp of the running step.
    pub fn stamp(&self, task: &CarriedByTask<O>) -> Stamp {
        task.0
            .as_ref()
            .map_or(NOBODY, |task| self.order.stamp(task))
    }

    /// Counts an event. Those that decide the order are told by the functions above.
    pub fn event(&mut self, event: &Event) {
        self.found.statistics.event(event);
    }

    /// An access to a location, by its cell. Whether it races.
    #[inline]
    pub fn access(
        &mut self,
        kind: AccessKind,
        cell: &SharedCell,
        task: &CarriedByTask<O>,
        location: impl FnOnce() -> Location,
    ) -> bool {
        let Some(strand) = &task.0 else {
            return false;
        };
        let stamp = self.order.stamp(strand);
        if cell.is_known(kind, stamp) {
            return false;
        }
        let (order, outcomes) = (self.order, &mut self.outcomes);
        let races = cell.access(|before| {
            let [writer, one, other] = before;
            let mixed = writer ^ one.rotate_left(3) ^ other.rotate_left(5) ^ kind as Stamp;
            let place = &mut outcomes[mixed as usize % OUTCOMES];
            if place.stamp == stamp && place.kind == kind && place.before == before {
                return (place.after, false);
            }
            let (after, races) = H::access(before, kind, order, strand);
            if !races {
                *place = Outcome {
                    stamp,
                    kind,
                    before,
                    after,
                };
            }
            (after, races)
        });
        if races {
            self.found.race(location());
        }
        races
    }

    /// Counts a check of several locations.
    pub fn count_range(&mut self, locations: u64) {
        self.found.statistics.count_check(locations);
    }

    /// Counts accesses that were checked one at a time.
    pub fn count(&mut self, accesses: u64) {
        self.found.statistics.accesses += accesses;
    }

    /// What all workers have found together.
    pub fn together(order: &O, workers: Vec<Self>) -> Result<Findings, Failure> {
        let mut all = Found::new()?;
        for worker in workers {
            let Found {
                racing,
                statistics,
                failure,
                ..
            } = worker.found;
            racing.in_order().iter().for_each(|race| all.race(*race));
            all.statistics.add(&statistics);
            failure.into_iter().for_each(|failure| all.fail(failure));
        }
        all.finish_with(Effort::default(), order.used_bytes(), 0)
    }
}
