//! A shared order and its history: what all workers share, and what each of them does.
//!
//! Tasks and finishes carry what belongs to them through the run. Cells lie beside the locations,
//! and the caller finds them. Each worker keeps what it finds, and at the end all of it is put
//! together.

use super::cell::AtomicCell;
use super::owners::{OwnOwners, Owners};
use super::phases::{AtObject, ObjectPhase, Phase, PhaseWords};
use super::sections::{self, InSections, Notes, Sections};
use super::spans::{Calm, OwnSpan, Spans};
use super::trust::{Place, Trust, Trusting};
use super::{NO_STAMP, Now, SharedHistory, SharedOrder, Value};
use crate::Failure;
use crate::detectors::Uses;
use crate::findings::{Findings, Found};
use crate::order::{Effort, NOBODY, RELEASES, SUSPENDED, Stamp};
use crate::table::{Zeroed, make_room_in};
use finishline_model::hash::IdMap;
use finishline_model::{Access, AccessKind, Event, Location, LockId, Observer, SiteId};
use std::hint::spin_loop;
use std::sync::{Mutex, PoisonError};

/// What all workers share.
pub struct Shared<O, H> {
    order: O,
    history: H,
    /// By promise that is set: the number of the set.
    promises: Mutex<IdMap<Location, u32>>,
    /// If there are isolated or locked blocks.
    sections: Option<Sections>,
    trusting: Trusting,
    owners: Owners,
    spans: Spans,
}

impl<O: SharedOrder, H: SharedHistory<O>> Shared<O, H> {
    /// For so many workers.
    pub fn new(uses: Uses, workers: usize) -> Result<Self, Failure> {
        let has_blocks = uses.isolated || uses.locks;
        Ok(Shared {
            order: O::new(uses)?,
            history: H::new()?,
            promises: Mutex::default(),
            sections: match has_blocks {
                true => Some(Sections::new()?),
                false => None,
            },
            trusting: Trusting::new(Trust::Earned),
            owners: Owners::new(),
            spans: Spans::new(if has_blocks { 0 } else { workers }),
        })
    }

    /// The same with other trust in phases.
    #[must_use]
    pub fn with_trust(self, trust: Trust) -> Self {
        Shared {
            trusting: Trusting::new(trust),
            ..self
        }
    }

    /// If the run has trusted a [phase](super::phases) that deceived it, it has not seen all, and
    /// is to be repeated with such trust.
    pub fn after_deceit(&self) -> Option<Trust> {
        self.trusting.after_deceit()
    }

    fn set(&self, promise: Location, set: u32) -> Result<(), Failure> {
        let promises = self.promises.lock();
        let mut promises = promises.unwrap_or_else(PoisonError::into_inner);
        make_room_in(&mut promises, "promises")?;
        promises.insert(promise, set);
        Ok(())
    }

    fn set_of(&self, promise: Location) -> Option<u32> {
        let promises = self.promises.lock();
        let promises = promises.unwrap_or_else(PoisonError::into_inner);
        promises.get(&promise).copied()
    }
}

/// What a task carries for its detector. No strand after a failure.
#[derive(Debug)]
pub struct CarriedByTask<O: SharedOrder> {
    strand: Option<O::Strand>,
    in_sections: InSections,
}

/// What a finish carries for its detector.
#[derive(Debug)]
pub struct CarriedByFinish<O: SharedOrder>(Option<O::Finish>);

/// What became of a value in a step, without a race: the same becomes of every value like it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Outcome<V> {
    pub stamp: Stamp,
    pub before: V,
    pub after: V,
}

/// Scatters the places of outcomes, by Fibonacci hashing, and what is left of the product by this
/// shift are places.
pub const SCATTER: u32 = 0x9e37_79b1;
pub const SCATTER_SHIFT: u32 = u32::BITS - OUTCOMES.ilog2();

#[inline]
fn scattered(mixed: u32) -> usize {
    (mixed.wrapping_mul(SCATTER) >> SCATTER_SHIFT) as usize
}

