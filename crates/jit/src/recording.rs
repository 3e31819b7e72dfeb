//! The listener of a recorded run: it hears the first access of each step to each location.
//!
//! A step that accesses a location again adds nothing: both accesses are ordered with others in the
//! same way. So is a read after a write of the same step. A cell has the last step that wrote the
//! location, and the last one that read or wrote it, in the words where a detector has its writer
//! and its reader. Compiled code compares one of them with the running step, and calls only if they
//! differ. That is a part of the fast path's table ([`finishline_detect::inline`]): no stamp is
//! serial, so everything but a repetition is undecided. Hence ranges need no code of their own.
//!
//! Steps are numbered from 1, so new cells are nobody's. When the numbers are used up, which takes
//! 2³¹ task operations, every access is heard.

use crate::checker::{Checker, Style};
use finishline_detect::inline::{FastPath, Limits};
use finishline_ir::listener::{Allocated, Creation, Listener};
use finishline_model::{
    Access, AccessId, AccessKind, Event, Location, Observer, Statistics, TaskId,
};
use std::ptr::NonNull;

/// The last number of a step.
const LAST_STEP: u32 = (1 << 31) - 1;

pub(crate) struct Recording<L> {
    pub(crate) listener: L,
    /// What compiled code compares cells with. None before the run and after it.
    fast: Option<NonNull<FastPath>>,
    limits: Limits,
    step: u32,
    /// The running task, as far as it is heard of.
    task: TaskId,
    pub(crate) statistics: Statistics,
    /// Whether two steps may have accessed the same location. If not, nothing races.
    pub(crate) shares: bool,
}

impl<L: Listener> Recording<L> {
    pub(crate) fn new(listener: L) -> Self {
        Recording {
            listener,
            fast: None,
            limits: FastPath::IDLE.limits,
            step: 0,
            task: TaskId::MAIN,
            statistics: Statistics::default(),
            shares: false,
        }
    }

    /// A step of this task begins.
    fn begin_step(&mut self, task: TaskId) {
        self.task = task;
        if self.step <= LAST_STEP {
            self.step += 1;
        }
        self.limits = match self.is_numbered() {
            true => Limits {
                me: self.step,
                settled: u64::from(self.step) << 32 | u64::from(self.step),
                ..FastPath::IDLE.limits
            },
            false => FastPath::IDLE.limits,
        };
        if let Some(mut fast) = self.fast {
            // SAFETY: valid until `ended`, and compiled code never runs while the runtime does.
            let limits = unsafe { &mut fast.as_mut().limits };
            *limits = Limits {
                era: limits.era + 1,
                ..self.limits
            };
        }
    }

    /// Whether there was a number left for the running step.
    fn is_numbered(&self) -> bool {
        self.step <= LAST_STEP
    }

    /// Whether the running step has made such an access before. If not, now it has.
    fn is_known(&mut self, kind: AccessKind, cell: &mut u64) -> bool {
        if !self.is_numbered() {
            self.shares = true;
            return false;
        }
        let before = *cell;
        let settled = self.limits.settled;
        let latest = before >> 32;
        self.shares |= latest != 0 && latest != settled >> 32;
        *cell = match kind {
            // A read leaves the writer alone.
            AccessKind::Read => settled >> 32 << 32 | before & u64::from(u32::MAX),
            AccessKind::Write => settled,
        };
        before == *cell
    }
}

impl<L: Listener> Checker for Recording<L> {
    const STYLE: Style = Style::Record;

    fn attach(&mut self, fast: NonNull<FastPath>) {
        self.fast = Some(fast);
    }

    fn event(&mut self, event: &Event) {
        self.statistics.event(event);
        // An allocation is told with the object's shape.
        if !matches!(event, Event::Alloc { .. }) {
            self.begin_step(event.task());
            self.listener.event(event);
        }
    }

    fn resumed(&mut self, task: TaskId) {
        self.begin_step(task);
    }

    fn unheard(&mut self, event: &Event) {
        self.statistics.event(event);
    }

    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        self.listener.created(task, creation);
    }

    fn allocated(&mut self, object: &Allocated<'_>) {
        // A task that nobody hears of makes objects for its creator.
        self.listener.event(&Event::Alloc {
            task: self.task,
            allocation: object.allocation,
            first: object.first,
            count: object.count,
        });
        self.listener.allocated(object);
    }

    fn access(&mut self, _: &Access) {}

    fn undecided(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        slot: usize,
        location: impl Fn() -> Location,
    ) {
        if !self.is_known(kind, cell) {
            self.listener.access(&Access {
                task: self.task,
                kind,
                first: location(),
                count: 1,
                stride: 1,
                id: AccessId(slot as u32),
            });
        }
    }

    fn range(
        &mut self,
        kind: AccessKind,
        cells: &mut [u64],
        stride: isize,
        first: Location,
        id: AccessId,
    ) {
        let stride = stride.unsigned_abs();
        let count = cells.len().div_ceil(stride) as u64;
        self.statistics.count_check(count);
        let mut all_known = true;
        // The first cell is at the end of the slice if the stride is negative. Both ends are cells
        // of the range.
        for cell in cells.iter_mut().step_by(stride) {
            all_known &= self.is_known(kind, cell);
        }
        if !all_known {
            self.listener.access(&Access {
                task: self.task,
                kind,
                first,
                count,
                stride: stride as u64,
                id,
            });
        }
    }

    fn spared(&mut self, checks: u64, locations: u64) {
        self.statistics.count_ranges(checks, locations);
    }

    fn ended(&mut self, accesses: u64) {
        self.fast = None;
        self.statistics.accesses += accesses;
    }
}
