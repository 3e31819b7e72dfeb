//! Accesses as records, for runs of Fin and of native programs.
//!
//! A program is a few loops. So an access is probably the one that came after the same access last
//! time, and its location is as far from its last location as that one was from the one before.
//! The writer counts the accesses that are as predicted, and writes only their number: a loop of
//! any number of accesses, at any strides, takes a byte for 128 of them. Of any other access only
//! what differs is written.
//!
//! Both sides keep the same table and change it by the same rules. It has an entry for each access
//! of the program.

use crate::bytes::{Bytes, put_difference, put_number};
use crate::error::Wrong;
use crate::program::{kind_number, kind_of};
use finishline_model::{Access, AccessId, AccessKind, Location, TaskId};

/// The first bytes of records of accesses.
pub(crate) mod tag {
    /// An access. The lower bits are the flags below.
    pub(crate) const ACCESS: u8 = 0x40;
    pub(crate) const HAS_ID: u8 = 1;
    pub(crate) const HAS_LOCATION: u8 = 2;
    pub(crate) const HAS_EXTENT: u8 = 4;
    pub(crate) const IS_WRITE: u8 = 8;
    /// Accesses as predicted, one more than the lower bits say.
    pub(crate) const PREDICTED: u8 = 0x80;
}

/// The most accesses of a record of predicted ones.
const MOST_PREDICTED: u8 = 128;

/// What is expected of the accesses with one id.
#[derive(Clone, Copy, Debug)]
struct Expected {
    kind: AccessKind,
    /// The last location, and how far it was from the one before.
    first: u64,
    step: u64,
    count: u64,
    stride: u64,
    /// The access that came next.
    next: u32,
}

const NOTHING_KNOWN: Expected = Expected {
    kind: AccessKind::Read,
    first: 0,
    step: 0,
    count: 1,
    stride: 1,
    next: 0,
};

/// What is expected of accesses.
#[derive(Debug)]
pub(crate) struct Predicted {
    accesses: Vec<Expected>,
    /// The id of the latest access.
    previous: u32,
}

impl Predicted {
    /// Of a program with so many accesses.
    pub(crate) fn new(accesses: usize) -> Predicted {
        Predicted {
            accesses: vec![NOTHING_KNOWN; accesses.max(1)],
            previous: 0,
        }
    }

    /// The program has so many accesses at least.
    pub(crate) fn grow_to(&mut self, accesses: usize) {
        if accesses > self.accesses.len() {
            self.accesses.resize(accesses, NOTHING_KNOWN);
        }
    }

    /// The id that the next access probably has.
    #[inline]
    fn id(&self) -> AccessId {
        AccessId(self.accesses[self.previous as usize].next)
    }

    /// The next access, if it has this id.
    #[inline]
    fn with_id(&self, task: TaskId, id: AccessId) -> Access {
        let expected = &self.accesses[id.index()];
        Access {
            task,
            kind: expected.kind,
            first: Location(expected.first.wrapping_add(expected.step)),
            count: expected.count,
            stride: expected.stride,
            id,
        }
    }

    /// The next access of a task, as it probably is.
    #[inline]
    pub(crate) fn next(&self, task: TaskId) -> Access {
        self.with_id(task, self.id())
    }

    /// Learns from an access. Its id must be a known one.
    #[inline]
    pub(crate) fn learn(&mut self, access: &Access) {
        self.accesses[self.previous as usize].next = access.id.0;
        self.previous = access.id.0;
        let expected = &mut self.accesses[access.id.index()];
        expected.kind = access.kind;
        expected.step = access.first.0.wrapping_sub(expected.first);
        expected.first = access.first.0;
        expected.count = access.count;
        expected.stride = access.stride;
    }

    /// The access of a record whose tag is from [`tag::ACCESS`] up to [`tag::PREDICTED`].
    pub(crate) fn read(&self, task: TaskId, tag: u8, bytes: &mut Bytes) -> Result<Access, Wrong> {
        let flags = tag & !tag::ACCESS;
        if flags >= tag::IS_WRITE << 1 {
            return Err(Wrong::NoSuch("record"));
        }
        let has = |flag| flags & flag != 0;
        let mut id = self.id();
        if has(tag::HAS_ID) {
            id = AccessId(bytes.differing_small(id.0)?);
        }
        if id.index() >= self.accesses.len() {
            return Err(Wrong::NoSuch("access"));
        }
        let mut access = self.with_id(task, id);
        access.kind = kind_of(u8::from(has(tag::IS_WRITE)))?;
        if has(tag::HAS_LOCATION) {
            access.first = Location(bytes.differing(access.first.0)?);
        }
        if has(tag::HAS_EXTENT) {
            (access.count, access.stride) = (bytes.number()?, bytes.number()?);
        }
        Ok(access)
    }
}

/// Writes the records of accesses.
#[derive(Debug)]
pub(crate) struct AccessWriter {
    pub(crate) predicted: Predicted,
    /// How many accesses in a row are as predicted and not yet written.
    unwritten: u8,
}

impl AccessWriter {
    pub(crate) fn new(accesses: usize) -> AccessWriter {
        AccessWriter {
            predicted: Predicted::new(accesses),
            unwritten: 0,
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.unwritten == 0
    }

    /// Writes what is not yet written.
    #[inline]
    pub(crate) fn settle(&mut self, out: &mut Vec<u8>) {
        if self.unwritten > 0 {
            out.push(tag::PREDICTED | (self.unwritten - 1));
            self.unwritten = 0;
        }
    }

    #[inline]
    pub(crate) fn write(&mut self, now: &Access, out: &mut Vec<u8>) {
        if *now == self.predicted.next(now.task) {
            self.unwritten += 1;
            if self.unwritten == MOST_PREDICTED {
                self.settle(out);
            }
        } else {
            self.settle(out);
            self.unexpected(now, out);
        }
        self.predicted.learn(now);
    }

    fn unexpected(&self, now: &Access, out: &mut Vec<u8>) {
        let predicted = self.predicted.id();
        let expected = self.predicted.with_id(now.task, now.id);
        let has_id = now.id != predicted;
        let has_location = now.first != expected.first;
        let has_extent = (now.count, now.stride) != (expected.count, expected.stride);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(
            tag::ACCESS
                | flag(has_id, tag::HAS_ID)
                | flag(has_location, tag::HAS_LOCATION)
                | flag(has_extent, tag::HAS_EXTENT)
                | flag(kind_number(now.kind) == 1, tag::IS_WRITE),
        );
        if has_id {
            put_difference(out, u64::from(predicted.0), u64::from(now.id.0));
        }
        if has_location {
            put_difference(out, expected.first.0, now.first.0);
        }
        if has_extent {
            put_number(out, now.count);
            put_number(out, now.stride);
        }
    }
}
