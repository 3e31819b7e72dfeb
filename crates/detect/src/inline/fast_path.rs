//! The values that compiled code compares cells with, and the rules by which it decides an access
//! without the detector.
//!
//! ```text
//! read  at site s   reader is mine                       nothing to do
//!                   reader is serial, writer is serial   reader = settled's
//!                   reader is beside, writer is serial   nothing to do
//!                   cell is changed                      cell = changed[s].after
//!                   else                                 Inline::undecided
//! write at site s   reader is mine, writer is mine       nothing to do
//!                   reader is mine, writer is serial     cell = settled
//!                   reader is serial, writer is serial   cell = settled
//!                   cell is changed                      cell = changed[s].after
//!                   else                                 Inline::undecided
//!
//! a stamp is mine     if it is one of the `own` stamps from `me` on (one, in compiled code)
//!            serial   if it is below serial_below
//!            beside   if it is one of the parallel_above stamps from serial_below on, or beside[s]
//! a reader is mine    also if it is one of the `sets` words from `first_set` on
//! a cell is changed   if it is changed[s].before
//! ```
//!
//! The first line is the history's own theorem. The others are the history's rules. A serial stamp
//! precedes the step ([`Order::serial_below`]), whichever task of an earlier phase it belongs to. A
//! stamp that is beside is parallel to the step ([`Order::parallel_above`]). A read leaves a
//! parallel reader unchanged, which covers data that many tasks read. `beside[s]` is a reader that
//! was found in this step to be parallel, for programs whose tasks nest. Sites share the [`SLOTS`]
//! places of this memo. The sites of one loop have different places. A caller that does not know
//! sites uses a place that depends on the reader. The memo is cleared when a step begins.
//!
//! The rest is for runs that are not depth-first. No limit tells much there, and cells with several
//! readers are common. A set of readers ([`StampSets`]) that was made in this step contains the
//! step, so it is mine. What the history makes of a cell depends on the cell alone, as long as the
//! step lasts and the cell does not race. So `changed[s]` has a cell and what it became, one for
//! reads and one for writes: the next cell of a block that another task wrote is decided by one
//! comparison.
//!
//! [`Order::serial_below`]: crate::order::Order::serial_below
//! [`Order::parallel_above`]: crate::order::Order::parallel_above
//! [`StampSets`]: crate::history::StampSets

use crate::order::Stamp;
use finishline_model::AccessKind;

/// Places of the memo.
pub const SLOTS: usize = 16;

/// The cell of a location whose history is in the side table. No task has its stamps, because
/// stamps are below 2³¹. They are below no limit.
pub const ELSEWHERE: u64 = 0xffff_ffff_ffff_ffff;

/// A word that is no cell. The owner of the cells may put such words among them, each with a number
/// below 2³¹, and looks for them before an access. The fast path decides none of them, because no
/// writer has such a stamp.
#[inline]
pub const fn reference(number: u32) -> u64 {
    packed([NO_WRITER | number, NO_READER])
}

/// The number, if the word is no cell.
#[inline]
pub const fn referred(cell: u64) -> Option<u32> {
    let [writer, _] = unpacked(cell);
    if writer & NO_WRITER != 0 && cell != ELSEWHERE {
        Some(writer & !NO_WRITER)
    } else {
        None
    }
}

/// Whether a cell has a writer and no reader, as [`Inline::mark_ended`](super::Inline::mark_ended)
/// leaves it.
#[inline]
pub const fn is_ended(cell: u64) -> bool {
    cell.wrapping_sub(1) < NO_WRITER as u64 - 1
}

const NO_WRITER: Stamp = 1 << 31;
/// No set of readers has this word or a greater one.
pub(super) const NO_READER: Stamp = Stamp::MAX - 2;

/// A word, and a stamp, that no cell has.
pub(super) const NEVER: u64 = NOBODY_EVER as u64;
pub(super) const NOBODY_EVER: Stamp = Stamp::MAX - 1;

/// The values that compiled code compares cells with. The code generator relies on the layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FastPath {
    pub limits: Limits,
    /// Readers known to be parallel.
    pub beside: [Stamp; SLOTS],
    /// What became of cells in this step, by the kind of the access.
    pub changed: [[Change; SLOTS]; 2],
}

