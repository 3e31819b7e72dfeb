//! Accesses: how they get to the detector, and how what it finds gets its names.

use super::tasks::Frame;
use super::{Checker, GIVEN_BACK, MEMO, Site};
use crate::calls::CallStack;
use crate::heap::Block;
use crate::races::{Access, Manner, Names, Object, OrderedBy, Races};
use crate::structure::Position;
use crate::synchronisation::{Operation, Told};
use finishline_detect::Failure;
use finishline_detect::history::Meeting;
use finishline_detect::inline::Conflict;
use finishline_model::{AccessKind, Event, LockId, ObjectId, TaskId};
use std::ops::Range;

/// Where an access happens: the place in the program, and the stack pointer.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    pub place: u64,
    pub stack_pointer: u64,
}

/// Where the latest context of a place is remembered.
#[inline]
fn memo_of(place: u64) -> usize {
    (place ^ place >> 8) as usize % MEMO
}

/// The length of an access as it is told.
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Ranges of more cells are worth going through by blocks.
const FEW: usize = 64;

impl Checker {
    /// An access of a variable of 16 bytes at most.
    #[inline(always)]
    pub fn access(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) {
        if self.glance.alone {
            return;
        }
        self.glance.accesses += 1;
        if !self.stays(kind, address, bytes) {
            self.access_variable(kind, address, bytes, here);
        }
    }

    /// The same when it has been counted, and does not stay as it is if it has one cell only.
    #[inline(always)]
    pub fn access_variable(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) {
        if !self.begins_anew(kind, address, bytes, here) && !self.stays(kind, address, bytes) {
            self.access_slowly(kind, address, bytes, here, Manner::Plain);
        }
    }

    /// Whether all cells of a variable stay as they are. Those that it is not whole ones of need not be divided to see that.
    #[inline(always)]
    fn stays(&self, kind: AccessKind, address: u64, bytes: usize) -> bool {
        let stays = |cell| self.glance.fast.stays(kind, cell);
        self.shadow.all_of_variable(address, bytes, stays)
    }

    /// Whether all that was remembered of a variable precedes the running step, which has done the same with others from here before: then
    /// it takes its place.
    #[inline]
    fn begins_anew(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) -> bool {
        if self.private.contains(&address) {
            self.note_thread_local(address, bytes);
            return true;
        }
        // It must be looked at what was left and entered, before the calls get their numbers.
        if self.glimpses() {
            return false;
        }
        let Some(cells) = self.shadow.whole_cells(address, bytes) else {
            return false;
        };
        let site = Site {
            kind,
            at: Position {
                place: here.place,
                calls: self.calls.node(),
            },
            bytes: length(bytes),
            manner: Manner::Plain,
            holding: self.synchronisation.holding(),
        };
        let (latest, context) = self.contexts[memo_of(here.place)];
        if latest != Some(site) || context < self.detector.contexts().begun() {
            return false;
        }
        self.detector.speak_as(context);
        let first = cells[0];
        let Some(after) = self.detector.begins_anew(kind, first) else {
            return false;
        };
        let all_equal = cells.iter().all(|cell| *cell == first);
        if all_equal {
            self.lowest = self.lowest.min(here.stack_pointer);
            cells.fill(after);
        }
        all_equal
    }

    /// An access of any bytes, one at least.
    pub fn access_range(&mut self, kind: AccessKind, address: u64, bytes: usize, here: Here) {
        if self.glance.alone {
            return;
        }
        self.glance.accesses += 1;
        let stays = |cell| self.glance.fast.stays(kind, cell);
        if !self.shadow.all(address, bytes, stays) {
            self.access_slowly(kind, address, bytes, here, Manner::Plain);
        }
    }

    /// An atomic operation: atomic accesses don't race with each other, and what they order is followed.
    pub fn atomic(&mut self, operation: &Operation, bytes: usize, here: Here) {
        self.atomic_accesses += 1;
        self.look_around(here.place);
        let kind = match operation.after {
            Some(_) => AccessKind::Write,
            None => AccessKind::Read,
        };
        if !self.glance.alone {
            self.access_slowly(kind, operation.address, bytes, here, Manner::Atomic);
        }
        let at = self.position(here.place);
        let mut told = Vec::new();
        self.synchronisation
            .follow(operation, at, |event| told.push(event));
        self.tell(&told);
    }