/// What became of an access.
#[derive(Clone, Copy, Debug)]
pub struct Accessed<V> {
    pub race: bool,
    /// The value and what became of it, if the access finds nothing. The same becomes of every cell
    /// with this value by the same access of the same step.
    pub outcome: Option<[V; 2]>,
}

/// A worker looks at the clock for one of so many objects that it looks at.
const LOOKS_AT_THE_CLOCK: u32 = 32;

/// Neighbours most often remember the same accesses, and so do the cells of what many tasks read.
pub const OUTCOMES: usize = 128;

/// The latest outcomes, by the kind of the access, and by its stamp and what the cell remembered,
/// [mixed](AtomicCell::mix) and [scattered](SCATTER).
pub type Outcomes<V> = [[Outcome<V>; OUTCOMES]; 2];

pub struct Worker<O: SharedOrder, H: SharedHistory<O>> {
    /// The number of the worker, from 0.
    number: usize,
    memo: O::Memo,
    found: Found,
    notes: Notes,
    /// When no [span](super::spans) was open.
    calm: Calm,
    /// How often it has looked at objects, and the phase of the latest task that has ended.
    looks: u32,
    ended_in: Phase,
    owners: OwnOwners,
    /// Compiled code looks at them, too.
    outcomes: Box<Outcomes<Value<O, H>>>,
}

impl<O: SharedOrder, H: SharedHistory<O>> Worker<O, H> {
    pub fn new(number: usize) -> Result<Self, Failure> {
        Ok(Worker {
            number,
            memo: O::Memo::default(),
            found: Found::new()?,
            notes: Notes::default(),
            calm: Calm::UNKNOWN,
            looks: 0,
            ended_in: Phase::FIRST,
            owners: OwnOwners::none(),
            outcomes: Box::new(
                [[Outcome {
                    stamp: NOBODY,
                    before: Value::<O, H>::ZERO,
                    after: Value::<O, H>::ZERO,
                }; OUTCOMES]; 2],
            ),
        })
    }

    /// Notes a failure. What would have been carried is missing then, and nothing is checked that
    /// needs it.
    fn noted<T>(&mut self, result: Result<T, Failure>) -> Option<T> {
        result.map_err(|failure| self.found.fail(failure)).ok()
    }

    pub(super) fn failure(&self) -> Option<&Failure> {
        self.found.failure.as_ref()
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.found.fail(failure);
    }

    pub fn main(&mut self, shared: &Shared<O, H>) -> CarriedByTask<O> {
        let main = shared.order.main();
        CarriedByTask {
            strand: self.noted(main),
            in_sections: InSections::default(),
        }
    }

    /// A task is created at such a place.
    pub fn create(
        &mut self,
        shared: &Shared<O, H>,
        creator: &mut CarriedByTask<O>,
        site: SiteId,
    ) -> CarriedByTask<O> {
        let sections = shared.sections.as_ref();
        let in_sections = sections.map(|sections| sections.child(&mut creator.in_sections));
        let in_sections = in_sections.unwrap_or_default();
        let Some(creator) = &mut creator.strand else {
            return CarriedByTask {
                strand: None,
                in_sections,
            };
        };
        let phase = shared.order.phase(creator);
        if phase.is_alone() {
            shared.owners.begin_phase();
            shared.trusting.begin(Place(site.0));
            shared.trusting.consider(phase.beside_others(), false);
        } else if !shared.order.is_main(creator) {
            shared.trusting.nest(phase);
        }
        let created = shared.order.create(&mut self.memo, creator);
        CarriedByTask {
            strand: self.noted(created),
            in_sections,
        }
    }

    /// A task ends, and its finish learns of it.
    pub fn end(
        &mut self,
        shared: &Shared<O, H>,
        task: CarriedByTask<O>,
        finish: &CarriedByFinish<O>,
    ) {
        if let (Some(task), Some(finish)) = (task.strand, &finish.0) {
            self.ended_in = shared.order.phase(&task);
            shared.trusting.consider(self.ended_in, true);
            let ended = shared.order.end(task, finish);
            self.noted(ended);
        }
    }

