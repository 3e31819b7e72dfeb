//! The address range objects live in, and the only place that reads and writes it.
//!
//! The range is reserved once and never moves; the system commits a page when it is touched, as zeros. It is handed out in
//! runs of units, and a run that comes back is given back to the system, so that a run is always zero when it is taken. If
//! the system refuses the reservation, ever smaller ones are tried.
//!
//! Compiled code reads and writes the same memory by address, while no code of the heap runs. So no Rust reference into it
//! outlives a borrow of the space, and every access is checked against the range.

use super::runs::Runs;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

/// Runs are multiples of this.
pub(super) const UNIT_BYTES: usize = 8 << 10;

/// The most and the least that is asked for, and how much less is asked for after a refusal: much less, so that a process
/// whose address space is limited keeps some for itself.
const MOST_BYTES: usize = 16 << 40;
const LEAST_BYTES: usize = 1 << 20;
const AFTER_REFUSAL_DIVIDE_BY: usize = 4;

/// What lies behind this many bytes is put into huge pages: a program that needs as much would spend more on page faults
/// than on the objects in the pages. Small programs stay small.
const HUGE_PAGES_FROM_BYTES: usize = 8 << 20;

pub(super) struct Space {
    base: usize,
    bytes: usize,
    runs: Runs,
}

impl Space {
    /// A range of about `bytes`; of less if the system does not grant that. `Err` is what it refused at last.
    pub(super) fn reserve(bytes: usize) -> Result<Space, usize> {
        let mut bytes = bytes
            .clamp(LEAST_BYTES, MOST_BYTES)
            .next_multiple_of(UNIT_BYTES);
        loop {
            if let Some(base) = map(bytes) {
                let space = Space {
                    base,
                    bytes,
                    runs: Runs::new(bytes / UNIT_BYTES),
                };
                space.ask_for_huge_pages();
                return Ok(space);
            }
            if bytes == LEAST_BYTES {
                return Err(bytes);
            }
            bytes = (bytes / AFTER_REFUSAL_DIVIDE_BY)
                .max(LEAST_BYTES)
                .next_multiple_of(UNIT_BYTES);
        }
    }

    /// A wish: a system that knows no huge pages refuses it, and nothing is lost.
    fn ask_for_huge_pages(&self) {
        if self.bytes > HUGE_PAGES_FROM_BYTES {
            let start = with_exposed_provenance_mut(self.base + HUGE_PAGES_FROM_BYTES);
            // SAFETY: the rest of this space's own mapping, and the advice changes no contents.
            let _ = unsafe {
                madvise(
                    start,
                    self.bytes - HUGE_PAGES_FROM_BYTES,
                    Advice::LinuxHugepage,
                )
            };
        }
    }

    /// Where the unit begins.
    pub(super) fn address(&self, unit: usize) -> usize {
        self.base + unit * UNIT_BYTES
    }

    /// The unit at an address; some number past the last unit for an address elsewhere.
    #[inline]
    pub(super) fn unit(&self, address: usize) -> usize {
        address.wrapping_sub(self.base) / UNIT_BYTES
    }

    /// The first of so many units, all zero; `None` if there is no room for them.
    pub(super) fn take(&mut self, units: usize) -> Option<usize> {
        self.runs.take(units)
    }

    /// Takes units back, and gives their memory back to the system.
    pub(super) fn give_back(&mut self, start: usize, units: usize) {
        let (address, bytes) = (self.address(start), units * UNIT_BYTES);
        self.check(address, bytes);
        // SAFETY: the pages are this space's own and nobody uses them; they read as zeros from now on.
        let given = unsafe {
            madvise(
                with_exposed_provenance_mut(address),
                bytes,
                Advice::LinuxDontNeed,
            )
        };
        if given.is_err() {
            // Memory locked by the process stays with it; zero it must be.
            self.words_mut(address, bytes).fill(0);
        }
        self.runs.give_back(start, units);
    }

    #[inline]
    pub(super) fn word(&self, address: usize) -> u64 {
        self.check(address, 8);
        // SAFETY: 8 aligned bytes of the mapping, which the system made zeros, and no mutable borrow of the space is there.
        unsafe { with_exposed_provenance::<u64>(address).read() }
    }

    /// A stretch of words, for as long as the space is borrowed and no compiled code runs.
    #[inline]
    pub(super) fn words_mut(&mut self, address: usize, bytes: usize) -> &mut [u64] {
        self.check(address, bytes);
        // SAFETY: aligned words of the mapping, which the system made zeros. This borrow of the space keeps all other access
        // away: Rust code has no other way to them, and compiled code does not run.
        unsafe { std::slice::from_raw_parts_mut(with_exposed_provenance_mut(address), bytes / 8) }
    }

    #[inline]
    fn check(&self, address: usize, bytes: usize) {
        let offset = address.wrapping_sub(self.base);
        assert!(
            offset <= self.bytes && bytes <= self.bytes - offset && address.is_multiple_of(8),
            "no words of the heap: {bytes} bytes at {address:#x}"
        );
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
        // SAFETY: the space made this mapping and owns it; compiled code does not outlive the heap it runs on.
        let unmapped = unsafe { munmap(with_exposed_provenance_mut(self.base), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_zero_when_taken_again() {
        let mut space = Space::reserve(1 << 20).unwrap();
        let start = space.take(3).unwrap();
        let address = space.address(start);
        for word in 0..3 * UNIT_BYTES / 8 {
            assert_eq!(space.word(address + 8 * word), 0);
        }
        space.words_mut(address, 3 * UNIT_BYTES).fill(u64::MAX);
        space.give_back(start, 3);
        assert_eq!(space.take(3), Some(start));
        for word in 0..3 * UNIT_BYTES / 8 {
            assert_eq!(space.word(address + 8 * word), 0);
        }
    }

    #[test]
    fn a_refused_reservation_becomes_a_smaller_one() {
        // More than any processor's address space, but the most we ask for is less.
        let mut space = Space::reserve(usize::MAX).unwrap();
        assert!(space.bytes <= MOST_BYTES && space.bytes >= LEAST_BYTES);
        assert!(map(usize::MAX / 2).is_none());
        assert_eq!(space.take(space.bytes / UNIT_BYTES + 1), None);
        assert_eq!(space.take(space.bytes / UNIT_BYTES), Some(0));
    }

    #[test]
    fn addresses_elsewhere_belong_to_no_unit() {
        let space = Space::reserve(1 << 20).unwrap();
        let units = space.bytes / UNIT_BYTES;
        assert_eq!(space.unit(space.base), 0);
        assert_eq!(space.unit(space.base + space.bytes - 1), units - 1);
        for address in [0, 1, space.base - 1, space.base + space.bytes, usize::MAX] {
            assert!(space.unit(address) >= units);
        }
    }

    #[test]
    #[should_panic(expected = "no words of the heap")]
    fn what_lies_outside_is_never_touched() {
        let space = Space::reserve(1 << 20).unwrap();
        space.word(space.base + space.bytes - 4);
    }
}
