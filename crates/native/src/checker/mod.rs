//! The checker: receives all that the checked program tells, and names what the detector finds.
//!
//! **An access** is of whole cells of the shadow. If the cells show that the running step did the
//! same before, nothing more happens. While nothing runs in parallel, accesses are not checked:
//! they precede whatever comes later. Any other access is remembered by a context
//! ([`finishline_detect::order::Contexts`]): its place, with the calls that led there. So when a
//! later access conflicts, both can be named from this one run.
//!
//! **The stack.** Tasks run one after the other on one stack, so siblings use the same addresses
//! for variables of their own. When a task ends, everything below its first frame is forgotten. The
//! lowest stack pointer of a remembered access tells how far down that is.
//!
//! **The heap.** Freeing a block writes all of it: a parallel use of the block races with the
//! write. The memory is another object only when it is allocated again, so a later parallel use
//! races too. A block big enough for the allocator to return it to the system is forgotten at once,
//! since the next owner of its addresses may not be announced. Pages of it that were never accessed
//! get no cells. Most blocks are [kept](self::kept) for a while before the allocator gets them.
//!
//! **What belongs to what.** [`ThreadState`] is the running thread's, and is exchanged when another
//! thread runs. [`Host`] asks the process what only the process knows. [`Detection`] is the
//! detector with its cells and contexts. [`Found`] is what the findings file will list. [`Journal`]
//! records what the checker is told. The other fields describe the program: its calls, tasks,
//! blocks and locks.

mod accesses;
pub mod findings;
mod glance;
mod glimpses;
mod interruptions;
mod journal;
mod kept;
mod known_orders;
mod older_values;
pub mod options;
pub mod orders;
pub mod replay;
mod sites;
mod stays;
mod tasks;
mod threads;
mod waiting;

pub use accesses::Here;
pub use glance::{Became, Glance, GlanceHandle, PLACES};
pub use journal::Journal;
use known_orders::KnownOrders;
use sites::{Site, Sites};
use stays::Variables;
pub use threads::ThreadState;
use threads::Threads;
pub use waiting::{Looking, Stopped};

use crate::facts::calls::Calls;
use crate::facts::heap::{Heap, HeapBlock};
use crate::facts::races::ConflictingPairs;
use crate::facts::shadow::{Elsewhere, Shadow};
use crate::facts::structure::{Position, Structure, TaskKind, Whereabouts};
use crate::facts::synchronisation::Synchronisation;
use finishline_detect::Failure;
use finishline_detect::inline::Inline;
use finishline_detect::order::{Contexts, OneAtATime, Order, Running};
use finishline_model::hash::{IdMap, IdSet};
use finishline_model::{
    Event, FinishId, FinishKind as Scope, Location, SiteId, TaskId, TaskKind as Creation,
};
use finishline_trace::process::Call;
use options::Options;
use orders::Orders;
use std::ops::Range;

type Detector = Inline<Contexts<OneAtATime>>;

impl Elsewhere for Detector {
    fn copy(&mut self, from: Location, to: Location) {
        self.copy_history(from, to);
    }

    fn forget(&mut self, location: Location) {
        self.forget_history(location);
    }
}

/// What only the process around the checker can answer or do. Tests stand in for a process.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Called when a pair races for the first time.
    pub new_race: fn(&mut Checker),
    /// Whether an address is inside the function that drops the last reference.
    pub is_drop_slow: fn(u64) -> bool,
}

impl Default for Host {
    /// A process without memory.
    fn default() -> Host {
        Host {
            new_race: |_| (),
            is_drop_slow: |_| false,
        }
    }
}

/// The detector, and what is needed to name what it finds.
struct Detection {
    detector: Detector,
    shadow: Shadow,
    sites: Sites,
    /// By stamp of the detector: the task.
    tasks: Vec<TaskId>,
    /// Where the access that is being made may use kept memory.
    perhaps_kept: Vec<Range<u64>>,
    /// Tasks have learnt of others because these kept something for the thread.
    learnt_of_threads: bool,
    /// Of a run in brief: what orders conflicts is known already of these.
    known_orders: Option<KnownOrders>,
    /// Why the rest of the run cannot be checked.
    failure: Option<Failure>,
}