    /// A task opens a finish.
    pub fn open(
        &mut self,
        shared: &Shared<O, H>,
        task: &mut CarriedByTask<O>,
    ) -> CarriedByFinish<O> {
        let task = task.strand.as_mut();
        let opened = task.map(|task| shared.order.open(&mut self.memo, task));
        CarriedByFinish(opened.and_then(|opened| self.noted(opened)))
    }

    /// A task closes its innermost finish.
    pub fn close(
        &mut self,
        shared: &Shared<O, H>,
        task: &mut CarriedByTask<O>,
        finish: CarriedByFinish<O>,
    ) {
        self.notes.end_run();
        if let (Some(task), Some(finish)) = (&mut task.strand, finish.0) {
            let was_alone = shared.order.phase(task).is_alone();
            let closed = shared.order.close(&mut self.memo, task, finish);
            if !was_alone && shared.order.phase(task).is_alone() {
                shared.trusting.end();
            }
            self.noted(closed);
        }
    }

    /// An event of a task that concerns promises, locks or isolated blocks.
    pub fn synchronise(
        &mut self,
        shared: &Shared<O, H>,
        task: &mut CarriedByTask<O>,
        event: &Event,
    ) {
        if let Some(sections) = &shared.sections {
            match event {
                Event::IsolatedBegin { .. } | Event::Lock { .. } => {
                    self.notes.begin(sections, &task.in_sections);
                }
                Event::PromiseGet { .. } => self.notes.end_run(),
                _ => {}
            }
        }
        if let Some(strand) = &mut task.strand {
            let done = self.follow(shared, strand, event);
            self.noted(done);
        }
    }

    fn follow(
        &mut self,
        shared: &Shared<O, H>,
        strand: &mut O::Strand,
        event: &Event,
    ) -> Result<(), Failure> {
        let order = &shared.order;
        match *event {
            Event::IsolatedBegin { task, .. } => {
                order.acquire(&mut self.memo, strand, task, LockId::ISOLATED)
            }
            Event::IsolatedEnd { .. } => order.release(&mut self.memo, strand, LockId::ISOLATED),
            Event::Lock { task, lock, .. } => order.acquire(&mut self.memo, strand, task, lock),
            Event::Unlock { lock, .. } => order.release(&mut self.memo, strand, lock),
            Event::PromiseSet { promise, .. } => {
                let set = order.set(&mut self.memo, strand)?;
                shared.set(promise, set)
            }
            Event::PromiseGet { promise, .. } => match shared.set_of(promise) {
                Some(set) => order.get(strand, set),
                None => Ok(()),
            },
            Event::Release { .. }
            | Event::Acquire { .. }
            | Event::Relay { .. }
            | Event::Glimpse { .. }
            | Event::GlimpseEnd { .. } => Err(Failure::Unsupported(RELEASES)),
            Event::Suspend { .. } | Event::Resume { .. } => Err(Failure::Unsupported(SUSPENDED)),
            Event::TaskBegin { .. }
            | Event::TaskEnd { .. }
            | Event::FinishBegin { .. }
            | Event::FinishEnd { .. }
            | Event::FinishJoin { .. }
            | Event::Alloc { .. } => Ok(()),
        }
    }

    /// The stamp of the running step, if it has one.
    #[inline]
    pub fn stamp(&self, shared: &Shared<O, H>, task: &CarriedByTask<O>) -> Stamp {
        let strand = task.strand.as_ref();
        strand.map_or(NO_STAMP, |strand| shared.order.stamp_so_far(strand))
    }

    /// Accesses with smaller stamps precede whatever follows in any task.
    #[inline]
    pub fn past(&self, shared: &Shared<O, H>, task: &CarriedByTask<O>) -> Stamp {
        let strand = task.strand.as_ref();
        strand.map_or(NOBODY, |strand| shared.order.past(strand))
    }