    /// Code that is not instrumented has made an atomic operation.
    pub fn unseen(&mut self, operation: &Operation) {
        let at = self.position(0);
        self.look_around(0);
        let mut told = Vec::new();
        self.synchronisation
            .follow(operation, at, |event| told.push(event));
        self.tell(&told);
    }

    /// Code that is not instrumented relies on the value that it has read there.
    pub fn relied_on(&mut self, address: u64) {
        self.look_around(0);
        let mut told = Vec::new();
        self.synchronisation
            .relied_on(address, |event| told.push(event));
        self.tell(&told);
    }

    /// Something is found to have been done once and for all, by whom ever.
    pub fn done_once(&mut self, address: u64) {
        self.relied_on(address);
        self.published(address);
    }

    /// Which round of the barrier it is.
    pub fn arrives_at_barrier(&mut self, address: u64) -> u64 {
        self.look_around(0);
        let object = self.synchronisation.round_of_barrier(address);
        self.tell(&[Told::Release {
            object,
            continues: true,
        }]);
        u64::from(object.0)
    }

    pub fn leaves_barrier(&mut self, address: u64, round: u64, last: bool) {
        self.look_around(0);
        if last {
            self.synchronisation.end_round_of_barrier(address);
        }
        self.tell(&[Told::Acquire(ObjectId(round as u32))]);
    }

    /// Code that is not instrumented has put a value there on which whoever reads it relies.
    pub fn published(&mut self, address: u64) {
        self.look_around(0);
        let mut told = Vec::new();
        self.synchronisation
            .published(address, |event| told.push(event));
        self.tell(&told);
    }

    pub(super) fn tell(&mut self, told: &[Told]) {
        let task = self.structure.running();
        for event in told {
            // What is released or acquired now precedes everything later anyway.
            if self.glance.alone && !matches!(event, Told::Lock(..) | Told::Unlock(_)) {
                continue;
            }
            self.event(match *event {
                Told::Lock(lock, mode) => Event::Lock { task, lock, mode },
                Told::Unlock(lock) => Event::Unlock { task, lock },
                Told::Release { object, continues } => Event::Release {
                    task,
                    object,
                    continues,
                },
                Told::Acquire(object) => Event::Acquire { task, object },
                Told::Relay {
                    from,
                    to,
                    continues,
                } => Event::Relay {
                    task,
                    from,
                    to,
                    continues,
                },
            });
        }
    }

    /// A block is no more: a write of all of it.
    pub(super) fn end_of_block(&mut self, block: Block, place: u64) {
        if self.glance.alone {
            return;
        }
        let here = Here {
            place,
            // The heap has nothing to do with the stack.
            stack_pointer: u64::MAX,
        };
        let bytes = block.bytes as usize;
        self.access_slowly(AccessKind::Write, block.start, bytes, here, Manner::Free);
    }

    #[cold]
    #[inline(never)]
    fn access_slowly(
        &mut self,
        kind: AccessKind,
        address: u64,
        bytes: usize,
        here: Here,
        manner: Manner,
    ) {
        if self.private.contains(&address) {
            self.note_thread_local(address, bytes);
            return;
        }
        if self.failure.is_some() {
            return;
        }
        self.look_around_at_access(here.place);
        let end = address.saturating_add(bytes as u64);
        let mut at = address;
        while at < end {
            match self.access_cells(kind, at..end, bytes, here, manner) {
                Ok(next) => at = next,
                Err(failure) => return self.fail(failure),
            }
        }
        if self.detector.has_conflicts() {
            self.name_conflicts(here, address, bytes, manner);
        }
    }

