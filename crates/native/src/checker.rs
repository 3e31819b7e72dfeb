//! Everything that the checked program tells, as one object: it keeps the detector's cells for the program's memory and names
//! what the detector finds.
//!
//! **An access** is of whole cells of the shadow. If the running step did the same already, which its cells tell, that is all.
//! Otherwise it is remembered by a context ([`finishline_detect::order::Contexts`]): the place of the access with the calls that
//! led there; so when a later access conflicts with it, both can be named, from this one run.
//!
//! **The stack.** Tasks run one after the other on one stack, so siblings use the same addresses for variables of their own. Whatever lies
//! below a task's first frame is forgotten when it ends. How far down that is, is known from the accesses that were remembered: none is
//! below the stack pointer of its time.
//!
//! **The heap.** A block that is freed is forgotten; so is one that is allocated, in case it was freed unheard.

use crate::calls::Calls;
use crate::heap::{Block, Heap};
use crate::options::Options;
use crate::races::{Access, Object, Races};
use crate::shadow::{Elsewhere, PAGE, Shadow};
use crate::structure::{FinishKind, Position, Structure, TaskKind};
use crate::synchronisation::{self, Operation, Synchronisation, Told};
use finishline_detect::Failure;
use finishline_detect::hash::IdMap;
use finishline_detect::inline::{FastPath, Inline, SLOTS};
use finishline_detect::order::{Contexts, Order, Stamp, Synchronised};
use finishline_model::{
    AccessKind, Event, FinishId, FinishKind as Scope, Location, LockId, ObjectId, Observer, SiteId,
    TaskId, TaskKind as Creation,
};
use std::ops::Range;
use std::ptr::NonNull;

type Detector = Inline<Contexts<Synchronised>>;

impl Elsewhere for Detector {
    fn copy(&mut self, from: Location, to: Location) {
        self.copy_history(from, to);
    }

    fn forget(&mut self, location: Location) {
        self.forget_history(location);
    }
}

/// An access as a context's tag tells it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Site {
    kind: AccessKind,
    at: Position,
    bytes: u32,
    atomic: bool,
}

/// The latest context of each of some sites.
const MEMO: usize = 256;

pub struct Checker {
    pub options: Options,
    pub calls: Calls,
    pub structure: Structure,
    pub races: Races,
    /// Conflicts of accesses that exclude each other: no races, but which comes first is open.
    pub overlaps: Races,
    pub heap: Heap,
    detector: Detector,
    fast: Box<FastPath>,
    shadow: Shadow,
    sites: Vec<Site>,
    site_numbers: IdMap<Site, u32>,
    contexts: [(Option<Site>, Stamp); MEMO],
    /// By stamp of the detector: the task.
    tasks: Vec<TaskId>,
    /// The lowest stack pointer at which the running task had an access remembered.
    lowest: u64,
    pub stack: Range<u64>,
    /// Thread-local variables: no other task has them.
    pub private: Range<u64>,
    /// Whether a block of the heap is reachable from thread-local variables only.
    pub is_private: fn(&Checker, &Range<u64>) -> bool,
    /// The running task's frames are below.
    pub entry: u64,
    pub accesses: u64,
    pub atomic_accesses: u64,
    pub failure: Option<Failure>,
    pub stopped: Option<Stopped>,
    /// How many threads were followed.
    pub threads: u64,
    /// The objects by which threads that have ended pass on what they did.
    thread_objects: IdMap<u64, ObjectId>,
    synchronisation: Synchronisation,
    spin: Spin,
}

/// What a task's creator takes up again when it has ended.
#[derive(Debug)]
pub struct Suspended {
    depth: usize,
    lowest: u64,
    entry: u64,
    synchronisation: synchronisation::Suspended,
}

/// What a thread's creator takes up again when it has ended.
#[derive(Debug)]
pub struct SuspendedThread {
    task: Suspended,
    stack: Range<u64>,
    private: Range<u64>,
}

/// What a task waits by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// The system call behind locks, channels and condition variables.
    Futex,
    /// It looks at an atomic variable over and over.
    Spin,
    /// By one of these in a thread, for what the thread's creator would do.
    Creator,
}

/// A task waited for something that only another task could do, and none runs beside it.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    pub waits: Waits,
    pub address: u64,
    pub at: Position,
    pub task: TaskId,
}

/// Where an access happens: the place in the program, and the stack pointer.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    pub place: u64,
    pub stack_pointer: u64,
}

/// The same look at an atomic variable, so many times in a row.
#[derive(Clone, Copy, Default, Debug)]
struct Spin {
    /// The address, the value, the place, and the number of tasks that there were.
    look: (u64, u64, u64, usize),
    times: u64,
}

