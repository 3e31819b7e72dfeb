//! What the first instructions of every access look at.
//!
//! Most accesses repeat what the running step has done already, and need no more than a look at one cell. So the functions that a
//! program calls for them begin with some twenty instructions of their own (`abi::glance`), which do as [`Checker::access`] does for variables
//! with one cell, and come here only for the rest. For them whatever is needed lies together, in the runtime at an address that the
//! code knows.

use super::Checker;
use finishline_detect::inline::FastPath;
use std::ptr::{NonNull, null};

#[repr(C)]
#[derive(Debug)]
pub struct Glance {
    pub fast: FastPath,
    /// The shadow's entries, by page.
    pub directory: *const u64,
    /// How many accesses were checked.
    pub accesses: u64,
    /// The program itself is running and all tasks have been joined: what it does comes after everything before and before everything
    /// after, in every schedule.
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

impl Checker {
    /// From now on what is to be looked at is there.
    #[allow(unsafe_code)]
    pub fn glance_at(&mut self, place: &'static mut Glance) {
        let fast = NonNull::from(&mut place.fast);
        *place = Glance {
            directory: self.shadow.directory(),
            ..*self.glance
        };
        self.glance = place;
        // SAFETY: it lives for ever, and is read by the checker and by the program's accesses only while the detector does not run.
        unsafe { self.detector.attach(fast) };
    }
}
