//! A check of many locations at once. Each cell is judged as by a check of its own, but most are
//! judged sixteen at a time.
//!
//! All deciding lines of the table of [`FastPath`] have one form: the writer of the cell is in one
//! interval of stamps, the reader in another, and then some bits of the cell change. Here each line
//! is data, a [`Rule`]:
//!
//! ```text
//!            the writer is         the reader is          then
//! read       anything              mine                   nothing
//!            serial                serial                 reader = now
//!            serial                parallel, by the order nothing
//!            serial                parallel, by the memo  nothing
//! write      mine                  mine                   nothing
//!            serial                serial                 both = now
//!            serial                mine                   both = now
//! ```
//!
//! In runs that are not depth-first two more rules decide reads of cells that the step is one of
//! several readers of, and cells that equal one that was changed in this step before.
//!
//! No step begins inside a range, so the rules hold for all of it. Only the memo can change: it is
//! a reader that was looked up in this range and found to be parallel. If two rules cover a cell
//! they do the same to it. So the first cell of a block tells which rule to try on the whole block
//! and on the blocks after it. A block that the rule does not cover is processed cell by cell.
//! Cells without a rule go to the history. In a range of every second or fourth cell the cells
//! between are left out of both. Ranges with other strides are processed cell by cell.
//!
//! An interval is a subtraction and an unsigned comparison for each half of a cell. Processors with
//! AVX2 handle four cells at once ([`avx2`]). A cell in a near cache that is decided with its block
//! costs some 0.15 nanoseconds, or 0.2 if it changes. A cell that is decided alone costs one or
//! two.

#[cfg(target_arch = "x86_64")]
mod avx2;

use super::fast_path::NOBODY_EVER;
use super::{Change, FastPath, Inline, Limits, Outcome, SLOTS, packed, unpacked};
use crate::order::{Order, Stamp};
use finishline_model::{AccessKind, Location};
use std::array::from_fn;

/// Cells that are decided together.
const BLOCK: usize = 16;
/// Cells in one vector. Strides that are not processed cell by cell divide this number.
const LANES: usize = 4;

/// The change of a cell whose writer and reader are in two intervals of stamps.
#[derive(Clone, Copy)]
struct Rule {
    from: [Stamp; 2],
    span: [Stamp; 2],
    /// The bits of the cell that stay, and the bits that are set in it.
    keep: u64,
    put: u64,
}

/// The first stamp of an interval, and the number of stamps.
type Interval = (Stamp, Stamp);

impl Rule {
    /// For cells with the writer in the first interval and the reader in the second: `keep` and
    /// `put`.
    const fn new([writer, reader]: [Interval; 2], (keep, put): (u64, u64)) -> Rule {
        Rule {
            from: [writer.0, reader.0],
            span: [writer.1, reader.1],
            keep,
            put,
        }
    }

    /// For the cells that equal one.
    const fn equal(change: Change) -> Rule {
        let [writer, reader] = unpacked(change.before);
        Rule::new([(writer, 1), (reader, 1)], (0, change.after))
    }

    #[inline(always)]
    fn covers(&self, cell: u64) -> bool {
        let [writer, reader] = unpacked(cell);
        let ([first_writer, first_reader], [writers, readers]) = (self.from, self.span);
        // Both comparisons are always made. That saves a branch, and blocks are compared by vector
        // instructions.
        (writer.wrapping_sub(first_writer) < writers)
            & (reader.wrapping_sub(first_reader) < readers)
    }

    /// Applies the rule to the longest run of whole blocks in which it covers every cell except
    /// those `between`. Returns the number of cells in the run, including those between.
    #[allow(unsafe_code)]
    fn apply(&self, between: &Between, cells: &mut [u64]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { avx2::apply(self, between, cells) };
        }
        self.apply_anywhere(between, cells)
    }

    /// The same without vector instructions.
    fn apply_anywhere(&self, between: &Between, cells: &mut [u64]) -> usize {
        let mut count = 0;
        for block in cells.as_chunks_mut::<BLOCK>().0 {
            let left_out = |at: usize| between[at % LANES] != 0;
            if !(0..BLOCK).all(|at| self.covers(block[at]) | left_out(at)) {
                break;
            }
            for at in (0..BLOCK).filter(|at| !left_out(*at)) {
                block[at] = block[at] & self.keep | self.put;
            }
            count += BLOCK;
        }
        count
    }
}

