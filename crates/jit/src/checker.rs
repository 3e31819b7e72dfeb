//! The listeners of a compiled run, and the code of a check for each.
//!
//! ```text
//! Unchecked   nothing is compiled                    finishline run
//! Inlined     the fast path inline, cells beside the objects, the detector behind it
//! Recording   one comparison inline, a call for the first access of a step to a location
//! Told        a call that tells of every access      second passes, watches, comparisons
//! Together    the same for several workers, one at a time
//! Concurrent  one comparison inline, and cells that several workers access at once
//! ```

use crate::heap::layout::Cells;
use finishline_detect::inline::{FastPath, Inline};
use finishline_detect::order::{Order, Stamp};
use finishline_detect::parallel::cell::AtomicCell;
use finishline_detect::parallel::phases::{AtObject, ObjectPhase, PhaseWords};
use finishline_detect::parallel::spans::{Calm, OwnSpan};
use finishline_detect::parallel::{
    CarriedByFinish, CarriedByTask, Outcomes, Shared, SharedHistory, SharedOrder, Worker,
};
use finishline_detect::{Failure, Findings};
use finishline_ir::listener::{Allocated, Creation, Listener};
use finishline_model::{Access, AccessId, AccessKind, Event, Location, SiteId, TaskId};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a check is compiled to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    Nothing,
    Inline,
    /// A comparison of the cell with the step. Only the first access of a step is a call.
    Record,
    Call,
    /// A comparison of a word of the cell with the step, in a run on several workers. The cell has
    /// one word or two.
    SharedWord,
    SharedWords,
}

impl Style {
    /// Whether objects need cells.
    pub(crate) const fn has_cells(self) -> bool {
        !matches!(self.cells(), Cells::None)
    }

    pub(crate) const fn cells(self) -> Cells {
        match self {
            Style::Nothing | Style::Call => Cells::None,
            Style::Inline | Style::Record => Cells::Word,
            Style::SharedWord => Cells::WordInPhases,
            Style::SharedWords => Cells::TwoWords,
        }
    }

    /// Whether tasks and finishes carry something for the checker.
    pub(crate) const fn is_shared(self) -> bool {
        matches!(self, Style::SharedWord | Style::SharedWords)
    }

    /// Whether tasks in which nothing is checked are only counted.
    pub(crate) const fn counts_idle_tasks(self) -> bool {
        matches!(self, Style::Inline | Style::Record)
    }

    /// Whether the listener wants to know what tasks capture.
    pub(crate) const fn tells_captures(self) -> bool {
        matches!(self, Style::Record | Style::Call)
    }
}

/// What a task or a finish of a parallel run carries for its checker, who knows what it is.
#[derive(Clone, Copy)]
pub(crate) struct Carried(MaybeUninit<[u64; 10]>);

impl Carried {
    /// Nothing, for those who look at nothing.
    pub(crate) const fn nothing() -> Carried {
        Carried(MaybeUninit::uninit())
    }

    fn new<T>(value: T) -> Carried {
        const { assert!(size_of::<T>() <= size_of::<Carried>() && align_of::<T>() <= 8) };
        let mut carried = Carried::nothing();
        // SAFETY: there is room for the value, as asserted.
        unsafe { carried.0.as_mut_ptr().cast::<T>().write(value) };
        carried
    }

    /// # Safety
    ///
    /// It must have been made of this type, here and below.
    unsafe fn get<T>(&self) -> &T {
        // SAFETY: as promised.
        unsafe { &*self.0.as_ptr().cast() }
    }

    unsafe fn get_mut<T>(&mut self) -> &mut T {
        // SAFETY: as promised.
        unsafe { &mut *self.0.as_mut_ptr().cast() }
    }

    /// The value itself. Nobody may use what is left.
    unsafe fn take<T>(self) -> T {
        // SAFETY: as promised.
        unsafe { self.0.as_ptr().cast::<T>().read() }
    }
}

/// What became of an access in a parallel run.
#[derive(Clone, Copy, Default)]
pub(crate) struct SharedAccess {
    /// The run can end now.
    pub(crate) ends: bool,
    /// A word of a cell, and what becomes of it by such an access of the same step.
    pub(crate) outcome: Option<[u64; 2]>,
}

/// A listener of a compiled run.
pub(crate) trait Checker {
    const STYLE: Style;
    /// Whether a range that the running step has checked on several workers is not checked again.
    const REMEMBERS_RANGES: bool = false;

    /// The run is about to begin. Compiled code compares cells with `fast`, which stays valid until
    /// [`Checker::ended`].
    fn attach(&mut self, fast: NonNull<FastPath>);