/// The part that does not change while a step runs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The stamp of the running task, or the first stamp of the running step if it has several.
    pub me: Stamp,
    /// Every smaller stamp precedes the running step.
    pub serial_below: Stamp,
    /// The number of stamps from `serial_below` on that are parallel to the running step.
    pub parallel_above: Stamp,
    /// The number of stamps from `me` on that belong to the running step.
    pub own: Stamp,
    /// The cell after a write of the running step.
    pub settled: u64,
    /// The first of the sets of readers that the running step makes.
    pub first_set: Stamp,
    /// The number of sets from that on that no other step has made.
    pub sets: Stamp,
    /// Grows whenever a step begins. Whatever else is remembered of checks made under another
    /// number does not count any more.
    pub era: u64,
}

/// A cell and what it becomes by an access.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub before: u64,
    pub after: u64,
}

impl Change {
    pub const NONE: Change = Change {
        before: NEVER,
        after: NEVER,
    };
}

impl Limits {
    /// The table above without the memo: the cell after the access, if this decides it.
    #[inline(always)]
    pub(super) fn decide(&self, kind: AccessKind, cell: u64, beside: Stamp) -> Option<u64> {
        let [writer, reader] = unpacked(cell);
        let [_, now] = unpacked(self.settled);
        let serial = |stamp: Stamp| stamp < self.serial_below;
        let beside = |stamp: Stamp| self.is_parallel(stamp) || stamp == beside;
        match kind {
            AccessKind::Read if self.has_read(reader) => Some(cell),
            AccessKind::Read if serial(reader) && serial(writer) => Some(packed([writer, now])),
            AccessKind::Read if beside(reader) && serial(writer) => Some(cell),
            AccessKind::Write if self.is_mine(reader) && self.is_mine(writer) => Some(cell),
            AccessKind::Write if (self.is_mine(reader) || serial(reader)) && serial(writer) => {
                Some(self.settled)
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn is_mine(&self, stamp: Stamp) -> bool {
        stamp.wrapping_sub(self.me) < self.own
    }

    /// Whether the step is the reader, or one of several.
    #[inline(always)]
    fn has_read(&self, reader: Stamp) -> bool {
        self.is_mine(reader) || reader.wrapping_sub(self.first_set) < self.sets
    }

    #[inline(always)]
    fn is_parallel(&self, stamp: Stamp) -> bool {
        stamp.wrapping_sub(self.serial_below) < self.parallel_above
    }
}

impl FastPath {
    /// Decides nothing.
    pub const IDLE: FastPath = FastPath {
        limits: Limits {
            me: NOBODY_EVER,
            serial_below: 0,
            parallel_above: 0,
            own: 1,
            settled: NEVER,
            first_set: 0,
            sets: 0,
            era: 0,
        },
        beside: [NOBODY_EVER; SLOTS],
        changed: [[Change::NONE; SLOTS]; 2],
    };

    /// The table above: the cell after the access, if the fast path decides it. Compiled code does
    /// the same.
    #[inline]
    pub fn decide(&self, kind: AccessKind, cell: u64, slot: usize) -> Option<u64> {
        let Change { before, after } = self.changed[kind as usize][slot];
        let decided = self.limits.decide(kind, cell, self.beside[slot]);
        decided.or((cell == before).then_some(after))
    }

    /// The part of [`decide`](FastPath::decide) that changes the cell by limits. The caller decides
    /// which stamps are serial, and may know more than `serial_below`.
    #[inline(always)]
    pub(super) fn begin_anew(
        &self,
        kind: AccessKind,
        cell: u64,
        mut serial: impl FnMut(Stamp) -> bool,
    ) -> Option<u64> {
        let limits = &self.limits;
        let [writer, reader] = unpacked(cell);
        let [_, now] = unpacked(limits.settled);
        match kind {
            AccessKind::Read if !limits.has_read(reader) && serial(reader) && serial(writer) => {
                Some(packed([writer, now]))
            }
            AccessKind::Write if (limits.is_mine(reader) || serial(reader)) && serial(writer) => {
                Some(limits.settled)
            }
            _ => None,
        }
    }

    /// Whether [`decide`](FastPath::decide) leaves a cell unchanged. The memo's place is that of
    /// the cell's reader.
    #[inline(always)]
    pub fn stays(&self, kind: AccessKind, cell: u64) -> bool {
        let limits = &self.limits;
        let [writer, reader] = unpacked(cell);
        let beside = || limits.is_parallel(reader) || reader == self.beside[slot_of(reader)];
        match kind {
            AccessKind::Read => limits.has_read(reader) || writer < limits.serial_below && beside(),
            AccessKind::Write => limits.is_mine(reader) && limits.is_mine(writer),
        }
    }
}

#[inline]
pub(super) const fn packed([writer, reader]: [Stamp; 2]) -> u64 {
    writer as u64 | (reader as u64) << 32
}

#[inline]
pub(super) const fn unpacked(cell: u64) -> [Stamp; 2] {
    [cell as u32, (cell >> 32) as u32]
}

/// The place of the memo for the reader of a cell, if the caller knows no better one.
#[inline(always)]
pub(super) const fn slot_of(reader: Stamp) -> usize {
    reader as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells with every kind of stamps on both sides of each limit.
    fn cells(fast: &FastPath) -> impl Iterator<Item = u64> {
        let limits = &fast.limits;
        let borders = [
            limits.me,
            limits.me.wrapping_add(limits.own),
            limits.serial_below,
            limits.first_set,
            limits.first_set.wrapping_add(limits.sets),
        ];
        let around = borders
            .into_iter()
            .flat_map(|limit| [-1, 0, 1].map(|by| limit.wrapping_add_signed(by)));
        let mut stamps: Vec<Stamp> = around.chain(fast.beside).chain([0, 1 << 31]).collect();
        stamps.sort();
        stamps.dedup();
        let pairs = stamps.clone().into_iter().flat_map(move |writer| {
            let readers = stamps.clone().into_iter();
            readers.map(move |reader| packed([writer, reader]))
        });
        let cells = pairs.filter(|cell| *cell != NEVER);
        cells.chain([
            ELSEWHERE,
            reference(0),
            reference(7),
            reference((1 << 31) - 1),
        ])
    }

    fn running_steps() -> [FastPath; 5] {
        let mut beside = FastPath::IDLE.beside;
        for reader in [70, 200, 0x8000_0005] {
            beside[slot_of(reader)] = reader;
        }
        let first = FastPath {
            limits: Limits {
                me: 100,
                serial_below: 50,
                settled: packed([100; 2]),
                ..FastPath::IDLE.limits
            },
            beside,
            ..FastPath::IDLE
        };
        let changed = |change: fn(&mut Limits)| {
            let mut fast = first;
            change(&mut fast.limits);
            fast
        };
        let of_contexts = changed(|limits| {
            limits.own = 1 << 30;
            limits.settled = packed([105; 2]);
        });
        let of_loop = changed(|limits| limits.parallel_above = 20);
        let of_sets = changed(|limits| {
            limits.first_set = 0x8000_0004;
            limits.sets = NO_READER - limits.first_set;
        });
        [first, of_contexts, of_loop, of_sets, FastPath::IDLE]
    }

    #[test]
    fn the_short_ways_decide_as_the_table_does() {
        for fast in running_steps() {
            for cell in cells(&fast) {
                let slot = slot_of(unpacked(cell)[1]);
                for kind in [AccessKind::Read, AccessKind::Write] {
                    let decided = fast.decide(kind, cell, slot);
                    assert_eq!(fast.stays(kind, cell), decided == Some(cell), "{cell:x}");
                    let changed = decided.filter(|after| *after != cell);
                    let serial = |stamp: Stamp| stamp < fast.limits.serial_below;
                    assert_eq!(fast.begin_anew(kind, cell, serial), changed, "{cell:x}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_cell_is_decided_by_none() {
        for fast in running_steps() {
            for cell in [
                ELSEWHERE,
                reference(0),
                reference(7),
                reference((1 << 31) - 1),
            ] {
                let reader = unpacked(cell)[1];
                for kind in [AccessKind::Read, AccessKind::Write] {
                    assert_eq!(fast.decide(kind, cell, slot_of(reader)), None);
                }
            }
        }
        assert_eq!(referred(reference(7)), Some(7));
        assert_eq!(referred(ELSEWHERE), None);
        assert_eq!(referred(packed([5, 0x8000_0007])), None, "a set of readers");
    }
}