/// For each lane: all bits if the cell lies between those that count, or else none.
type Between = [u64; LANES];

/// A cell stays as it is.
const LEFT_ALONE: (u64, u64) = (u64::MAX, 0);

/// What decides the cells of one range. If two rules cover a cell they do the same to it.
struct Range {
    kind: AccessKind,
    limits: Limits,
    /// A reader known to be parallel.
    beside: Stamp,
}

impl Range {
    /// A rule that covers this cell.
    #[inline]
    fn rule_for(&self, cell: u64) -> Option<Rule> {
        let limits = &self.limits;
        let (mine, serial) = ((limits.me, limits.own), (0, limits.serial_below));
        // All stamps except one that no task has.
        let anything = (0, Stamp::MAX);
        let rule = |intervals, change| {
            let rule = Rule::new(intervals, change);
            rule.covers(cell).then_some(rule)
        };
        match self.kind {
            AccessKind::Read => {
                let parallel = (limits.serial_below, limits.parallel_above);
                let my_sets = (limits.first_set, limits.sets);
                let [_, now] = unpacked(limits.settled);
                let taken = (packed([Stamp::MAX, 0]), packed([0, now]));
                rule([anything, mine], LEFT_ALONE)
                    .or_else(|| rule([serial, serial], taken))
                    .or_else(|| rule([serial, parallel], LEFT_ALONE))
                    .or_else(|| rule([serial, (self.beside, 1)], LEFT_ALONE))
                    .or_else(|| rule([anything, my_sets], LEFT_ALONE))
            }
            AccessKind::Write => {
                let settled = (0, limits.settled);
                rule([mine, mine], LEFT_ALONE)
                    .or_else(|| rule([serial, serial], settled))
                    .or_else(|| rule([serial, mine], settled))
            }
        }
    }
}

/// The place of a cell in the memo of changes.
#[inline(always)]
const fn place_of(cell: u64) -> usize {
    let [writer, reader] = unpacked(cell);
    (writer ^ reader.rotate_left(2)) as usize % SLOTS
}

impl<O: Order> Inline<O> {
    /// Checks the locations from `first` on, which lie |stride| apart. Their cells are every
    /// |stride|-th of `cells`, from the first one on or, if the stride is negative, from the last
    /// one backwards. The stride must not be 0.
    pub fn range(&mut self, kind: AccessKind, cells: &mut [u64], stride: isize, first: Location) {
        self.range_of_pieces(kind, cells, stride, first, 1);
    }

    /// The same with cells that each stand for several consecutive locations.
    pub fn range_of_pieces(
        &mut self,
        kind: AccessKind,
        cells: &mut [u64],
        stride: isize,
        first: Location,
        piece: u64,
    ) {
        let mut range = Range {
            kind,
            limits: self
                .fast()
                .map_or(FastPath::IDLE.limits, |fast| fast.limits),
            beside: NOBODY_EVER,
        };
        match stride {
            1 | 2 | 4 => self.blocks(&mut range, cells, stride, (first, piece)),
            _ => self.each(&mut range, cells, stride, (first, piece)),
        }
        let count = cells.len().div_ceil(stride.unsigned_abs());
        self.found.statistics.count_check(count as u64);
    }

    /// Processes one block after the other. The stride divides the length of a block.
    fn blocks(
        &mut self,
        range: &mut Range,
        cells: &mut [u64],
        stride: isize,
        (first, piece): (Location, u64),
    ) {
        let between = from_fn(|lane| {
            if lane as isize % stride == 0 {
                0
            } else {
                u64::MAX
            }
        });
        let mut done = 0;
        while cells.len() - done >= BLOCK {
            let together = self.decide(range, &between, &mut cells[done..]);
            done += together;
            if together == 0 {
                let block = &mut cells[done..done + BLOCK];
                let first = first.offset(done as u64 * piece);
                self.each(range, block, stride, (first, piece));
                done += BLOCK;
            }
        }
        let rest = &mut cells[done..];
        let first = first.offset(done as u64 * piece);
        self.each(range, rest, stride, (first, piece));
    }