/// What the findings file will list.
#[derive(Debug)]
pub struct Found {
    pub races: ConflictingPairs,
    /// Conflicts of accesses that exclude each other: no races, but either may come first.
    pub overlaps: ConflictingPairs,
    /// Conflicts of tasks on one thread that had asked which thread that is.
    pub by_thread: ConflictingPairs,
    /// Uses of kept blocks behind their end.
    pub after_free: ConflictingPairs,
    /// How often what orders a conflict may have been known only because a thread had kept it.
    pub through_threads: u64,
    pub atomic_accesses: u64,
    pub stopped: Option<Stopped>,
}

pub struct Checker {
    pub options: Options,
    pub host: Host,
    pub glance: GlanceHandle,
    pub calls: Calls,
    pub structure: Structure,
    pub heap: Heap,
    /// Where kept blocks begin whose cells are to be marked when something is parallel.
    unmarked: IdSet<u64>,
    pub synchronisation: Synchronisation,
    /// The number of sequentially consistent operations so far.
    sequential: u64,
    /// The running thread's own state.
    pub thread: ThreadState,
    threads: Threads,
    pub orders: Orders,
    /// Tasks that were created and have not run: where each would begin.
    created: IdMap<TaskId, Whereabouts>,
    /// Of all threads that tasks can be on.
    variables: Variables,
    detection: Detection,
    pub found: Found,
    pub journal: Journal,
}

const NO_SITE: SiteId = SiteId(0);

/// Allocators take blocks of this size or more from the system one by one, and return them one by
/// one.
const GIVEN_BACK: u64 = 128 << 10;

impl Checker {
    /// A checker outside of any process, with a glance of its own.
    pub fn new(
        options: Options,
        stack: Range<u64>,
        thread_locals: Range<u64>,
    ) -> Result<Checker, Failure> {
        let glance = GlanceHandle::unshared();
        Checker::hosted(options, Host::default(), glance, stack, thread_locals)
    }