/// Some tenths of a second. Whoever means to wait for a bounded time looks at a clock, or gives up after some thousands.
const SPINS: u64 = 2_000_000;

const NO_SITE: SiteId = SiteId(0);

impl Checker {
    pub fn new(
        options: Options,
        stack: Range<u64>,
        private: Range<u64>,
    ) -> Result<Checker, Failure> {
        let mut calls = Calls::new()?;
        let created = Position {
            place: 0,
            calls: calls.node(),
        };
        let mut checker = Checker {
            races: Races::new(options.max_races),
            overlaps: Races::new(options.max_races),
            options,
            calls,
            structure: Structure::new(created),
            heap: Heap::default(),
            detector: Detector::new()?,
            fast: Box::new(FastPath::IDLE),
            shadow: Shadow::new()?,
            sites: Vec::new(),
            site_numbers: IdMap::default(),
            contexts: [(None, 0); MEMO],
            tasks: Vec::new(),
            lowest: stack.end,
            entry: stack.end,
            stack,
            private,
            is_private: |_, _| false,
            accesses: 0,
            atomic_accesses: 0,
            failure: None,
            stopped: None,
            threads: 0,
            thread_objects: IdMap::default(),
            synchronisation: Synchronisation::default(),
            spin: Spin::default(),
        };
        checker.attach();
        checker.detector.keep_conflicts();
        checker.event(Event::TaskBegin {
            task: TaskId::MAIN,
            parent: None,
            kind: Creation::Main,
            finish: FinishId::ROOT,
            site: NO_SITE,
        });
        checker.event(Event::FinishBegin {
            task: TaskId::MAIN,
            finish: FinishId::ROOT,
            kind: Scope::Root,
            site: NO_SITE,
        });
        Ok(checker)
    }

    #[allow(unsafe_code)]
    fn attach(&mut self) {
        let fast = NonNull::from(&mut *self.fast);
        // SAFETY: the box lives as long as the detector, which is dropped with it, and is read here only while the detector
        // does not run.
        unsafe { self.detector.attach(fast) };
    }

