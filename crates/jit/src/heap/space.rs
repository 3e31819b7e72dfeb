//! The address range objects live in, and the only place that reads and writes it.
//!
//! The range is reserved once and never moves. The system commits a page of zeros when the page is
//! touched. The range is handed out in runs of units. If the system refuses the reservation, ever
//! smaller ones are tried.
//!
//! A unit that comes back is *dirty*: its memory still has its last contents. Clearing a unit costs
//! less than a page fault for each of its pages, so some dirty units wait for the next user. The
//! rest is given back to the system, from the highest address down, so that units in use gather at
//! the lowest.
//!
//! Compiled code reads and writes the same memory by address. So no Rust reference into it is kept,
//! and every access is checked against the range.

use super::runs::Runs;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

/// Runs are multiples of this.
pub(super) const UNIT_BYTES: usize = 8 << 10;

/// The largest and the smallest reservation. After a refusal a much smaller one is tried, so that a
/// process whose address space is limited keeps some for itself.
const MOST_BYTES: usize = 16 << 40;
const LEAST_BYTES: usize = 1 << 20;
const AFTER_REFUSAL_DIVIDE_BY: usize = 4;

/// Memory beyond this is put into huge pages: a program that needs more would spend more time on
/// page faults than on the objects in the pages. Small programs stay small.
const HUGE_PAGES_FROM_BYTES: usize = 8 << 20;
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A longer run is zero when it is taken, at the price of page faults: its user may never touch
/// most of it.
const LONGEST_DIRTY: usize = (16 << 20) / UNIT_BYTES;
/// The dirty and free memory that is always kept.
const LEAST_KEPT_BYTES: usize = 32 << 20;

/// The bounds of a space, for those who only touch what they have taken of it.
#[derive(Clone, Copy)]
pub(super) struct Area {
    base: usize,
    bytes: usize,
}

impl Area {
    /// A stretch of words.
    ///
    /// # Safety
    ///
    /// The space must be there, and nobody else may use these words for as long as the borrow
    /// lives.
    #[inline]
    pub(super) unsafe fn words_mut<'w>(self, address: usize, bytes: usize) -> &'w mut [u64] {
        self.check(address, bytes);
        // SAFETY: aligned words of the mapping, which the system made zeros; as promised, nobody
        // else uses them.
        unsafe { std::slice::from_raw_parts_mut(with_exposed_provenance_mut(address), bytes / 8) }
    }

    #[inline]
    fn check(self, address: usize, bytes: usize) {
        let offset = address.wrapping_sub(self.base);
        assert!(
            offset <= self.bytes && bytes <= self.bytes - offset && address.is_multiple_of(8),
            "no words of the heap: {bytes} bytes at {address:#x}"
        );
    }
}

pub(super) struct Space {
    area: Area,
    runs: Runs,
    /// By unit, up to the last that was ever in use: whether it is free and dirty.
    dirty: Vec<bool>,
    dirty_units: usize,
    /// Huge pages were asked for up to this address.
    huge_until: usize,
}

/// Units for an object or several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Taken {
    pub(super) start: usize,
    /// Their memory is zero.
    pub(super) zeroed: bool,
}

impl Space {
    /// A range of about `bytes`, or less if the system does not grant that. `Err` is the last
    /// refused size.
    pub(super) fn reserve(bytes: usize) -> Result<Space, usize> {
        let mut bytes = bytes
            .clamp(LEAST_BYTES, MOST_BYTES)
            .next_multiple_of(UNIT_BYTES);
        loop {
            if let Some(base) = map(bytes) {
                return Ok(Space {
                    area: Area { base, bytes },
                    runs: Runs::new(bytes / UNIT_BYTES),
                    dirty: Vec::new(),
                    dirty_units: 0,
                    huge_until: (base + HUGE_PAGES_FROM_BYTES).next_multiple_of(HUGE_PAGE_BYTES),
                });
            }
            if bytes == LEAST_BYTES {
                return Err(bytes);
            }
            bytes = (bytes / AFTER_REFUSAL_DIVIDE_BY)
                .max(LEAST_BYTES)
                .next_multiple_of(UNIT_BYTES);
        }
    }

    /// Asks for huge pages for units that were never in use before. Small runs come in numbers, so
    /// they will fill the page that the last of them begins. A long run may be the last: its end
    /// that fills no huge page stays in small pages.
    ///
    /// A system without huge pages refuses, and nothing is lost.
    fn ask_for_huge_pages(&mut self, start: usize, units: usize) {
        let end = self.address(start + units);
        let wanted = if units * UNIT_BYTES < HUGE_PAGE_BYTES {
            end.next_multiple_of(HUGE_PAGE_BYTES)
        } else {
            end - end % HUGE_PAGE_BYTES
        };
        let wanted = wanted.min(self.area.base + self.area.bytes);
        if wanted > self.huge_until {
            let pages = with_exposed_provenance_mut(self.huge_until);
            // SAFETY: a part of this space's own mapping, and the advice changes no contents.
            let _ = unsafe { madvise(pages, wanted - self.huge_until, Advice::LinuxHugepage) };
            self.huge_until = wanted;
        }
    }

