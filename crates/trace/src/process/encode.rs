//! Calls as records.
//!
//! A record is a tag and its numbers. Addresses are written as differences from the address before.
//! A place is written in full once, and from then on as a small number. Accesses are predicted as
//! those of Fin are: an access of the program is a place.

use super::about::put_range;
use super::call::{Call, Change, Operation};
use crate::accesses::AccessWriter;
use crate::bytes::{put_difference, put_number};
use finishline_model::hash::IdMap;
use finishline_model::{Access, AccessId, Location, TaskId};

/// The first bytes of records. Those of accesses are in [`crate::accesses::tag`].
pub(super) mod tag {
    /// The next access of the program: its place.
    pub(in crate::process) const SITE: u8 = 0;
    /// The stack pointer of the next access.
    pub(in crate::process) const LOWER: u8 = 1;
    /// How the functions in progress have changed.
    pub(in crate::process) const STACK: u8 = 2;
    /// The functions in progress, whatever they were.
    pub(in crate::process) const OTHER_STACK: u8 = 3;
    /// Answers to what the checker asked at the call before.
    pub(in crate::process) const NO: u8 = 4;
    pub(in crate::process) const YES: u8 = 5;
    pub(in crate::process) const ATOMIC: u8 = 6;
    pub(in crate::process) const UNSEEN: u8 = 7;
    pub(in crate::process) const RELIED_ON: u8 = 8;
    pub(in crate::process) const PUBLISHED: u8 = 9;
    pub(in crate::process) const BARRIER_ARRIVE: u8 = 10;
    pub(in crate::process) const BARRIER_LEAVE: u8 = 11;
    pub(in crate::process) const FENCE: u8 = 12;
    pub(in crate::process) const TASK_BEGIN: u8 = 13;
    pub(in crate::process) const TASK_END: u8 = 14;
    pub(in crate::process) const FINISH_BEGIN: u8 = 15;
    pub(in crate::process) const FINISH_END: u8 = 16;
    pub(in crate::process) const THREAD_BEGIN: u8 = 17;
    pub(in crate::process) const THREAD_END: u8 = 18;
    pub(in crate::process) const THREAD_JOIN: u8 = 19;
    pub(in crate::process) const THREAD_RUN: u8 = 20;
    pub(in crate::process) const ALLOCATED: u8 = 21;
    pub(in crate::process) const FREED: u8 = 22;
    pub(in crate::process) const RESIZED: u8 = 23;
    pub(in crate::process) const WAITS: u8 = 24;
    pub(in crate::process) const TASK_CREATE: u8 = 25;
    pub(in crate::process) const TASK_RUN: u8 = 26;
    pub(in crate::process) const LENDER_BEGIN: u8 = 27;
    pub(in crate::process) const STAY_BEGIN: u8 = 28;
    pub(in crate::process) const STAY_END: u8 = 29;
    pub(in crate::process) const ASKS: u8 = 30;
    pub(in crate::process) const READERS: u8 = 31;
    pub(in crate::process) const KEPT: u8 = 32;
    pub(in crate::process) const GIVEN_BACK: u8 = 33;
    pub(in crate::process) const FREED_AGAIN: u8 = 34;
}

/// The flags of an atomic operation.
pub(super) mod flag {
    pub(in crate::process) const BEFORE: u8 = 1;
    pub(in crate::process) const AFTER: u8 = 2;
    pub(in crate::process) const ACQUIRES: u8 = 4;
    pub(in crate::process) const RELEASES: u8 = 8;
    /// Times the number of the change.
    pub(in crate::process) const CHANGE: u8 = 16;
}

/// The functions in progress, as far as writer and reader both know them.
#[derive(Debug, Default)]
pub(super) struct KnownStack {
    /// How many are outside of those below.
    pub(super) outside: usize,
    pub(super) calls: Vec<[u64; 2]>,
}

impl KnownStack {
    pub(super) fn depth(&self) -> usize {
        self.outside + self.calls.len()
    }

    pub(super) fn innermost_frame(&self) -> u64 {
        self.calls.last().map_or(0, |[_, frame]| *frame)
    }
}

#[derive(Debug)]
pub(super) struct Encoder {
    accesses: AccessWriter,
    sites: IdMap<(u64, bool), AccessId>,
    places: IdMap<u64, u64>,
    /// The latest that a record named.
    place: u64,
    address: u64,
    lower: u64,
    /// None if another thread may have become the running one.
    stack: Option<KnownStack>,
    pub(super) bytes: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Encoder {
        Encoder {
            accesses: AccessWriter::new(0),
            sites: IdMap::default(),
            places: IdMap::default(),
            place: 0,
            address: 0,
            lower: 0,
            stack: Some(KnownStack::default()),
            bytes: Vec::new(),
        }
    }