    /// An access, or as much of it as is of cells that lie together. Tells up to where.
    fn access_cells(
        &mut self,
        kind: AccessKind,
        range: Range<u64>,
        bytes: usize,
        here: Here,
        manner: Manner,
    ) -> Result<u64, Failure> {
        // What is forgotten at once needs no cells to be remembered in.
        let passes = manner == Manner::Free && bytes as u64 >= GIVEN_BACK;
        if passes && let Some(page_ends) = self.shadow.without_cells(range.start) {
            return Ok(page_ends);
        }
        let left = range.end - range.start;
        let cells = self.shadow.cells(range.start, left, &mut self.detector)?;
        let end = range.start + cells.bytes();
        let stays = |cell: &u64| self.glance.fast.stays(kind, *cell);
        if manner == Manner::Plain && cells.cells.iter().all(stays) {
            return Ok(end);
        }
        // Not by a method: the cells are borrowed from the shadow.
        let at = Position {
            place: here.place,
            calls: self.calls.node(),
        };
        let site = Site {
            kind,
            at,
            bytes: length(bytes),
            manner,
            holding: self.synchronisation.holding(),
        };
        let begun = self.detector.contexts().begun();
        let memo = &mut self.contexts[memo_of(here.place)];
        if memo.0 != Some(site) || memo.1 < begun {
            let next = self.sites.len() as u32;
            let number = *self.site_numbers.entry(site).or_insert(next);
            if number == next {
                self.sites.push((site, 0));
            }
            let latest = &mut self.sites[number as usize].1;
            if *latest < begun {
                *latest = self.detector.contexts().make(number)?;
            }
            *memo = (Some(site), *latest);
        }
        self.detector.speak_as(memo.1);
        self.lowest = self.lowest.min(here.stack_pointer);
        let piece = cells.grain.bytes() as u64;
        match cells.cells {
            many if manner == Manner::Atomic => {
                self.detector.atomic(kind, many, cells.location, piece);
            }
            many if manner == Manner::Free => {
                self.detector.end_of_object(many, cells.location, piece);
            }
            few if few.len() <= FEW => {
                self.detector.few(kind, few, cells.location, piece);
            }
            many => self
                .detector
                .range_of_pieces(kind, many, 1, cells.location, piece),
        }
        let whole_word = piece < 8 && end - range.start == 8;
        // Conflicts are still to be named, byte by byte.
        if kind == AccessKind::Write && whole_word && !self.detector.has_conflicts() {
            self.shadow.merge(range.start);
        }
        Ok(end)
    }

    /// Gives the conflicts of the access that was just made their names.
    #[cold]
    fn name_conflicts(&mut self, here: Here, address: u64, bytes: usize, manner: Manner) {
        let at = self.position(here.place);
        let task = self.structure.running();
        let conflicts: Vec<_> = self.detector.conflicts().collect();
        let known = self.races.iter().count();
        for conflict in conflicts {
            let [stamp, tag] = self.detector.contexts().of(conflict.earlier);
            let (site, _) = self.sites[tag as usize];
            let first = Access {
                kind: site.kind,
                manner: site.manner,
                bytes: site.bytes,
                at: site.at,
                task: self.tasks[stamp as usize],
                holding: site.holding,
            };
            let second = Access {
                kind: conflict.kind,
                manner,
                bytes: length(bytes),
                at,
                task,
                holding: self.synchronisation.holding(),
            };
            let cell = self.shadow.cell_at(conflict.location);
            match conflict.meeting {
                Meeting::Race if self.belongs_to_thread(&first, &second, cell.start) => continue,
                // How a lock's own word changes is the lock's affair.
                Meeting::Overlap(_)
                    if manner == Manner::Atomic && self.synchronisation.is_lock(address) =>
                {
                    continue;
                }
                _ => {}
            }
            // Taken out for the time that the rest is asked for names.
            let mut pairs = std::mem::take(self.pairs(conflict.meeting));
            pairs.add(first, second, cell.clone(), conflict.meeting, || {
                self.names(&conflict, [first, second], cell.start)
            });
            *self.pairs(conflict.meeting) = pairs;
        }
        if self.races.iter().count() > known {
            (self.new_race)(self);
        }
    }

    /// Where pairs that meet so are kept.
    fn pairs(&mut self, meeting: Meeting) -> &mut Races {
        match meeting {
            Meeting::Race => &mut self.races,
            Meeting::Overlap(_) | Meeting::Excused => &mut self.overlaps,
        }
    }