    pub(super) fn area(&self) -> Area {
        self.area
    }

    /// Where the unit begins.
    pub(super) fn address(&self, unit: usize) -> usize {
        self.area.base + unit * UNIT_BYTES
    }

    /// The unit at an address; some number past the last unit for an address elsewhere.
    #[inline]
    pub(super) fn unit(&self, address: usize) -> usize {
        address.wrapping_sub(self.area.base) / UNIT_BYTES
    }

    /// Hands out units. `None` if there is no room for them.
    pub(super) fn take(&mut self, units: usize) -> Option<Taken> {
        let start = self.runs.take(units)?;
        let end = start + units;
        if self.dirty.len() < end {
            if self.dirty.try_reserve(end - self.dirty.len()).is_err() {
                self.runs.give_back(start, units);
                return None;
            }
            self.dirty.resize(end, false);
            self.ask_for_huge_pages(start, units);
        }
        if units > LONGEST_DIRTY {
            self.clean(start, units);
        }
        let run = &mut self.dirty[start..end];
        let zeroed = !run.contains(&true);
        if !zeroed {
            self.dirty_units -= run.iter().filter(|dirty| **dirty).count();
            run.fill(false);
        }
        Some(Taken { start, zeroed })
    }

    /// Takes units back, with their contents.
    pub(super) fn give_back(&mut self, start: usize, units: usize) {
        self.dirty[start..start + units].fill(true);
        self.dirty_units += units;
        self.runs.give_back(start, units);
    }

    /// Gives memory back to the system, if more is free and dirty than will soon be `needed` again.
    pub(super) fn keep_dirty(&mut self, needed: usize) {
        self.give_back_all_but(needed.max(LEAST_KEPT_BYTES));
    }

    /// Gives memory back to the system until at most `bytes` are free and dirty.
    fn give_back_all_but(&mut self, bytes: usize) {
        let mut excess = self.dirty_units.saturating_sub(bytes / UNIT_BYTES);
        let mut end = self.dirty.len();
        while excess > 0
            && let Some(last) = self.dirty[..end].iter().rposition(|dirty| *dirty)
        {
            let stretch = self.dirty[..=last].iter().rev();
            let units = stretch.take(excess).take_while(|dirty| **dirty).count();
            end = last + 1 - units;
            self.clean(end, units);
            excess -= units;
        }
    }

    /// Gives the memory of the dirty units among these back to the system.
    fn clean(&mut self, start: usize, units: usize) {
        let mut at = start;
        while let Some(skip) = self.dirty[at..start + units]
            .iter()
            .position(|dirty| *dirty)
        {
            let first = at + skip;
            let rest = self.dirty[first..start + units].iter();
            let count = rest.take_while(|dirty| **dirty).count();
            self.discard(first, count);
            self.dirty[first..first + count].fill(false);
            self.dirty_units -= count;
            at = first + count;
        }
    }

    fn discard(&mut self, start: usize, units: usize) {
        let (address, bytes) = (self.address(start), units * UNIT_BYTES);
        self.area.check(address, bytes);
        let pages = with_exposed_provenance_mut(address);
        // SAFETY: the pages are this space's own and nobody uses them; they read as zeros from now
        // on.
        if unsafe { madvise(pages, bytes, Advice::LinuxDontNeed) }.is_err() {
            // Memory locked by the process stays with it; zero it must be.
            self.words_mut(address, bytes).fill(0);
        }
    }

    #[inline]
    pub(super) fn word(&self, address: usize) -> u64 {
        self.area.check(address, 8);
        // SAFETY: 8 aligned bytes of the mapping, which the system made zeros, and no mutable
        // borrow of the space is there.
        unsafe { with_exposed_provenance::<u64>(address).read() }
    }

    /// A stretch of words, for as long as the space is borrowed and no compiled code runs.
    #[inline]
    pub(super) fn words_mut(&mut self, address: usize, bytes: usize) -> &mut [u64] {
        // SAFETY: this borrow of the space keeps the collector away, and the words are those of
        // nobody else: free, or of an object of the caller.
        unsafe { self.area.words_mut(address, bytes) }
    }
}