    fn event(&mut self, event: &Event);

    /// This task goes on, not that of the latest event.
    fn resumed(&mut self, _task: TaskId) {}

    /// An event of a task that nobody needs to hear of, to be counted.
    fn unheard(&mut self, _event: &Event) {}

    /// As [`Listener::created`] and [`Listener::allocated`].
    fn created(&mut self, _task: TaskId, _creation: &Creation<'_>) {}
    fn allocated(&mut self, _object: &Allocated<'_>) {}

    /// An access of a check compiled to a call.
    fn access(&mut self, access: &Access);

    /// An access that the code inline did not decide, with its cell. The slot is that of the site
    /// in the fast path's memo, or the id of the access if checks are recorded.
    fn undecided(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        slot: usize,
        location: impl Fn() -> Location,
    );

    /// A check of several locations, as [`Inline::range`].
    fn range(
        &mut self,
        kind: AccessKind,
        cells: &mut [u64],
        stride: isize,
        first: Location,
        id: AccessId,
    );

    // Of runs on several workers: what tasks and finishes carry for the checker, and how that
    // changes.

    fn begin_main(&mut self) -> Carried {
        Carried::nothing()
    }

    /// A task is created at such a place.
    fn create(&mut self, _creator: &mut Carried, _: SiteId) -> Carried {
        Carried::nothing()
    }

    /// A task ends that this finish waits for.
    ///
    /// # Safety
    ///
    /// What the finish carries must be there. Tasks that end at the same time look at it, too.
    unsafe fn end(&mut self, _task: Carried, _finish: *mut Carried) {}

    /// A task opens a finish, and closes its innermost one.
    fn open(&mut self, _task: &mut Carried) -> Carried {
        Carried::nothing()
    }
    fn close(&mut self, _task: &mut Carried, _finish: Carried) {}

    /// An event of a task that concerns promises, locks or isolated blocks.
    fn synchronise(&mut self, _task: &mut Carried, _event: &Event) {}

    /// Another task goes on, or the running one takes a lock that another worker held last.
    fn meets_others(&mut self) {}

    /// What cells have of the running step.
    fn stamp(&self, _task: &Carried) -> Stamp {
        Stamp::default()
    }

    /// Accesses with smaller stamps precede whatever follows in any task.
    fn past(&self, _task: &Carried) -> Stamp {
        Stamp::default()
    }

    /// What becomes of cells of one word, as the worker knows. Stays there as long as the worker.
    fn outcomes(&self) -> *const Outcomes<u64> {
        null()
    }

    /// The cells of one word that workers change by plain stores. None in other styles.
    fn span(&self) -> Option<OwnSpan<'_>> {
        None
    }

    /// When no span was open, as far as the worker knows.
    fn calm(&self) -> Calm {
        Calm::UNKNOWN
    }

    /// The words of objects that matter to the running task.
    fn phase_words(&self, _task: &Carried) -> PhaseWords {
        PhaseWords::NONE
    }

    /// The running step makes its first object, and may own it.
    fn own(&mut self, _: &mut PhaseWords) {}

    /// An access to an object, before its cell: whether that decides.
    fn access_object(&mut self, _: AccessKind, _object: &ObjectPhase, _task: &Carried) -> AtObject {
        AtObject::Recorded
    }

    /// An access that the code inline did not decide, with its cell.
    ///
    /// # Safety
    ///
    /// There must be a cell of the style at the address.
    unsafe fn shared(
        &mut self,
        _kind: AccessKind,
        _cell: *const u64,
        _task: &mut Carried,
        _location: impl FnOnce() -> Location,
    ) -> SharedAccess {
        SharedAccess::default()
    }

    /// So many locations are checked by one check.
    fn count_range(&mut self, _locations: u64) {}

    /// So many checks of several locations needed no detector, because the same step had made the
    /// same ones before, or had accessed all their locations. They were about so many locations.
    fn spared(&mut self, _checks: u64, _locations: u64) {}

    /// The run has ended, after as many accesses checked one at a time.
    fn ended(&mut self, accesses: u64);
}

/// Nobody listens.
pub(crate) struct Unchecked;

impl Checker for Unchecked {
    const STYLE: Style = Style::Nothing;

    fn attach(&mut self, _: NonNull<FastPath>) {}

    #[inline]
    fn event(&mut self, _: &Event) {}

    fn access(&mut self, _: &Access) {}

    fn undecided(&mut self, _: AccessKind, _: &mut u64, _: usize, _: impl Fn() -> Location) {}

    fn range(&mut self, _: AccessKind, _: &mut [u64], _: isize, _: Location, _: AccessId) {}

