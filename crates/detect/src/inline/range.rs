//! A check of many locations at once: each cell is judged as a check of its own would judge it, and most of them sixteen at a
//! time.
//!
//! The lines of the fast path's table ([`super`]) that decide something all have one form: the writer of the cell is in one
//! interval of stamps, the reader in another, and then some bits of the cell change. Here they are data, a [`Rule`] each:
//!
//! ```text
//!            the writer is         the reader is          then
//! read       anything              me                     nothing
//!            serial                serial                 reader = me
//!            serial                parallel, by the order nothing
//!            serial                parallel, by the memo  nothing
//! write      me                    me                     nothing
//!            serial                serial                 both = me
//!            serial                me                     both = me
//! ```
//!
//! Nothing begins a step inside a range, so the rules hold for all of it, but for the memo: a reader that was looked up
//! in this range and found to be parallel. Where two rules cover a cell they do the same to it. So the first cell of a block
//! tells which rule to try on the whole block, and on those behind it. A block that its rule does not cover is gone
//! through cell by cell; what no rule covers goes to the history. In a range of every second or fourth cell the ones between are left out of
//! both; with other strides it goes cell by cell.
//!
//! An interval is a subtraction and an unsigned comparison of each half of a cell, which the compiler turns into vector
//! instructions; there is a second copy for processors with AVX2. A cell that is in a near cache and decided with its block costs some
//! 0.2 nanoseconds, or 0.4 if it changes; one that is decided alone one or two.

use super::{FastPath, Inline, packed, unpacked};
use crate::order::{Order, Stamp};
use finishline_model::{AccessKind, Location};

/// Cells that are decided together.
const BLOCK: usize = 16;
/// Cells that are compared before they are changed: they are in the nearest cache then.
const PIECE: usize = 128 * BLOCK;

/// What becomes of a cell whose writer, and whose reader, are among the `span` stamps from `from` on.
#[derive(Clone, Copy)]
struct Rule {
    from: [Stamp; 2],
    span: [Stamp; 2],
    /// The bits of the cell that stay, and those that are put into it.
    keep: u64,
    put: u64,
}

/// The first stamp of an interval, and how many there are.
type Interval = (Stamp, Stamp);

impl Rule {
    /// For cells with the writer in the first interval and the reader in the second: `keep` and `put`.
    const fn new([writer, reader]: [Interval; 2], (keep, put): (u64, u64)) -> Rule {
        Rule {
            from: [writer.0, reader.0],
            span: [writer.1, reader.1],
            keep,
            put,
        }
    }

    #[inline(always)]
    fn covers(&self, cell: u64) -> bool {
        let [writer, reader] = unpacked(cell);
        let ([first_writer, first_reader], [writers, readers]) = (self.from, self.span);
        // Both comparisons are always made: a branch less, and blocks are compared by vector instructions.
        (writer.wrapping_sub(first_writer) < writers)
            & (reader.wrapping_sub(first_reader) < readers)
    }

    /// Does what is to be done with the longest run of whole blocks of which it covers every cell that counts, one of every `STRIDE`. How many
    /// cells these are, with those between.
    ///
    /// Loops without closures and adapters: what is not inlined here would not have the instructions of the copies below.
    #[inline(always)]
    fn apply<const STRIDE: usize>(&self, cells: &mut [u64]) -> usize {
        let between = between::<STRIDE>();
        let mut count = 0;
        for block in cells.as_chunks::<BLOCK>().0 {
            let mut covered = true;
            let mut at = 0;
            while at < BLOCK {
                covered &= self.covers(block[at]) | (between[at] != 0);
                at += 1;
            }
            if !covered {
                break;
            }
            count += BLOCK;
        }
        if (self.keep, self.put) != LEFT_ALONE {
            for block in cells[..count].as_chunks_mut::<BLOCK>().0 {
                let mut at = 0;
                while at < BLOCK {
                    let between = between[at];
                    block[at] = block[at] & (self.keep | between) | self.put & !between;
                    at += 1;
                }
            }
        }
        count
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn apply_with_avx2<const STRIDE: usize>(&self, cells: &mut [u64]) -> usize {
        self.apply::<STRIDE>(cells)
    }

    #[allow(unsafe_code)]
    fn apply_fast<const STRIDE: usize>(&self, cells: &mut [u64]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { self.apply_with_avx2::<STRIDE>(cells) };
        }
        self.apply::<STRIDE>(cells)
    }
}

/// By cell of a block: all bits if it lies between those that count, else none.
const fn between<const STRIDE: usize>() -> [u64; BLOCK] {
    let (mut masks, mut at) = ([0; BLOCK], 0);
    while at < BLOCK {
        masks[at] = if at % STRIDE == 0 { 0 } else { u64::MAX };
        at += 1;
    }
    masks
}