/// Fresh pages of zeros, committed when touched.
fn map(bytes: usize) -> Option<usize> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new anonymous mapping at an address of the system's choice overlaps nothing.
    let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, flags) };
    Some(base.ok()?.expose_provenance())
}

impl Drop for Space {
    fn drop(&mut self) {
        // SAFETY: the space made this mapping and owns it; compiled code does not outlive the heap
        // it runs on.
        let unmapped =
            unsafe { munmap(with_exposed_provenance_mut(self.area.base), self.area.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_zero(space: &Space, taken: Taken, units: usize) -> bool {
        let address = space.address(taken.start);
        (0..units * UNIT_BYTES / 8).all(|word| space.word(address + 8 * word) == 0)
    }

    fn take_and_fill(space: &mut Space, units: usize) -> usize {
        let taken = space.take(units).unwrap();
        let address = space.address(taken.start);
        space.words_mut(address, units * UNIT_BYTES).fill(u64::MAX);
        taken.start
    }

    #[test]
    fn a_run_is_zero_when_it_says_so() {
        let mut space = Space::reserve(8 << 20).unwrap();
        let fresh = space.take(3).unwrap();
        assert!(fresh.zeroed && is_zero(&space, fresh, 3));
        space.give_back(fresh.start, 3);
        let start = take_and_fill(&mut space, 3);
        space.give_back(start, 3);
        let again = space.take(3).unwrap();
        assert_eq!((again.start, again.zeroed), (start, false));
        space.give_back(start, 3);
        space.give_back_all_but(0);
        let clean = space.take(3).unwrap();
        assert!(clean.start == start && clean.zeroed && is_zero(&space, clean, 3));
    }

    #[test]
    fn a_long_run_is_zero_though_parts_of_it_were_dirty() {
        let mut space = Space::reserve(32 << 20).unwrap();
        let units = LONGEST_DIRTY + 1;
        let starts: Vec<usize> = (0..units).map(|_| take_and_fill(&mut space, 1)).collect();
        for &start in &starts[..units - 2] {
            space.give_back(start, 1);
        }
        space.give_back_all_but(10 * UNIT_BYTES);
        space.give_back(starts[units - 2], 1);
        space.give_back(starts[units - 1], 1);
        let long = space.take(units).unwrap();
        assert!(long.start == starts[0] && long.zeroed && is_zero(&space, long, units));
    }

    #[test]
    fn the_highest_dirty_units_are_given_back_first() {
        let mut space = Space::reserve(8 << 20).unwrap();
        let starts: Vec<usize> = (0..6).map(|_| take_and_fill(&mut space, 2)).collect();
        for free in [0, 2, 3, 5] {
            space.give_back(starts[free], 2);
        }
        let dirty =
            |space: &Space| -> Vec<usize> { (0..12).filter(|&unit| space.dirty[unit]).collect() };
        assert_eq!(dirty(&space), [0, 1, 4, 5, 6, 7, 10, 11]);
        space.give_back_all_but(9 * UNIT_BYTES);
        assert_eq!(dirty(&space), [0, 1, 4, 5, 6, 7, 10, 11]);
        space.give_back_all_but(5 * UNIT_BYTES - 1);
        assert_eq!(dirty(&space), [0, 1, 4, 5]);
        space.give_back_all_but(0);
        assert_eq!(dirty(&space), []);
        space.give_back(starts[1], 2);
        take_and_fill(&mut space, 3);
        assert_eq!(dirty(&space), [3]);
    }

    #[test]
    fn a_refused_reservation_becomes_a_smaller_one() {
        assert!(map(usize::MAX / 2).is_none(), "more than any address space");
        let mut space = Space::reserve(usize::MAX).unwrap();
        assert!((LEAST_BYTES..=MOST_BYTES).contains(&space.area.bytes));
        assert_eq!(space.take(space.area.bytes / UNIT_BYTES + 1), None);
        let small = Space::reserve(0).unwrap();
        assert_eq!(small.area.bytes, LEAST_BYTES);
    }

    #[test]
    fn addresses_elsewhere_belong_to_no_unit() {
        let space = Space::reserve(1 << 20).unwrap();
        let units = space.area.bytes / UNIT_BYTES;
        assert_eq!(space.unit(space.area.base), 0);
        assert_eq!(
            space.unit(space.area.base + space.area.bytes - 1),
            units - 1
        );
        for address in [
            0,
            1,
            space.area.base - 1,
            space.area.base + space.area.bytes,
            usize::MAX,
        ] {
            assert!(space.unit(address) >= units);
        }
    }

    #[test]
    #[should_panic(expected = "no words of the heap")]
    fn what_lies_outside_is_never_touched() {
        let space = Space::reserve(1 << 20).unwrap();
        space.word(space.area.base + space.area.bytes - 4);
    }
}