    /// Decides the longest run of whole blocks that one rule covers. Returns the number of cells.
    #[inline]
    fn decide(&mut self, range: &Range, between: &Between, cells: &mut [u64]) -> usize {
        let Some(&first) = cells.first() else {
            return 0;
        };
        let remembered = || self.change(range.kind, first).map(Rule::equal);
        match range.rule_for(first).or_else(remembered) {
            Some(rule) => rule.apply(between, cells),
            None => 0,
        }
    }

    /// What became of an equal cell in this step before, if that is remembered.
    #[inline]
    fn change(&mut self, kind: AccessKind, cell: u64) -> Option<Change> {
        if O::DEPTH_FIRST {
            return None;
        }
        let change = self.fast()?.changed[kind as usize][place_of(cell)];
        (change.before == cell).then_some(change)
    }

    /// Processes one cell after the other.
    #[inline(always)]
    fn each(
        &mut self,
        range: &mut Range,
        cells: &mut [u64],
        stride: isize,
        (first, piece): (Location, u64),
    ) {
        let count = cells.len();
        for offset in (0..count).step_by(stride.unsigned_abs()) {
            let index = if stride < 0 {
                count - 1 - offset
            } else {
                offset
            };
            let cell = &mut cells[index];
            match range.limits.decide(range.kind, *cell, range.beside) {
                // Unchanged cells are not written, so their cache lines stay clean.
                Some(after) if after == *cell => {}
                Some(after) => *cell = after,
                None => {
                    let location = first.offset(offset as u64 * piece);
                    if let Some(reader) = self.undecided_in_range(range.kind, cell, location) {
                        range.beside = reader;
                    }
                }
            }
        }
    }

    /// A function of its own, so that the loop above keeps the limits in registers. Returns a
    /// reader that was found to be parallel.
    #[inline(never)]
    fn undecided_in_range(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        location: Location,
    ) -> Option<Stamp> {
        let before = *cell;
        if let Some(change) = self.change(kind, before) {
            *cell = change.after;
            return None;
        }
        let outcome = self.access(kind, cell, || location);
        if !O::DEPTH_FIRST {
            let after = *cell;
            self.memorise(kind, place_of(before), Change { before, after }, outcome);
        }
        match outcome {
            Outcome::Beside(reader) => Some(reader),
            Outcome::Alike | Outcome::OfItsOwn => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule does the same with and without vector instructions, for intervals with all kinds of
    /// ends and stamps on both sides of them.
    #[test]
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    fn vectors_do_as_single_cells() {
        if !is_x86_feature_detected!("avx2") {
            return;
        }
        let stamps = [0, 1, 2, 1 << 31, Stamp::MAX - 1, Stamp::MAX];
        let mut seed = 1u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for _ in 0..20_000 {
            let mut interval = || (stamps[random(6)], stamps[random(6)]);
            let intervals = [interval(), interval()];
            let change = [
                LEFT_ALONE,
                (packed([Stamp::MAX, 0]), packed([0, 7])),
                (0, 5),
            ];
            let rule = Rule::new(intervals, change[random(3)]);
            let between = from_fn(|lane| {
                if lane % [1, 2, 4][random(3)] == 0 {
                    0
                } else {
                    u64::MAX
                }
            });
            // Mostly covered, so that whole blocks are covered.
            let mut stamp = |side: usize| match random(60) {
                0 => stamps[random(6)],
                _ => rule.from[side].wrapping_add(
                    random(2).min(rule.span[side].saturating_sub(1) as usize) as Stamp,
                ),
            };
            let cells: Vec<u64> = (0..3 * BLOCK + 5)
                .map(|_| packed([stamp(0), stamp(1)]))
                .collect();
            let (mut alone, mut together) = (cells.clone(), cells);
            let count = rule.apply_anywhere(&between, &mut alone);
            // SAFETY: the processor has AVX2.
            let count_of_vectors = unsafe { avx2::apply(&rule, &between, &mut together) };
            assert_eq!(count_of_vectors, count);
            assert_eq!(together, alone);
        }
    }
}