    fn ended(&mut self, _: u64) {}
}

/// A detector whose fast path is inline.
pub(crate) struct Inlined<O: Order> {
    detector: Inline<O>,
    accesses: u64,
}

impl<O: Order> Inlined<O> {
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Inlined {
            detector: Inline::new()?,
            accesses: 0,
        })
    }

    pub(crate) fn finish(self) -> Result<Findings, Failure> {
        self.detector.finish(self.accesses)
    }
}

impl<O: Order> Checker for Inlined<O> {
    const STYLE: Style = Style::Inline;

    fn attach(&mut self, fast: NonNull<FastPath>) {
        // SAFETY: valid until `ended`, which detaches it, and compiled code never runs while the
        // runtime does.
        unsafe { self.detector.attach(fast) };
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        self.detector.event(event);
    }

    #[inline]
    fn resumed(&mut self, task: TaskId) {
        self.detector.resume(task);
    }

    #[inline]
    fn unheard(&mut self, event: &Event) {
        self.detector.count(event);
    }

    fn access(&mut self, _: &Access) {}

    #[inline]
    fn undecided(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        slot: usize,
        location: impl Fn() -> Location,
    ) {
        self.detector.undecided(kind, cell, slot, location);
    }

    #[inline]
    fn range(
        &mut self,
        kind: AccessKind,
        cells: &mut [u64],
        stride: isize,
        first: Location,
        _: AccessId,
    ) {
        self.detector.range(kind, cells, stride, first);
    }

    fn spared(&mut self, checks: u64, locations: u64) {
        self.detector.count_ranges(checks, locations);
    }

    fn ended(&mut self, accesses: u64) {
        self.detector.detach();
        self.accesses = accesses;
    }
}

/// A listener that is told everything.
pub(crate) struct Told<L>(pub(crate) L);

impl<L: Listener> Checker for Told<L> {
    const STYLE: Style = Style::Call;

    fn attach(&mut self, _: NonNull<FastPath>) {}

    #[inline]
    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }

    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        self.0.created(task, creation);
    }

    fn allocated(&mut self, object: &Allocated<'_>) {
        self.0.allocated(object);
    }

    #[inline]
    fn access(&mut self, access: &Access) {
        self.0.access(access);
    }

    fn undecided(&mut self, _: AccessKind, _: &mut u64, _: usize, _: impl Fn() -> Location) {}

    fn range(&mut self, _: AccessKind, _: &mut [u64], _: isize, _: Location, _: AccessId) {}

    fn ended(&mut self, _: u64) {}
}

/// A listener that all workers of a parallel run tell what they do. What a task does before it lets
/// others go on is told before what these do.
pub(crate) struct Together<'a, L>(pub(crate) &'a Mutex<L>);

impl<L> Together<'_, L> {
    fn listener(&self) -> MutexGuard<'_, L> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L: Listener> Checker for Together<'_, L> {
    const STYLE: Style = Style::Call;

    fn attach(&mut self, _: NonNull<FastPath>) {}

    fn event(&mut self, event: &Event) {
        self.listener().event(event);
    }

    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        self.listener().created(task, creation);
    }

    fn allocated(&mut self, object: &Allocated<'_>) {
        self.listener().allocated(object);
    }

    fn access(&mut self, access: &Access) {
        self.listener().access(access);
    }

    fn undecided(&mut self, _: AccessKind, _: &mut u64, _: usize, _: impl Fn() -> Location) {}

    fn range(&mut self, _: AccessKind, _: &mut [u64], _: isize, _: Location, _: AccessId) {}

    fn ended(&mut self, _: u64) {}
}

/// A detector that several workers are part of.
pub(crate) struct Concurrent<'a, O: SharedOrder, H: SharedHistory<O>> {
    pub(crate) shared: &'a Shared<O, H>,
    pub(crate) worker: Worker<O, H>,
    /// Whether one race is enough.
    pub(crate) one_race: bool,
}