    /// The checker of a process, whose first thread has this stack and these thread-local
    /// variables.
    pub fn hosted(
        options: Options,
        host: Host,
        glance: GlanceHandle,
        stack: Range<u64>,
        thread_locals: Range<u64>,
    ) -> Result<Checker, Failure> {
        let mut calls = Calls::new()?;
        let created = Position {
            place: 0,
            calls: calls.node(),
        };
        let detection = Detection {
            detector: Detector::new()?,
            shadow: Shadow::new(options.most_cells)?,
            sites: Sites::default(),
            tasks: Vec::new(),
            perhaps_kept: Vec::new(),
            learnt_of_threads: false,
            known_orders: None,
            failure: None,
        };
        let found = Found {
            races: ConflictingPairs::new(options.max_races),
            overlaps: ConflictingPairs::new(options.max_races),
            by_thread: ConflictingPairs::new(options.max_races),
            after_free: ConflictingPairs::new(options.max_races),
            through_threads: 0,
            atomic_accesses: 0,
            stopped: None,
        };
        let orders = Orders::new(options.order, options.right_first);
        let mut variables = Variables::default();
        let number = variables.add(thread_locals.clone());
        let mut checker = Checker {
            options,
            host,
            glance,
            calls,
            structure: Structure::new(created),
            heap: Heap::default(),
            unmarked: IdSet::default(),
            synchronisation: Synchronisation::default(),
            sequential: 0,
            thread: ThreadState::new(TaskId::MAIN, number, stack.end, stack, thread_locals),
            threads: Threads::default(),
            orders,
            created: IdMap::default(),
            variables,
            detection,
            found,
            journal: Journal::Off,
        };
        checker.attach_glance();
        checker.detection.detector.keep_conflicts();
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

    /// Nobody will ask for all conflicts that are no races, so most of them need not be looked for.
    pub fn be_brief(&mut self) {
        self.detection.detector.be_brief();
        self.detection.known_orders = Some(KnownOrders::default());
    }

    fn event(&mut self, event: Event) {
        self.note_step();
        let Detection {
            detector, tasks, ..
        } = &mut self.detection;
        detector.event(&event);
        let stamp = detector.contexts().inner().stamp(Running) as usize;
        let running = self.structure.running();
        if stamp >= tasks.len() {
            tasks.resize(stamp + 1, running);
        }
        tasks[stamp] = running;
        let alone = self.is_program() && self.detection.detector.contexts().nothing_parallel();
        self.glance.set_alone(alone);
        if !alone && !self.unmarked.is_empty() {
            self.mark_all();
        }
    }

    /// Whether the running task is not beside anything that was created before it.
    fn is_program(&self) -> bool {
        let running = self.structure.running();
        let creator_waits = self.options.test_thread && running.index() == 1;
        running == TaskId::MAIN
            || creator_waits && self.structure.task(running).kind == TaskKind::Thread
    }

    /// The frames of the running task lie below this address.
    pub fn entry(&self) -> u64 {
        let innermost = self.thread.tasks.last();
        innermost.map_or(self.thread.stack.end, |task| task.entry)
    }

    /// Why the rest of the run could not be checked, if it could not.
    pub fn failure(&self) -> Option<&Failure> {
        let detection = &self.detection;
        detection.failure.as_ref().or(detection.detector.failure())
    }

    fn fail(&mut self, failure: Failure) {
        self.detection.failure.get_or_insert(failure);
    }

    fn position(&mut self, place: u64) -> Position {
        self.look_around_at_access(place);
        if place != 0 {
            self.thread.place = place;
        }
        Position {
            place,
            calls: self.calls.node(),
        }
    }

    /// Whether some conflict is ordered by nothing but what happened in this run.
    pub fn synchronised(&self) -> bool {
        let doubtful_locks = self.detection.detector.held().gave_up_early();
        // Not as the detector says: what a thread does with its own variables depends on nothing.
        let found = [&self.found.overlaps, &self.found.by_thread];
        let ordered = found.iter().any(|pairs| !pairs.is_empty());
        ordered || doubtful_locks
    }

    /// Forgets all about these addresses: what comes there next is another object.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        self.synchronisation
            .forget(address..address.saturating_add(bytes));
        let Detection {
            detector, shadow, ..
        } = &mut self.detection;
        if let Err(failure) = shadow.forget(address, bytes, detector) {
            self.fail(failure);
        }
    }

    pub fn allocated(&mut self, start: u64, bytes: u64, place: u64) {
        self.note(|| Call::Allocated {
            start,
            bytes,
            place,
        });
        // What is left of its last word is nobody's, unless blocks are packed so that they begin
        // inside words.
        let forgotten = match start % 8 {
            0 => bytes.next_multiple_of(8),
            _ => bytes,
        };
        self.forget(start, forgotten);
        self.note_block(start, bytes, place);
    }

    fn note_block(&mut self, start: u64, bytes: u64, place: u64) {
        let allocated = self.position(place);
        let task = self.structure.running();
        self.heap.allocate(HeapBlock {
            start,
            bytes,
            allocated,
            task,
        });
    }

    pub fn freed(&mut self, start: u64, place: u64) {
        let Some(block) = self.heap.live(start) else {
            return;
        };
        self.note(|| Call::Freed { start, place });
        self.end_of_block(block, place);
        self.heap.free(start);
        if self.glance.is_alone() || block.bytes >= GIVEN_BACK {
            self.forget(start, block.bytes);
        }
    }

    /// A block changes its size, and maybe its address. Either way the old block ends, so the
    /// answer does not depend on whether there was room.
    pub fn reallocated(&mut self, from: u64, to: u64, bytes: u64, place: u64) {
        let in_place = self.heap.live(from).filter(|_| from == to);
        let Some(block) = in_place else {
            self.freed(from, place);
            self.allocated(to, bytes, place);
            return;
        };
        self.note(|| Call::Resized {
            start: to,
            bytes,
            place,
        });
        self.end_of_block(block, place);
        let kept = block.bytes.min(bytes);
        self.forget(to + kept, bytes - kept);
        self.note_block(to, bytes, place);
    }
}

#[cfg(test)]
mod tests;