    fn event(&mut self, event: Event) {
        self.detector.event(&event);
        let stamp = self.detector.contexts().inner().now() as usize;
        if stamp >= self.tasks.len() {
            self.tasks.resize(stamp + 1, self.structure.running());
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// A task begins that a finish waits for; its frames will be below `entry`.
    pub fn begin_task(
        &mut self,
        kind: TaskKind,
        finish: FinishId,
        place: u64,
        entry: u64,
    ) -> Suspended {
        let created = self.position(place);
        let parent = self.structure.running();
        let task = self.structure.begin_task(kind, finish, created);
        self.event(Event::TaskBegin {
            task,
            parent: Some(parent),
            kind: Creation::Async,
            finish,
            site: NO_SITE,
        });
        let suspended = Suspended {
            depth: self.calls.depth(),
            lowest: self.lowest,
            entry: self.entry,
            synchronisation: self.synchronisation.begin_task(),
        };
        (self.lowest, self.entry) = (entry, entry);
        suspended
    }

    pub fn end_task(&mut self, suspended: Suspended) {
        let mut told = Vec::new();
        self.synchronisation
            .end_task(suspended.synchronisation, |event| told.push(event));
        self.tell(&told);
        self.calls.back_to(suspended.depth);
        let used = self.entry - self.lowest;
        self.forget(self.lowest, used);
        (self.lowest, self.entry) = (suspended.lowest, suspended.entry);
        let task = self.structure.end_task();
        self.event(Event::TaskEnd { task });
    }

    /// A thread begins, with a stack and thread-local variables of its own.
    pub fn begin_thread(
        &mut self,
        kind: TaskKind,
        place: u64,
        entry: u64,
        stack: Range<u64>,
        private: Range<u64>,
    ) -> SuspendedThread {
        let task = self.begin_task(kind, FinishId::ROOT, place, entry);
        SuspendedThread {
            task,
            stack: std::mem::replace(&mut self.stack, stack),
            private: std::mem::replace(&mut self.private, private),
        }
    }

    /// The running thread ends; who joins it will know what it did.
    pub fn end_thread(&mut self, object: ObjectId, suspended: SuspendedThread) {
        self.tell(&[Told::Release {
            object,
            continues: false,
        }]);
        self.end_task(suspended.task);
        (self.stack, self.private) = (suspended.stack, suspended.private);
    }

    pub fn new_object(&mut self) -> ObjectId {
        self.synchronisation.new_object()
    }

    /// A thread that has ended is called so by who may join it.
    pub fn name_thread(&mut self, name: u64, object: ObjectId) {
        self.thread_objects.insert(name, object);
    }

    pub fn join_thread(&mut self, name: u64) {
        if let Some(object) = self.thread_objects.remove(&name) {
            self.tell(&[Told::Acquire(object)]);
        }
    }

    /// Followed threads beside the one that the program is.
    pub fn other_threads(&self) -> u64 {
        self.threads
            .saturating_sub(u64::from(self.options.test_thread))
    }

    pub fn begin_finish(&mut self, kind: FinishKind, place: u64) -> FinishId {
        let created = self.position(place);
        let finish = self.structure.begin_finish(kind, created);
        self.event(Event::FinishBegin {
            task: self.structure.running(),
            finish,
            kind: Scope::Lexical,
            site: NO_SITE,
        });
        finish
    }

    pub fn end_finish(&mut self, finish: FinishId) {
        self.structure.end_finish(finish);
        self.event(Event::FinishEnd {
            task: self.structure.running(),
            finish,
            site: NO_SITE,
        });
    }

    /// Places share those of the detector's memo.
    #[inline]
    fn slot(place: u64) -> usize {
        place as usize % SLOTS
    }

    #[inline]
    pub fn access(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) {
        self.accesses += 1;
        if bytes == 8
            && address.is_multiple_of(8)
            && let Some(cell) = self.shadow.word(address)
            && self.fast.decide(kind, *cell, Self::slot(here.place)) == Some(*cell)
        {
            return;
        }
        self.access_slowly(kind, address, bytes, here, false);
    }

    /// An atomic operation: atomic accesses don't race with each other, and what they order is followed.
    pub fn atomic(&mut self, operation: &Operation, bytes: usize, here: Here) {
        self.atomic_accesses += 1;
        let kind = match operation.after {
            Some(_) => AccessKind::Write,
            None => AccessKind::Read,
        };
        self.access_slowly(kind, operation.address, bytes, here, true);
        let mut told = Vec::new();
        self.synchronisation
            .follow(operation, |event| told.push(event));
        self.tell(&told);
    }

    pub fn fence(&mut self, acquires: bool, releases: bool) {
        let mut told = Vec::new();
        self.synchronisation
            .fence(acquires, releases, |event| told.push(event));
        self.tell(&told);
    }

    /// Code that is not instrumented has put a value there on which whoever reads it relies.
    pub fn published(&mut self, address: u64) {
        let mut told = Vec::new();
        self.synchronisation
            .published(address, |event| told.push(event));
        self.tell(&told);
    }

    fn tell(&mut self, told: &[Told]) {
        let task = self.structure.running();
        for event in told {
            self.event(match *event {
                Told::Lock(lock, mode) => Event::Lock { task, lock, mode },
                Told::Unlock(lock) => Event::Unlock { task, lock },
                Told::Release { object, continues } => Event::Release {
                    task,
                    object,
                    continues,
                },
                Told::Acquire(object) => Event::Acquire { task, object },
            });
        }
    }

    fn access_slowly(
        &mut self,
        kind: AccessKind,
        address: u64,
        bytes: usize,
        here: Here,
        atomic: bool,
    ) {
        if self.private.contains(&address) || self.failure.is_some() {
            return;
        }
        let end = address.saturating_add(bytes as u64);
        let mut at = address;
        while at < end {
            let next = (at | (PAGE as u64 - 1)).saturating_add(1).min(end);
            let piece = (next - at) as usize;
            if let Err(failure) = self.access_page(kind, at, piece, bytes, here, atomic) {
                self.fail(failure);
                return;
            }
            at = next;
        }
        if self.detector.has_conflicts() {
            self.name_conflicts(here, bytes, atomic);
        }
    }

    /// An access, or as much of it as lies in one page.
    fn access_page(
        &mut self,
        kind: AccessKind,
        address: u64,
        piece: usize,
        bytes: usize,
        here: Here,
        atomic: bool,
    ) -> Result<(), Failure> {
        let slot = Self::slot(here.place);
        let cells = self.shadow.cells(address, piece, &mut self.detector)?;
        let settled = |cell: &u64| self.fast.decide(kind, *cell, slot) == Some(*cell);
        if !atomic && cells.cells.iter().all(settled) {
            return Ok(());
        }
        // Not by a method: the cells are borrowed from the shadow.
        let at = Position {
            place: here.place,
            calls: self.calls.node(),
        };
        let site = Site {
            kind,
            at,
            bytes: bytes as u32,
            atomic,
        };
        let memo = &mut self.contexts[(here.place ^ here.place >> 8) as usize % MEMO];
        if memo.0 != Some(site) || memo.1 < self.detector.contexts().begun() {
            let next = self.sites.len() as u32;
            let number = *self.site_numbers.entry(site).or_insert(next);
            if number == next {
                self.sites.push(site);
            }
            *memo = (Some(site), self.detector.contexts().make(number)?);
        }
        self.detector.speak_as(memo.1);
        self.lowest = self.lowest.min(here.stack_pointer);
        let piece = cells.grain.bytes() as u64;
        match cells.cells {
            many if atomic => self.detector.atomic(kind, many, cells.location, piece),
            [cell] => match self.fast.decide(kind, *cell, slot) {
                Some(after) => *cell = after,
                None => self.detector.undecided(kind, cell, slot, || cells.location),
            },
            many => self
                .detector
                .range_of_pieces(kind, many, 1, cells.location, piece),
        }
        Ok(())
    }

    /// An atomic variable was read, or tried to be changed in vain. Whether that happened so often in a row that nothing else can be
    /// meant than to wait for another value.
    pub fn looks_at(&mut self, address: u64, value: u64, place: u64) -> bool {
        let look = (address, value, place, self.structure.tasks());
        if self.spin.look != look {
            self.spin = Spin { look, times: 0 };
        }
        self.spin.times += 1;
        self.spin.times >= SPINS
    }

    /// The running task waits for ever.
    pub fn stop(&mut self, waits: Waits, address: u64, place: u64) {
        self.stopped = Some(Stopped {
            waits,
            address,
            at: self.position(place),
            task: self.structure.running(),
        });
    }

    fn position(&mut self, place: u64) -> Position {
        Position {
            place,
            calls: self.calls.node(),
        }
    }

    /// Gives the conflicts of the access that was just made their names.
    #[cold]
    fn name_conflicts(&mut self, here: Here, bytes: usize, atomic: bool) {
        let at = self.position(here.place);
        let task = self.structure.running();
        let conflicts: Vec<_> = self.detector.conflicts().collect();
        for conflict in conflicts {
            let [stamp, tag] = self.detector.contexts().of(conflict.earlier);
            let site = self.sites[tag as usize];
            let first = Access {
                kind: site.kind,
                atomic: site.atomic,
                bytes: site.bytes,
                at: site.at,
                task: self.tasks[stamp as usize],
            };
            let second = Access {
                kind: conflict.kind,
                atomic,
                bytes: bytes as u32,
                at,
                task,
            };
            let cell = self.shadow.cell_at(conflict.location);
            if self.belongs_to_thread(&first, &second, cell.start) {
                continue;
            }
            let races = match conflict.excluded_by {
                None => &mut self.races,
                // How a lock's own word changes is the lock's affair.
                Some(LockId::ATOMIC) if self.synchronisation.is_lock(cell.start) => continue,
                Some(_) => &mut self.overlaps,
            };
            races.add(first, second, cell.clone(), conflict.excluded_by, || {
                object_at(cell.start, &self.heap, &self.calls, &self.stack, task)
            });
        }
    }

    /// Whether two accesses are of memory that each thread has its own of.
    fn belongs_to_thread(&mut self, first: &Access, second: &Access, address: u64) -> bool {
        if self.heap.is_private(address) {
            return true;
        }
        if self.races.contains(first, second) {
            return false;
        }
        let Some(block) = self.heap.around(address) else {
            return false;
        };
        let block = block.start..block.start + block.bytes;
        let private = (self.is_private)(self, &block);
        if private {
            self.heap.set_private(block.start);
        }
        private
    }

    /// Whether some conflict is ordered by nothing but what happened in this run.
    pub fn synchronised(&self) -> bool {
        self.detector.synchronised() || !self.overlaps.is_empty()
    }

    /// These addresses are something new from now on.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        self.synchronisation
            .forget(address..address.saturating_add(bytes));
        if let Err(failure) = self.shadow.forget(address, bytes, &mut self.detector) {
            self.fail(failure);
        }
    }

    pub fn allocated(&mut self, start: u64, bytes: u64, place: u64) {
        self.forget(start, bytes);
        let allocated = self.position(place);
        let task = self.structure.running();
        self.heap.allocate(Block {
            start,
            bytes,
            allocated,
            task,
        });
    }

    pub fn freed(&mut self, start: u64) {
        if let Some(block) = self.heap.free(start) {
            self.forget(block.start, block.bytes);
        }
    }
}

/// What an address belongs to, when `task` runs.
fn object_at(address: u64, heap: &Heap, calls: &Calls, stack: &Range<u64>, task: TaskId) -> Object {
    if stack.contains(&address) {
        let call = calls.owner_of(address);
        let place = call.and_then(|call| calls.position_in(call));
        return Object::Stack {
            place: place.unwrap_or(0),
            task,
        };
    }
    match heap.around(address) {
        Some(block) => Object::Heap {
            start: block.start,
            bytes: block.bytes,
            allocated: block.allocated,
            task: block.task,
        },
        None => Object::Other,
    }
}