    /// The cells that workers change by plain stores.
    #[inline]
    pub fn span<'a>(&self, shared: &'a Shared<O, H>) -> OwnSpan<'a> {
        OwnSpan {
            spans: &shared.spans,
            worker: self.number,
        }
    }

    /// When no span was open, as far as the worker knows.
    #[inline]
    pub fn calm(&self) -> Calm {
        self.calm
    }

    /// What became of values. Stays where it is.
    pub fn outcomes(&self) -> &Outcomes<Value<O, H>> {
        &self.outcomes
    }

    /// Another task goes on, or the running one takes a lock that another worker held last.
    #[inline]
    pub fn meets_others(&mut self) {
        self.notes.end_run();
    }

    /// Counts an event. Those that decide the order are told by the functions above.
    #[inline]
    pub fn event(&mut self, event: &Event) {
        self.found.statistics.event(event);
    }

    /// The words of objects that matter to a task now.
    #[inline]
    pub fn phase_words(&self, shared: &Shared<O, H>, task: &CarriedByTask<O>) -> PhaseWords {
        let strand = task.strand.as_ref();
        let phase = strand.map_or(Phase::RECORDED, |strand| shared.order.phase(strand));
        let mut words = phase.words(shared.trusting.trusts(phase));
        if shared.order.lets_steps_own() && !phase.is_alone() {
            words = words.since(shared.owners.first());
        }
        match shared.trusting.is_deceived() {
            true => words.asking(),
            false => words,
        }
    }

    /// The running step makes its first object.
    pub fn own(&mut self, shared: &Shared<O, H>, words: &mut PhaseWords) {
        words.own(self.owners.take(&shared.owners));
    }

    /// An access to a location of an object: whether its cell decides.
    pub fn access_object(
        &mut self,
        shared: &Shared<O, H>,
        kind: AccessKind,
        object: &ObjectPhase,
        task: &CarriedByTask<O>,
    ) -> AtObject {
        match &task.strand {
            Some(strand) => {
                let phase = shared.order.phase(strand);
                self.looks = self.looks.wrapping_add(1);
                if self.looks.is_multiple_of(LOOKS_AT_THE_CLOCK) {
                    shared.trusting.consider(phase, self.ended_in == phase);
                }
                let has_owner = object.is_owned_since(shared.owners.first());
                shared.trusting.access(kind, object, phase, has_owner)
            }
            None => AtObject::Done,
        }
    }

    /// An access to a location, by its cell.
    #[inline]
    pub fn access(
        &mut self,
        shared: &Shared<O, H>,
        kind: AccessKind,
        cell: &H::Cell,
        task: &mut CarriedByTask<O>,
        location: impl FnOnce() -> Location,
    ) -> Accessed<Value<O, H>> {
        let mut accessed = Accessed {
            race: false,
            outcome: None,
        };
        let Some(strand) = &mut task.strand else {
            return accessed;
        };
        let stamp = match shared.order.stamp(&mut self.memo, strand) {
            Ok(stamp) => stamp,
            Err(failure) => {
                self.found.fail(failure);
                return accessed;
            }
        };
        let address = (&raw const *cell).addr() as u64;
        let in_memory = address..address + size_of::<H::Cell>() as u64;
        loop {
            self.calm = shared.spans.wait(in_memory.clone(), self.calm);
            if cell.is_known(kind, stamp) {
                break;
            }
            let seen = cell.look();
            let (after, race) = self.decide(shared, kind, stamp, strand, seen.value);
            let is_same = after == seen.value;
            if !is_same && !cell.replace(seen, after) {
                spin_loop();
                continue;
            }
            accessed.race |= race;
            let told = O::REMEMBERS_OUTCOMES && !race;
            accessed.outcome = told.then_some([seen.value, after]);
            if is_same || shared.spans.were_closed_since(self.calm) {
                break;
            }
        }
        if accessed.race {
            self.found.race(location());
        }
        accessed
    }

    /// What becomes of a value, and whether the access races.
    #[inline]
    pub(super) fn decide(
        &mut self,
        shared: &Shared<O, H>,
        kind: AccessKind,
        stamp: Stamp,
        strand: &O::Strand,
        before: Value<O, H>,
    ) -> (Value<O, H>, bool) {
        let place = scattered(H::Cell::mix(before) ^ stamp);
        let known = &self.outcomes[kind as usize][place];
        if O::REMEMBERS_OUTCOMES && known.stamp == stamp && known.before == before {
            return (known.after, false);
        }
        let mut now = Now {
            order: &shared.order,
            memo: &mut self.memo,
            strand,
            stamp,
            kind,
        };
        match shared.history.access(before, &mut now) {
            Err(failure) => {
                self.found.fail(failure);
                (before, false)
            }
            Ok((after, meets)) => {
                self.found.overlap |= meets.overlap;
                self.found.isolated_conflict |= meets.isolated;
                if O::REMEMBERS_OUTCOMES && !meets.race {
                    self.outcomes[kind as usize][place] = Outcome {
                        stamp,
                        before,
                        after,
                    };
                }
                (after, meets.race)
            }
        }
    }

    /// The same for a cell that nobody else accesses.
    pub(super) fn access_alone(
        &mut self,
        shared: &Shared<O, H>,
        kind: AccessKind,
        value: &mut Value<O, H>,
        task: &mut CarriedByTask<O>,
        location: Location,
    ) {
        let Some(strand) = &mut task.strand else {
            return;
        };
        let stamp = shared.order.stamp(&mut self.memo, strand);
        if let Some(stamp) = self.noted(stamp) {
            let (after, race) = self.decide(shared, kind, stamp, strand, *value);
            *value = after;
            if race {
                self.found.race(location);
            }
        }
    }

    /// Counts the locations of an access that is told.
    pub(super) fn count_access(&mut self, access: &Access) {
        self.found.statistics.access(access);
    }

    /// Counts a check of several locations.
    pub fn count_range(&mut self, locations: u64) {
        self.found.statistics.count_check(locations);
    }

    /// Counts checks of several locations each that were spared.
    pub fn count_ranges(&mut self, ranges: u64, locations: u64) {
        self.found.statistics.count_ranges(ranges, locations);
    }

    /// Counts accesses that were checked one at a time.
    pub fn count(&mut self, accesses: u64) {
        self.found.statistics.accesses += accesses;
    }

    /// What all workers have found together. The cells took so many bytes.
    pub fn together(
        shared: &Shared<O, H>,
        workers: Vec<Self>,
        cell_bytes: usize,
    ) -> Result<Findings, Failure> {
        let mut all = Found::new()?;
        let mut notes = Vec::new();
        for worker in workers {
            notes.push(worker.notes);
            let Found {
                racing,
                isolated_conflict,
                overlap,
                statistics,
                failure,
                ..
            } = worker.found;
            racing.in_order().iter().for_each(|race| all.race(*race));
            all.isolated_conflict |= isolated_conflict;
            all.overlap |= overlap;
            all.statistics.add(&statistics);
            failure.into_iter().for_each(|failure| all.fail(failure));
        }
        // Critical sections in another order may conflict.
        all.overlap |= shared.order.orders_by_locks();
        let locksets = shared.order.locksets();
        all.lock_cycle = locksets.is_some_and(|locksets| locksets.have_cycle());
        let blocks = shared.sections.as_ref().map_or(0, Sections::used_bytes);
        let order = shared.order.used_bytes() + blocks;
        let locations = shared.history.used_bytes() + cell_bytes;
        let mut findings = all.finish_with(Effort::default(), order, locations)?;
        if let Some(sections) = &shared.sections
            && !findings.racing.is_empty()
        {
            findings.blocks = sections::order(sections, notes);
        }
        Ok(findings)
    }
}