    /// Whether nothing was told since the last chunk.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.accesses.is_settled()
    }

    /// Writes what is not yet written.
    pub(super) fn settle(&mut self) {
        self.accesses.settle(&mut self.bytes);
    }

    fn record(&mut self, tag: u8) {
        self.settle();
        self.bytes.push(tag);
    }

    /// The functions in progress: `kept` of them have been so since they were last numbered.
    pub(super) fn stack(&mut self, kept: usize, calls: &[[u64; 2]]) {
        let known = self.stack.take();
        let is_same = |known: &KnownStack| kept == calls.len() && known.depth() == kept;
        if known.as_ref().is_some_and(is_same) {
            self.stack = known;
            return;
        }
        let reaches = |known: &KnownStack| (known.outside..=known.depth()).contains(&kept);
        let stack = match known.filter(reaches) {
            Some(mut known) => {
                let at = kept - known.outside;
                let same = known.calls[at..].iter().zip(&calls[kept..]);
                let common = same.take_while(|(before, now)| before == now).count();
                self.record(tag::STACK);
                put_number(&mut self.bytes, (known.depth() - kept) as u64);
                put_number(&mut self.bytes, common as u64);
                known.calls.truncate(at + common);
                known
            }
            None => {
                self.record(tag::OTHER_STACK);
                put_number(&mut self.bytes, kept as u64);
                KnownStack {
                    outside: kept,
                    calls: Vec::new(),
                }
            }
        };
        self.entered(stack, calls);
    }

    /// Writes the calls that are not known yet.
    fn entered(&mut self, mut stack: KnownStack, calls: &[[u64; 2]]) {
        let entered = &calls[stack.depth()..];
        let mut frame = stack.innermost_frame();
        put_number(&mut self.bytes, entered.len() as u64);
        for [place, next] in entered {
            self.put_place(*place);
            put_difference(&mut self.bytes, frame, *next);
            frame = *next;
        }
        stack.calls.extend_from_slice(entered);
        self.stack = Some(stack);
    }

    pub(super) fn answer(&mut self, answer: bool) {
        self.record(if answer { tag::YES } else { tag::NO });
    }

    fn put_place(&mut self, place: u64) {
        let next = self.places.len() as u64 + 1;
        let known = *self.places.entry(place).or_insert(next);
        if known < next {
            put_number(&mut self.bytes, known);
        } else {
            put_number(&mut self.bytes, 0);
            put_difference(&mut self.bytes, self.place, place);
            self.place = place;
        }
    }

    fn put_address(&mut self, address: u64) {
        put_difference(&mut self.bytes, self.address, address);
        self.address = address;
    }

    fn put_operation(&mut self, operation: &Operation) {
        let set = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let change = Change::ALL.iter().position(|it| *it == operation.change);
        self.bytes.push(
            set(operation.before.is_some(), flag::BEFORE)
                | set(operation.after.is_some(), flag::AFTER)
                | set(operation.acquires, flag::ACQUIRES)
                | set(operation.releases, flag::RELEASES)
                | (flag::CHANGE * change.unwrap_or_default() as u8),
        );
        self.put_address(operation.address);
        let mut from = 0;
        for value in [operation.before, operation.after].into_iter().flatten() {
            put_difference(&mut self.bytes, from, value);
            from = value;
        }
    }

    /// A call. The functions in progress have been told.
    pub(super) fn call(&mut self, call: &Call) {
        match *call {
            Call::Access {
                kind,
                address,
                bytes,
                place,
                is_range,
                lower,
            } => {
                if let Some(lower) = lower {
                    self.record(tag::LOWER);
                    put_difference(&mut self.bytes, self.lower, lower);
                    self.lower = lower;
                }
                let id = self.site(place, is_range);
                let access = Access {
                    task: TaskId::MAIN,
                    kind,
                    first: Location(address),
                    count: bytes,
                    stride: 1,
                    id,
                };
                self.accesses.write(&access, &mut self.bytes);
            }
            Call::Atomic {
                ref operation,
                bytes,
                place,
            } => {
                self.record(tag::ATOMIC);
                self.put_operation(operation);
                put_number(&mut self.bytes, bytes);
                self.put_place(place);
            }
            Call::Unseen(ref operation) => {
                self.record(tag::UNSEEN);
                self.put_operation(operation);
            }
            Call::ReliedOn(address) => self.at(tag::RELIED_ON, address),
            Call::Published(address) => self.at(tag::PUBLISHED, address),
            Call::BarrierArrive(address) => self.at(tag::BARRIER_ARRIVE, address),
            Call::BarrierLeave {
                address,
                round,
                last,
            } => {
                self.at(tag::BARRIER_LEAVE, address);
                put_number(&mut self.bytes, round);
                self.bytes.push(u8::from(last));
            }
            Call::Fence { acquires, releases } => {
                self.record(tag::FENCE);
                self.bytes.push(u8::from(acquires));
                self.bytes.push(u8::from(releases));
            }
            Call::TaskBegin {
                kind,
                finish,
                place,
                entry,
            } => {
                self.record(tag::TASK_BEGIN);
                self.bytes.push(kind.number() as u8);
                put_number(&mut self.bytes, u64::from(finish.0));
                self.put_place(place);
                self.put_address(entry);
            }
            Call::TaskEnd => self.record(tag::TASK_END),
            Call::TaskCreate {
                kind,
                finish,
                place,
            } => {
                self.record(tag::TASK_CREATE);
                self.bytes.push(kind.number() as u8);
                put_number(&mut self.bytes, u64::from(finish.0));
                self.put_place(place);
            }
            Call::TaskRun { task, entry } => {
                self.record(tag::TASK_RUN);
                put_number(&mut self.bytes, u64::from(task.0));
                self.put_address(entry);
            }
            Call::FinishBegin { kind, place } => {
                self.record(tag::FINISH_BEGIN);
                self.bytes.push(kind.number() as u8);
                self.put_place(place);
            }
            Call::FinishEnd(finish) => self.numbered(tag::FINISH_END, u64::from(finish.0)),
            Call::ThreadBegin {
                place,
                entry,
                ref stack,
                ref thread_locals,
            } => {
                self.record(tag::THREAD_BEGIN);
                self.put_place(place);
                self.put_address(entry);
                put_range(&mut self.bytes, stack);
                put_range(&mut self.bytes, thread_locals);
                self.stack = None;
            }
            Call::ThreadEnd(name) => self.numbered(tag::THREAD_END, name),
            Call::ThreadJoin(name) => self.numbered(tag::THREAD_JOIN, name),
            Call::ThreadRun(task) => {
                self.numbered(tag::THREAD_RUN, u64::from(task.0));
                self.stack = None;
            }
            Call::LenderBegin(ref thread_locals) => {
                self.record(tag::LENDER_BEGIN);
                put_range(&mut self.bytes, thread_locals);
            }
            Call::StayBegin(thread) => self.numbered(tag::STAY_BEGIN, u64::from(thread)),
            Call::StayEnd => self.record(tag::STAY_END),
            Call::Asks => self.record(tag::ASKS),
            Call::Readers(address) => self.at(tag::READERS, address),
            Call::Allocated {
                start,
                bytes,
                place,
            } => self.block(tag::ALLOCATED, start, Some(bytes), place),
            Call::Freed { start, place } => self.block(tag::FREED, start, None, place),
            Call::Kept { start, place } => self.block(tag::KEPT, start, None, place),
            Call::GivenBack(start) => self.at(tag::GIVEN_BACK, start),
            Call::FreedAgain { start, place } => self.block(tag::FREED_AGAIN, start, None, place),
            Call::Resized {
                start,
                bytes,
                place,
            } => self.block(tag::RESIZED, start, Some(bytes), place),
            Call::Waits { what, place } => {
                self.record(tag::WAITS);
                self.bytes.push(what.number() as u8);
                self.put_place(place);
            }
        }
    }

    /// The access of the program at a place.
    fn site(&mut self, place: u64, is_range: bool) -> AccessId {
        if let Some(id) = self.sites.get(&(place, is_range)) {
            return *id;
        }
        let id = AccessId(self.sites.len() as u32);
        self.sites.insert((place, is_range), id);
        self.record(tag::SITE);
        self.bytes.push(u8::from(is_range));
        self.put_place(place);
        self.accesses.predicted.grow_to(id.index() + 1);
        id
    }

    fn at(&mut self, tag: u8, address: u64) {
        self.record(tag);
        self.put_address(address);
    }

    fn numbered(&mut self, tag: u8, number: u64) {
        self.record(tag);
        put_number(&mut self.bytes, number);
    }

    fn block(&mut self, tag: u8, start: u64, bytes: Option<u64>, place: u64) {
        self.at(tag, start);
        if let Some(bytes) = bytes {
            put_number(&mut self.bytes, bytes);
        }
        self.put_place(place);
    }
}
