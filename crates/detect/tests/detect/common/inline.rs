//! Detectors whose fast path is inline, as compiled code uses them: a check for each location, and
//! a check for each range.

use finishline_detect::inline::{Conflict, FastPath, Inline};
use finishline_detect::order::{Contexts, OneAtATime, Order};
use finishline_model::{Access, AccessId, Event, LockId, Observer, TaskId};
use std::ptr::NonNull;

/// What compiled code does with a detector whose fast path is inline: cells by location, and a fast
/// path that decides what it can.
pub(crate) struct InlineChecks<O: Order> {
    fast: Box<FastPath>,
    pub(crate) detector: Inline<O>,
    cells: Vec<u64>,
    running: TaskId,
    /// The accesses that the fast path left to the detector.
    pub(crate) undecided: usize,
}

impl<O: Order> InlineChecks<O> {
    pub(crate) fn new(locations: u64) -> Self {
        let mut fast = Box::new(FastPath::IDLE);
        let mut detector = Inline::new().unwrap();
        // SAFETY: the box lives as long as the detector and does not move, and is read only between
        // calls of the detector.
        unsafe { detector.attach(NonNull::from(&mut *fast)) };
        InlineChecks {
            fast,
            detector,
            cells: vec![0; locations as usize],
            running: TaskId::MAIN,
            undecided: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.detector.clear();
        self.undecided = 0;
        self.cells.fill(0);
    }

    /// The task goes on, if it is not the one that did last.
    fn resume(&mut self, task: TaskId) {
        if task != self.running {
            self.running = task;
            self.detector.resume(task);
        }
    }
}

impl<O: Order> Observer for InlineChecks<O> {
    fn event(&mut self, event: &Event) {
        if !matches!(event, Event::Alloc { .. }) {
            self.running = event.task();
        }
        self.detector.event(event);
    }

    fn access(&mut self, access: &Access) {
        self.resume(access.task);
        // Sites and locations meet in the places of the memo in every combination.
        let slot = access.id.0 as usize % 3;
        for location in access.locations() {
            let cell = &mut self.cells[location.0 as usize];
            // SAFETY: the detector is not running.
            let fast = unsafe { (&raw const *self.fast).read_volatile() };
            match fast.decide(access.kind, *cell, slot) {
                Some(after) => *cell = after,
                None => {
                    self.undecided += 1;
                    self.detector
                        .undecided(access.kind, cell, slot, || location);
                }
            }
        }
    }
}

/// The same where an access to several locations is one check, and one to one location is not.
pub(crate) struct RangeChecks<O: Order> {
    checks: InlineChecks<O>,
    /// Cells lie the other way round, as those of the fields of a struct do.
    falling: bool,
    /// Inside an atomic access.
    atomic: bool,
}

impl<O: Order> RangeChecks<O> {
    pub(crate) fn new(locations: u64, falling: bool) -> Self {
        let checks = InlineChecks::new(locations);
        RangeChecks {
            checks,
            falling,
            atomic: false,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.checks.clear();
    }

    /// Whether it left each cell as checks one at a time did, and found the same.
    pub(crate) fn agrees(&self, one_at_a_time: &InlineChecks<O>) -> Result<(), String> {
        let (found, expected) = (&self.checks.detector, &one_at_a_time.detector);
        let cells = &self.checks.cells;
        let [racing, expected_racing] = [found, expected].map(|it| it.racing().in_order());
        if racing != expected_racing {
            return Err(format!(
                "ranges race at {racing:?}, not {expected_racing:?}"
            ));
        }
        if found.isolated_conflict() != expected.isolated_conflict() {
            return Err("ranges find another conflict of isolated blocks".into());
        }
        // Equal sets of readers may have different words.
        for (location, (cell, other)) in cells.iter().zip(&one_at_a_time.cells).enumerate() {
            let (left, right) = (found.remembered(*cell), expected.remembered(*other));
            if left != right {
                return Err(format!(
                    "ranges leave {left:?} at {location}, not {right:?}"
                ));
            }
        }
        Ok(())
    }
}

impl<O: Order> Observer for RangeChecks<O> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Lock {
                lock: LockId::ATOMIC,
                ..
            } => self.atomic = true,
            Event::Unlock {
                lock: LockId::ATOMIC,
                ..
            } => self.atomic = false,
            _ => self.checks.event(event),
        }
    }

    fn access(&mut self, access: &Access) {
        let &Access {
            kind,
            first,
            count,
            stride,
            ..
        } = access;
        if self.atomic {
            for location in access.locations() {
                let cell = &mut self.checks.cells[location.0 as usize..][..1];
                self.checks.detector.atomic(kind, cell, location, 1);
            }
            return;
        }
        if count == 1 {
            return self.checks.access(access);
        }
        self.checks.resume(access.task);
        let extent = match count {
            0 => 0,
            _ => ((count - 1) * stride + 1) as usize,
        };
        let InlineChecks {
            detector, cells, ..
        } = &mut self.checks;
        let cells = &mut cells[first.0 as usize..][..extent];
        if self.falling {
            cells.reverse();
            detector.range(kind, cells, -(stride as isize), first);
            cells.reverse();
        } else {
            detector.range(kind, cells, stride as isize, first);
        }
    }
}

/// A detector that remembers each access by a context of its own, and the pairs that it tells.
pub(crate) struct ContextChecks {
    pub(crate) detector: Inline<Contexts<OneAtATime>>,
    cells: Vec<u64>,
    /// The two accesses of each conflict.
    pub(crate) told: Vec<(AccessId, AccessId, Conflict)>,
}

impl ContextChecks {
    pub(crate) fn new(locations: u64) -> Self {
        let mut detector = Inline::new().unwrap();
        detector.keep_conflicts();
        ContextChecks {
            detector,
            cells: vec![0; locations as usize],
            told: Vec::new(),
        }
    }

    /// One that need not tell each conflict that is no race.
    pub(crate) fn in_brief(locations: u64) -> Self {
        let mut brief = ContextChecks::new(locations);
        brief.detector.be_brief();
        brief
    }

    pub(crate) fn clear(&mut self) {
        self.detector.clear();
        self.cells.fill(0);
        self.told.clear();
    }
}

impl Observer for ContextChecks {
    fn event(&mut self, event: &Event) {
        self.detector.event(event);
    }

    fn access(&mut self, access: &Access) {
        let context = self.detector.contexts().make(access.id.0).unwrap();
        self.detector.speak_as(context);
        for location in access.locations() {
            let cell = &mut self.cells[location.0 as usize];
            self.detector.undecided(access.kind, cell, 0, || location);
        }
        let conflicts: Vec<Conflict> = self.detector.conflicts().collect();
        for conflict in conflicts {
            let [_, earlier] = self.detector.contexts().of(conflict.earlier);
            self.told.push((AccessId(earlier), access.id, conflict));
        }
    }
}
