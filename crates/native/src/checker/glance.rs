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

use super::Checker;
use finishline_detect::inline::FastPath;
use finishline_model::AccessKind;
use std::ptr::{NonNull, null};

#[repr(C)]
#[derive(Debug)]
pub struct Glance {
    pub fast: FastPath,
    /// The shadow's entries, by page.
    pub directory: *const u64,
    /// How many accesses were checked.
    pub accesses: u64,
    /// Nothing runs in parallel: the program itself is running, and all tasks have been joined. In
    /// every schedule an access comes after everything before it and before everything after it.
    pub alone: bool,
}

impl Glance {
    pub const NOTHING: Glance = Glance {
        fast: FastPath::IDLE,
        directory: null(),
        accesses: 0,
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

    /// Whether a cell stays as it is when the running step makes an access of this kind.
    #[inline(always)]
    pub(super) fn stays(&self, kind: AccessKind, cell: u64) -> bool {
        // SAFETY: as in `is_alone`. The detector does not run meanwhile, and the reference to the
        // fast path ends with this call.
        unsafe { (*self.0.as_ptr()).fast.stays(kind, cell) }
    }
}

impl Checker {
    /// Has the detector and the shadow fill in the checker's glance.
    #[allow(unsafe_code)]
    pub(super) fn attach_glance(&mut self) {
        let glance = self.glance.0.as_ptr();
        // SAFETY: the memory is valid, and nobody else uses it now, by the contract of
        // `GlanceHandle::new`. The pointer to the fast path is made without a reference, so later
        // uses of other fields leave it valid.
        unsafe {
            (*glance).directory = self.detection.shadow.directory();
            let fast = NonNull::new_unchecked(&raw mut (*glance).fast);
            self.detection.detector.attach(fast);
        }
    }
}
