//! Ranges that the running step has checked already.
//!
//! A loop in a loop checks the same rows again and again. In one step the second check of a range
//! finds what the first one left, whatever the range is: nobody else has run in between. So a range
//! is remembered by all the arguments of its check but the access, and checked once a step.
//! Besides, the latest *stretch* of an object is remembered: ranges without gaps that lie together.
//! A range inside it is done, too.
//!
//! What is remembered counts as long as the fast path's era lasts. A step begins an era. So does an
//! allocation: it may put another object in the place of one that is gone.
//!
//! If there are several workers, another step may have run in between. It was compared with what
//! this one had left, so the rule is the same. But each worker has eras of its own: one begins when
//! it resumes a task, and when it has rested, as all do while memory is collected.
//!
//! Compiled code looks here before it calls the detector ([`super::checks`]).

use finishline_model::AccessKind;

/// A range as the arguments of its check, and the era in which it was checked.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) object: u64,
    pub(super) first: i64,
    pub(super) count: u64,
    pub(super) stride: i64,
    pub(super) kind: u64,
    pub(super) era: u64,
    unused: [u64; 2],
}

/// Places, one for each range. A later one takes the place of an earlier one.
const PLACES: usize = 1024;
/// Places of stretches.
const STRETCHES: usize = 64;

#[repr(C)]
pub(crate) struct Seen {
    ranges: [Range; PLACES],
    /// With the stride 1, by object and kind.
    pub(super) stretches: [Range; STRETCHES],
}

/// Scatters the places of ranges that lie together.
pub(super) const SCATTER: u32 = 0x9e37_79b1;
/// What is left of the product by these shifts are places.
pub(super) const SHIFT: u32 = u32::BITS - PLACES.ilog2();
pub(super) const STRETCH_SHIFT: u32 = u32::BITS - STRETCHES.ilog2();
/// Reads and writes of one range have different places.
pub(super) const KIND_SHIFT: u32 = 16;
pub(super) const RANGE_BITS: u32 = size_of::<Range>().ilog2();
const _: () = assert!(size_of::<Range>() == 1 << RANGE_BITS);

impl Seen {
    pub(crate) const fn new() -> Seen {
        let none = Range {
            object: 0,
            first: 0,
            count: 0,
            stride: 0,
            kind: 0,
            era: 0,
            unused: [0; 2],
        };
        Seen {
            ranges: [none; PLACES],
            stretches: [none; STRETCHES],
        }
    }

    /// Remembers a check.
    #[inline]
    pub(super) fn add(
        &mut self,
        object: *const u8,
        (first, count, stride): (i64, u64, i64),
        kind: AccessKind,
        era: u64,
    ) {
        let object = object.addr() as u64;
        let kind = kind as u64;
        let added = Range {
            object,
            first,
            count,
            stride,
            kind,
            era,
            unused: [0; 2],
        };
        let by_object = (object >> 3).wrapping_add(kind << KIND_SHIFT);
        let by_place = by_object.wrapping_add(first as u64);
        self.ranges[scattered(by_place, SHIFT)] = added;
        if stride == 1 {
            let stretch = &mut self.stretches[scattered(by_object, STRETCH_SHIFT)];
            *stretch = stretch.with(added).unwrap_or(added);
        }
    }
}

fn scattered(number: u64, shift: u32) -> usize {
    ((number as u32).wrapping_mul(SCATTER) >> shift) as usize
}

impl Range {
    /// The stretch of both, if they lie together.
    fn with(&self, other: Range) -> Option<Range> {
        let is_alike = (self.object, self.kind, self.era) == (other.object, other.kind, other.era);
        // The object has all these locations, so nothing overflows.
        let [ends, other_ends] = [self, &other].map(|range| range.first + range.count as i64);
        let is_near = is_alike && self.first <= other_ends && other.first <= ends;
        let first = self.first.min(other.first);
        is_near.then(|| Range {
            first,
            count: (ends.max(other_ends) - first) as u64,
            ..other
        })
    }
}
