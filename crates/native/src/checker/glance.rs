//! What the first instructions of every access read.
//!
//! Most accesses repeat what the running step did before, and need no more than a look at one cell.
//! So the functions that a program calls for an access begin with some twenty instructions of their
//! own (`abi::glance`). These do as [`Checker::access`] does for a variable with one cell, and
//! enter the checker only for the rest. Whatever they read lies together in a [`Glance`], at an
//! address that the code knows.
//!
//! **Aliasing.** Three parties use the same [`Glance`]: the program's instructions, the checker,
//! and the detector, which keeps the fast path in it true. None of them keeps a reference to it.
//! The checker and the detector each have a raw pointer with the provenance of the whole memory,
//! and make a reference to one field for the length of one method. So no reference outlives the use
//! of another party, in whatever order the parties take turns.

//! **What became of a cell.** As long as the step lasts, the history makes the same of equal cells,
//! unless they race. So a place remembers what its access made of a cell, and the next equal cell
//! becomes the same ([`Became`]). The context in it names the calls that led to the place. So it
//! counts only for the same calls, with the same frames.

use super::Checker;
use finishline_detect::inline::FastPath;
use finishline_model::AccessKind;
use std::ops::Range;
use std::ptr::{NonNull, null};

#[repr(C)]
#[derive(Debug)]
pub struct Glance {
    pub fast: FastPath,
    /// The shadow's entries, by page.
    pub directory: *const u64,
    /// How many accesses were checked.
    pub accesses: u64,
    /// The [path](crate::facts::calls::CallStack::path) of the running thread's calls.
    pub path: *const u64,
    /// The first address of the variables of the thread that the task is on, and how many bytes
    /// they have.
    pub thread_locals: [u64; 2],
    pub became: [Became; PLACES],
    /// Nothing runs in parallel: the program itself is running, and all tasks have been joined. In
    /// every schedule an access comes after everything before it and before everything after it.
    pub alone: bool,
}

/// What an access at a place has made of a cell.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Became {
    /// The path of the calls, exclusive or the place.
    pub access: u64,
    pub before: u64,
    pub after: u64,
    /// The [era](finishline_detect::inline::Limits::era) in which it counts.
    pub era: u64,
}

/// How many are remembered. An access finds its own by the place and the cell.
pub const PLACES: usize = 64;

/// Where an access at `place` finds what became of a cell.
const fn slot(place: u64, before: u64) -> usize {
    (place.wrapping_add(before) ^ before >> 32) as usize % PLACES
}

impl Glance {
    pub const NOTHING: Glance = Glance {
        fast: FastPath::IDLE,
        directory: null(),
        accesses: 0,
        path: null(),
        thread_locals: [0; 2],
        became: [Became {
            access: 0,
            before: 0,
            after: 0,
            era: u64::MAX,
        }; PLACES],
        alone: false,
    };
}

/// The checker's way to its [`Glance`].
#[derive(Debug)]
pub struct GlanceHandle(NonNull<Glance>);

#[allow(unsafe_code)]
impl GlanceHandle {
    /// A handle to memory that is shared with the program's accesses.
    ///
    /// # Safety
    ///
    /// The memory is valid for ever. Nobody has a reference to any part of it. Besides the checker
    /// that gets the handle, only the thread that the checker belongs to uses the memory, and only
    /// while no method of the checker runs.
    pub unsafe fn new(memory: NonNull<Glance>) -> GlanceHandle {
        GlanceHandle(memory)
    }