// What tasks and finishes carry is made by this kind of checker alone.
impl<O: SharedOrder, H: SharedHistory<O>> Checker for Concurrent<'_, O, H> {
    const STYLE: Style = match size_of::<H::Cell>() {
        8 => Style::SharedWord,
        16 => Style::SharedWords,
        _ => panic!("a cell has one word or two"),
    };
    const REMEMBERS_RANGES: bool = O::REMEMBERS_OUTCOMES;

    fn attach(&mut self, _: NonNull<FastPath>) {}

    fn event(&mut self, event: &Event) {
        self.worker.event(event);
    }

    fn access(&mut self, _: &Access) {}

    fn undecided(&mut self, _: AccessKind, _: &mut u64, _: usize, _: impl Fn() -> Location) {}

    fn range(&mut self, _: AccessKind, _: &mut [u64], _: isize, _: Location, _: AccessId) {}

    fn begin_main(&mut self) -> Carried {
        Carried::new(self.worker.main(self.shared))
    }

    fn create(&mut self, creator: &mut Carried, site: SiteId) -> Carried {
        // SAFETY: a task carries this.
        let creator = unsafe { creator.get_mut::<CarriedByTask<O>>() };
        Carried::new(self.worker.create(self.shared, creator, site))
    }

    unsafe fn end(&mut self, task: Carried, finish: *mut Carried) {
        // SAFETY: a task and a finish carry these. Workers share what a finish carries, and the
        // task is no more.
        let (task, finish) = unsafe {
            let finish = &*finish.cast::<CarriedByFinish<O>>();
            (task.take::<CarriedByTask<O>>(), finish)
        };
        self.worker.end(self.shared, task, finish);
    }

    fn open(&mut self, task: &mut Carried) -> Carried {
        // SAFETY: a task carries this.
        let task = unsafe { task.get_mut::<CarriedByTask<O>>() };
        Carried::new(self.worker.open(self.shared, task))
    }

    fn close(&mut self, task: &mut Carried, finish: Carried) {
        // SAFETY: a task and a finish carry these.
        let (task, finish) = unsafe {
            let finish = finish.take::<CarriedByFinish<O>>();
            (task.get_mut::<CarriedByTask<O>>(), finish)
        };
        self.worker.close(self.shared, task, finish);
    }

    fn synchronise(&mut self, task: &mut Carried, event: &Event) {
        // SAFETY: a task carries this.
        let task = unsafe { task.get_mut::<CarriedByTask<O>>() };
        self.worker.synchronise(self.shared, task, event);
    }

    #[inline]
    fn meets_others(&mut self) {
        self.worker.meets_others();
    }

    #[inline]
    fn stamp(&self, task: &Carried) -> Stamp {
        // SAFETY: a task carries this.
        let task = unsafe { task.get::<CarriedByTask<O>>() };
        self.worker.stamp(self.shared, task)
    }

    #[inline]
    fn past(&self, task: &Carried) -> Stamp {
        // SAFETY: a task carries this.
        let task = unsafe { task.get::<CarriedByTask<O>>() };
        self.worker.past(self.shared, task)
    }

    fn outcomes(&self) -> *const Outcomes<u64> {
        match Self::STYLE {
            Style::SharedWord => (&raw const *self.worker.outcomes()).cast(),
            _ => null(),
        }
    }

    #[inline]
    fn span(&self) -> Option<OwnSpan<'_>> {
        (Self::STYLE == Style::SharedWord).then(|| self.worker.span(self.shared))
    }

    #[inline]
    fn calm(&self) -> Calm {
        self.worker.calm()
    }

    #[inline]
    fn phase_words(&self, task: &Carried) -> PhaseWords {
        // SAFETY: a task carries this.
        let task = unsafe { task.get::<CarriedByTask<O>>() };
        self.worker.phase_words(self.shared, task)
    }

    fn own(&mut self, words: &mut PhaseWords) {
        self.worker.own(self.shared, words);
    }

    #[inline]
    fn access_object(
        &mut self,
        kind: AccessKind,
        object: &ObjectPhase,
        task: &Carried,
    ) -> AtObject {
        // SAFETY: a task carries this.
        let task = unsafe { task.get::<CarriedByTask<O>>() };
        self.worker.access_object(self.shared, kind, object, task)
    }

    #[inline]
    unsafe fn shared(
        &mut self,
        kind: AccessKind,
        cell: *const u64,
        task: &mut Carried,
        location: impl FnOnce() -> Location,
    ) -> SharedAccess {
        // SAFETY: a task carries this, and there is such a cell.
        let (task, cell) = unsafe {
            let cell = &*cell.cast::<H::Cell>();
            (task.get_mut::<CarriedByTask<O>>(), cell)
        };
        let done = self.worker.access(self.shared, kind, cell, task, location);
        SharedAccess {
            ends: done.race && self.one_race,
            outcome: done
                .outcome
                .and_then(|[before, after]| Some([H::Cell::word(before)?, H::Cell::word(after)?])),
        }
    }

    fn count_range(&mut self, locations: u64) {
        self.worker.count_range(locations);
    }

    fn spared(&mut self, checks: u64, locations: u64) {
        self.worker.count_ranges(checks, locations);
    }

    fn ended(&mut self, accesses: u64) {
        self.worker.count(accesses);
    }
}