/// A cell stays as it is.
const LEFT_ALONE: (u64, u64) = (u64::MAX, 0);

/// The rules for one kind of access in one step. Where two cover a cell they do the same to it.
struct Rules([Rule; 4]);

impl Rules {
    #[inline(always)]
    fn new(fast: &FastPath, kind: AccessKind) -> Rules {
        let only = |stamp: Stamp| (stamp, 1);
        let serial = (0, fast.serial_below);
        Rules(match kind {
            AccessKind::Read => {
                // All but one that nobody has.
                let anything = (0, Stamp::MAX);
                let parallel = (fast.serial_below, fast.parallel_above);
                let taken = (packed([Stamp::MAX, 0]), packed([0, fast.me]));
                [
                    Rule::new([anything, only(fast.me)], LEFT_ALONE),
                    Rule::new([serial, serial], taken),
                    Rule::new([serial, parallel], LEFT_ALONE),
                    Rule::new([serial, only(fast.beside[MEMO])], LEFT_ALONE),
                ]
            }
            AccessKind::Write => {
                let settled = (0, fast.settled);
                let [writer, reader] = unpacked(fast.settled);
                [
                    Rule::new([only(writer), only(reader)], LEFT_ALONE),
                    Rule::new([serial, serial], settled),
                    Rule::new([serial, only(fast.me)], settled),
                    Rule::new([(0, 0); 2], LEFT_ALONE),
                ]
            }
        })
    }

    /// Decides the longest run of whole blocks that one rule covers. How many cells these are.
    fn decide<const STRIDE: usize>(&self, cells: &mut [u64]) -> usize {
        let Some(first) = cells.first() else { return 0 };
        let rule = self.0.iter().find(|rule| rule.covers(*first));
        rule.map_or(0, |rule| rule.apply_fast::<STRIDE>(cells))
    }
}

/// The place of the memo that ranges use, in a fast path of their own.
const MEMO: usize = 0;

impl<O: Order> Inline<O> {
    /// A check of the locations from `first` on, as far apart as `stride` is without its sign. Their cells are every so many of
    /// these, from the first one on or, if the stride is negative, from the last one backwards. It is not 0.
    pub fn range(&mut self, kind: AccessKind, cells: &mut [u64], stride: isize, first: Location) {
        // With a memo of its own.
        let mut fast = FastPath {
            beside: FastPath::IDLE.beside,
            ..self.fast().map_or(FastPath::IDLE, |fast| *fast)
        };
        match stride {
            1 => self.blocks::<1>(&mut fast, kind, cells, first),
            2 => self.blocks::<2>(&mut fast, kind, cells, first),
            4 => self.blocks::<4>(&mut fast, kind, cells, first),
            _ => self.each(&mut fast, kind, cells, stride, first),
        }
        let count = cells.len().div_ceil(stride.unsigned_abs());
        self.found.statistics.count_check(count as u64);
    }

    /// A block after the other. The stride divides the length of a block.
    fn blocks<const STRIDE: usize>(
        &mut self,
        fast: &mut FastPath,
        kind: AccessKind,
        cells: &mut [u64],
        first: Location,
    ) {
        let stride = const { STRIDE as isize };
        let mut done = 0;
        while cells.len() - done >= BLOCK {
            let rules = Rules::new(fast, kind);
            let end = cells.len().min(done + PIECE);
            let together = rules.decide::<STRIDE>(&mut cells[done..end]);
            done += together;
            if together == 0 {
                let block = &mut cells[done..done + BLOCK];
                self.each(fast, kind, block, stride, first.offset(done as u64));
                done += BLOCK;
            }
        }
        let rest = &mut cells[done..];
        self.each(fast, kind, rest, stride, first.offset(done as u64));
    }

    /// One cell after the other.
    #[inline(always)]
    fn each(
        &mut self,
        fast: &mut FastPath,
        kind: AccessKind,
        cells: &mut [u64],
        stride: isize,
        first: Location,
    ) {
        let count = cells.len();
        for offset in (0..count).step_by(stride.unsigned_abs()) {
            let index = if stride < 0 {
                count - 1 - offset
            } else {
                offset
            };
            let cell = &mut cells[index];
            match fast.decide(kind, *cell, MEMO) {
                // What does not change is not written, and stays clean in the caches.
                Some(after) if after == *cell => {}
                Some(after) => *cell = after,
                None => {
                    let location = first.offset(offset as u64);
                    if let Some(reader) = self.undecided_in_range(kind, cell, location) {
                        fast.beside[MEMO] = reader;
                    }
                }
            }
        }
    }

    /// Apart, so that the loop above keeps the fast path in registers.
    #[inline(never)]
    fn undecided_in_range(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        location: Location,
    ) -> Option<Stamp> {
        self.access(kind, cell, || location)
    }
}