    /// A handle to memory of its own, which is never freed.
    pub fn unshared() -> GlanceHandle {
        let memory = Box::into_raw(Box::new(Glance::NOTHING));
        // SAFETY: a box is never null, and this one's memory is given up to the handle.
        unsafe { GlanceHandle::new(NonNull::new_unchecked(memory)) }
    }

    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        // SAFETY: valid for ever, and nobody else uses it now, by the contract of `new`.
        unsafe { (*self.0.as_ptr()).alone }
    }

    pub(super) fn set_alone(&mut self, alone: bool) {
        // SAFETY: as in `is_alone`.
        unsafe { (*self.0.as_ptr()).alone = alone }
    }

    #[inline(always)]
    pub fn accesses(&self) -> u64 {
        // SAFETY: as in `is_alone`.
        unsafe { (*self.0.as_ptr()).accesses }
    }

    #[inline(always)]
    pub(super) fn count_access(&mut self) {
        // SAFETY: as in `is_alone`.
        unsafe { (*self.0.as_ptr()).accesses += 1 }
    }

    /// The program's accesses are to find this path where it is.
    fn set_path(&mut self, path: *const u64) {
        // SAFETY: as in `is_alone`.
        unsafe { (*self.0.as_ptr()).path = path }
    }

    pub(super) fn set_thread_locals(&mut self, Range { start, end }: Range<u64>) {
        // SAFETY: as in `is_alone`.
        unsafe { (*self.0.as_ptr()).thread_locals = [start, end - start] }
    }

    /// Forgets what became of cells.
    pub(super) fn begin_era(&mut self) {
        // SAFETY: as in `is_alone`.
        unsafe { (*self.0.as_ptr()).fast.limits.era += 1 }
    }

    /// An access at this place, called along this path, made this of a cell, and would make it of
    /// every equal one as long as the step lasts.
    #[inline]
    pub(super) fn remember(&mut self, place: u64, path: u64, [before, after]: [u64; 2]) {
        // SAFETY: as in `is_alone`.
        unsafe {
            let glance = self.0.as_ptr();
            let era = (*glance).fast.limits.era;
            (*glance).became[slot(place, before)] = Became {
                access: path ^ place,
                before,
                after,
                era,
            };
        }
    }

    /// What an access at this place, called along this path, makes of a cell, if it is remembered.
    #[inline]
    pub(super) fn became(&self, place: u64, path: u64, before: u64) -> Option<u64> {
        // SAFETY: as in `is_alone`.
        let (became, era) = unsafe {
            let glance = self.0.as_ptr();
            (
                (*glance).became[slot(place, before)],
                (*glance).fast.limits.era,
            )
        };
        let is_it = (became.access, became.before, became.era) == (path ^ place, before, era);
        is_it.then_some(became.after)
    }

    /// Whether a cell stays as it is when the running step makes an access of this kind.
    #[inline(always)]
    pub(super) fn stays(&self, kind: AccessKind, cell: u64) -> bool {
        // SAFETY: as in `is_alone`. The detector does not run meanwhile, and the reference to the
        // fast path ends with this call.
        unsafe { (*self.0.as_ptr()).fast.stays(kind, cell) }
    }
}

impl Checker {
    /// The checker has the place where it will stay, and need not be told each access that changes
    /// what is remembered.
    pub fn attach_calls(&mut self) {
        self.glance.set_path(self.calls.stack().path());
        self.glance
            .set_thread_locals(self.thread.thread_locals.clone());
    }

    /// Has the detector and the shadow fill in the checker's glance.
    #[allow(unsafe_code)]
    pub(super) fn attach_glance(&mut self) {
        let glance = self.glance.0.as_ptr();
        // SAFETY: the memory is valid, and nobody else uses it now, by the contract of
        // `GlanceHandle::new`. The pointer to the fast path is made without a reference, so later
        // uses of other fields leave it valid.
        unsafe {
            (*glance).directory = self.detection.shadow.directory();
            // The checker is about to be moved.
            (*glance).path = null();
            let fast = NonNull::new_unchecked(&raw mut (*glance).fast);
            self.detection.detector.attach(fast);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_a_cell_counts_for_the_same_access_of_an_equal_cell_in_the_same_step() {
        let mut glance = GlanceHandle::unshared();
        let (place, path, before) = (4000, 7 << 40, 5 << 32 | 9);
        assert_eq!(glance.became(place, path, before), None);
        glance.remember(place, path, [before, 1]);
        assert_eq!(glance.became(place, path, before), Some(1));
        // Cells and places that are looked for in the same slot.
        let far = PLACES as u64;
        assert_eq!(slot(place, before + far), slot(place, before));
        assert_eq!(glance.became(place, path, before + far), None);
        assert_eq!(slot(place + far, before), slot(place, before));
        assert_eq!(glance.became(place + far, path, before), None);
        assert_eq!(glance.became(place, path + 1, before), None);
        glance.begin_era();
        assert_eq!(glance.became(place, path, before), None);
    }
}
