//! Everything that the checked program tells, as one object: it keeps the detector's cells for the program's memory and names
//! what the detector finds.
//!
//! **An access** is of whole cells of the shadow. If the running step did the same already, which its cells tell, that is all; and
//! nothing is remembered of what the program does while nothing runs beside it: that precedes whatever comes later.
//! Otherwise it is remembered by a context ([`finishline_detect::order::Contexts`]): the place of the access with the calls that
//! led there; so when a later access conflicts with it, both can be named, from this one run.
//!
//! **The stack.** Tasks run one after the other on one stack, so siblings use the same addresses for variables of their own. Whatever lies
//! below a task's first frame is forgotten when it ends. How far down that is, is known from the accesses that were remembered: none is
//! below the stack pointer of its time.
//!
//! **The heap.** To free a block is to write all of it: whoever may be using it at the time races with that. What lies there is
//! another object only when it is allocated again, so who uses it later, in parallel, races as well. Only a block that is so big that the allocator
//! gives it back to the system is forgotten at once, since what comes there next may come unheard; pages of it that nobody ever
//! accessed get no cells by that.

mod accesses;
mod glance;
mod glimpses;
mod tasks;
mod threads;
mod waiting;

pub use accesses::Here;
pub use glance::Glance;
use glimpses::Glimpse;
use tasks::Frame;
use threads::Threads;
use waiting::Spin;
pub use waiting::{Looking, Stopped, Waits};

use crate::calls::Calls;
use crate::heap::{Block, Heap};
use crate::holding::Holding;
use crate::options::Options;
use crate::races::{Manner, Races};
use crate::shadow::{Elsewhere, Shadow};
use crate::structure::{Position, Structure, TaskKind};
use crate::synchronisation::Synchronisation;
use finishline_detect::Failure;
use finishline_detect::hash::{IdMap, IdSet};
use finishline_detect::inline::Inline;
use finishline_detect::order::{Contexts, Order, Stamp, Synchronised};
use finishline_model::{
    AccessKind, Event, FinishId, FinishKind as Scope, Location, Observer, SiteId, TaskId,
    TaskKind as Creation,
};
use std::ops::Range;

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
    manner: Manner,
    /// The locks that its task had taken.
    holding: Holding,
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
    pub glance: &'static mut Glance,
    shadow: Shadow,
    /// Each with its latest context.
    sites: Vec<(Site, Stamp)>,
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
    /// Where the program's frames had addresses of blocks that were freed, when tasks were last created: what is allocated there later is not
    /// what these point to.
    left_over: IdSet<u64>,
    pub find_left_over: fn(&Checker) -> IdSet<u64>,
    /// The word at an address of thread-local variables.
    pub read_word: fn(u64) -> u64,
    /// Told of each pair that races for the first time.
    pub new_race: fn(&Checker),
    /// Of the running thread, the running task last.
    frames: Vec<Frame>,
    pub atomic_accesses: u64,
    failure: Option<Failure>,
    pub stopped: Option<Stopped>,
    /// Where the innermost function of the running thread was last known to be.
    place: u64,
    threads: Threads,
    /// Whether an address is inside of the function that drops the last reference.
    pub is_drop_slow: fn(u64) -> bool,
    glimpse: Glimpse,
    pub synchronisation: Synchronisation,
    spin: Spin,
}

const NO_SITE: SiteId = SiteId(0);

/// Allocators take blocks of so many bytes from the system, one by one, and give them back so.
const GIVEN_BACK: u64 = 128 << 10;

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
            glance: Box::leak(Box::new(Glance::NOTHING)),
            shadow: Shadow::new()?,
            sites: Vec::new(),
            site_numbers: IdMap::default(),
            contexts: [(None, 0); MEMO],
            tasks: Vec::new(),
            lowest: stack.end,
            frames: vec![Frame::outermost(stack.end, TaskId::MAIN)],
            stack,
            private,
            is_private: |_, _| false,
            left_over: IdSet::default(),
            find_left_over: |_| IdSet::default(),
            read_word: |_| 0,
            new_race: |_| (),
            atomic_accesses: 0,
            failure: None,
            stopped: None,
            place: 0,
            threads: Threads::default(),
            is_drop_slow: |_| false,
            glimpse: Glimpse::default(),
            synchronisation: Synchronisation::default(),
            spin: Spin::default(),
        };
        checker.glance_at(Box::leak(Box::new(Glance::NOTHING)));
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

    fn event(&mut self, event: Event) {
        self.detector.event(&event);
        let stamp = self.detector.contexts().inner().now() as usize;
        if stamp >= self.tasks.len() {
            self.tasks.resize(stamp + 1, self.structure.running());
        }
        let was_alone = self.glance.alone;
        self.glance.alone = self.is_program() && self.detector.contexts().nothing_parallel();
        if was_alone && !self.glance.alone {
            self.left_over = (self.find_left_over)(self);
        }
    }

    /// Whether the running task is not beside anything that was created before it.
    fn is_program(&self) -> bool {
        let running = self.structure.running();
        let creator_waits = self.options.test_thread && running.index() == 1;
        running == TaskId::MAIN
            || creator_waits && self.structure.task(running).kind == TaskKind::Thread
    }

    /// The running task's frames are below.
    pub fn entry(&self) -> u64 {
        self.frames
            .last()
            .map_or(self.stack.end, |frame| frame.entry)
    }

    /// Why the rest of the run could not be checked, if it could not.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref().or(self.detector.failure())
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    fn position(&mut self, place: u64) -> Position {
        self.look_around_at_access(place);
        if place != 0 {
            self.place = place;
        }
        Position {
            place,
            calls: self.calls.node(),
        }
    }

    /// Whether some conflict is ordered by nothing but what happened in this run.
    pub fn synchronised(&self) -> bool {
        let doubtful_locks = self.detector.held().gave_up_early();
        self.detector.synchronised() || !self.overlaps.is_empty() || doubtful_locks
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
        // What is left of its last word is nobody's, unless blocks are packed so that they begin inside words.
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
        self.heap.allocate(Block {
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
        self.end_of_block(block, place);
        self.heap.free(start);
        if self.glance.alone || block.bytes >= GIVEN_BACK {
            self.forget(start, block.bytes);
        }
    }

    /// A block has another size from now on, and maybe another address. It is the end of the old one either way, so that the answer
    /// does not depend on whether there was room.
    pub fn reallocated(&mut self, from: u64, to: u64, bytes: u64, place: u64) {
        let in_place = self.heap.live(from).filter(|_| from == to);
        let Some(block) = in_place else {
            self.freed(from, place);
            self.allocated(to, bytes, place);
            return;
        };
        self.end_of_block(block, place);
        let kept = block.bytes.min(bytes);
        self.forget(to + kept, bytes - kept);
        self.note_block(to, bytes, place);
    }
}

#[cfg(test)]
mod tests;