    /// What a pair is told with, at this address.
    fn names(&mut self, conflict: &Conflict, accesses: [Access; 2], address: u64) -> Names {
        let [earlier, _] = self.detector.contexts().of(conflict.earlier);
        let order = self.detector.contexts().inner();
        let ordered_by = match conflict.meeting {
            Meeting::Race | Meeting::Overlap(LockId::ATOMIC) => None,
            Meeting::Overlap(lock) => Some(OrderedBy::Lock(lock)),
            Meeting::Excused => order.passed_on_by(earlier).map(OrderedBy::Object),
        };
        let ordered_by = ordered_by.and_then(|by| {
            let address = match by {
                OrderedBy::Lock(lock) => self.synchronisation.lock(lock).address,
                OrderedBy::Object(object) => self.synchronisation.variable_of(object)?.address,
            };
            Some((by, self.object_at(address)))
        });
        let locks = accesses.map(|access| {
            let taken = self.synchronisation.holdings().taken(access.holding);
            let named = taken.into_iter().map(|taken| {
                let lock = self.synchronisation.lock(taken.lock);
                (taken, self.object_at(lock.address))
            });
            named.collect()
        });
        Names {
            object: self.object_at(address),
            ordered_by,
            locks,
        }
    }

    /// A thread-local variable is used: what it points to may be taken out of it by that.
    fn note_thread_local(&mut self, address: u64, bytes: usize) {
        let words = (address & !7..address + bytes as u64).step_by(8);
        for word in words.filter(|word| self.private.contains(word)) {
            let block = (self.read_word)(word);
            self.heap.note_thread_local(block);
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

    /// Whether the address of a block at an address of the stack was there before the block was: nobody has put it there since.
    pub fn is_left_over(&self, address: u64, block: u64) -> bool {
        let waited = self.suspended_since_allocated(block).contains(&address);
        self.left_over.contains(&address) || waited && !self.was_accessed(address)
    }

    /// The part of the running thread's stack whose functions have been waiting since a block was allocated: the frames of the tasks
    /// outside the innermost one that both the task that allocated it and the running one are, or are part of.
    pub(super) fn suspended_since_allocated(&self, block: u64) -> Range<u64> {
        let parent = |task: &TaskId| {
            let parent = self.structure.task(*task).parent;
            (parent != *task).then_some(parent)
        };
        let allocated_by = self.heap.live(block).map(|block| block.task);
        let mut around = std::iter::successors(allocated_by, parent);
        let common = around.find_map(|task| self.frames.iter().find(|frame| frame.task == task));
        common.map_or(0..0, |frame| frame.entry..self.stack.end)
    }

    /// Whether anything is remembered of accesses to the word at an address.
    pub(super) fn was_accessed(&self, address: u64) -> bool {
        let has_cells = self.shadow.without_cells(address).is_none();
        has_cells && !self.shadow.all(address, 8, |cell| cell == 0)
    }

    /// What an address belongs to.
    fn object_at(&self, address: u64) -> Object {
        let running = Stack {
            range: &self.stack,
            calls: self.calls.stack(),
            frames: &self.frames,
            place: self.place,
        };
        let others = self.threads.others.iter().filter_map(|thread| {
            Some(Stack {
                range: &thread.stack,
                calls: thread.calls.as_ref()?,
                frames: &thread.frames,
                place: thread.place,
            })
        });
        let mut stacks = std::iter::once(running).chain(others);
        if let Some(stack) = stacks.find(|stack| stack.range.contains(&address)) {
            return stack.object_at(address);
        }
        match self.heap.around(address) {
            Some(block) => Object::Heap {
                start: block.start,
                bytes: block.bytes,
                allocated: block.allocated,
                task: block.task,
            },
            None => Object::Other,
        }
    }
}

/// The stack of a thread: what is in it, and who has it.
struct Stack<'a> {
    range: &'a Range<u64>,
    calls: &'a CallStack,
    frames: &'a [Frame],
    /// Where the innermost function is.
    place: u64,
}

impl Stack<'_> {
    fn object_at(&self, address: u64) -> Object {
        let call = self.calls.owner_of(address);
        let place = call.map(|call| self.calls.position_in(call).unwrap_or(self.place));
        // Of the tasks whose frames begin above, the innermost.
        let mut frames = self.frames.iter().rev();
        let owner = frames.find(|frame| frame.entry > address);
        let first = self.frames.first();
        Object::Stack {
            place: place.unwrap_or(0),
            task: owner.or(first).map_or(TaskId::MAIN, |frame| frame.task),
        }
    }
}
