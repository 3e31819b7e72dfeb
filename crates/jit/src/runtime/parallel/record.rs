//! A task that was created and handed over to whoever has time.

use super::super::Entry;
use super::super::context::Context;
use super::finish::Finish;
use crate::checker::Carried;
use finishline_model::TaskId;
use std::ops::Range;
use std::ptr::{NonNull, null};

/// What is known of such a task until it has ended. Compiled code reads the first two fields.
#[repr(C, align(128))]
pub(crate) struct Record {
    pub(crate) entry: Entry,
    pub(crate) captures: *const u64,
    /// What `captures` points at.
    words: Vec<u64>,
    /// The number of the place that created it.
    pub(super) spawn: u32,
    pub(super) task: TaskId,
    pub(super) finish: NonNull<Finish>,
    /// For the checker.
    pub(super) carried: Carried,
    live: bool,
}

// SAFETY: whoever has taken the task has the record for itself.
unsafe impl Send for Record {}

unsafe extern "C" fn nothing(_: *mut Context, _: *const u64, _: u64) {}

impl Record {
    pub(super) fn idle() -> Record {
        Record {
            entry: nothing,
            captures: null(),
            words: Vec::new(),
            spawn: 0,
            task: TaskId::MAIN,
            finish: NonNull::dangling(),
            carried: Carried::nothing(),
            live: false,
        }
    }

    /// Takes the captured words of a task. False if there is no memory for them.
    #[inline]
    pub(super) fn capture(&mut self, words: &[u64]) -> bool {
        self.words.clear();
        if self.words.try_reserve(words.len()).is_err() {
            return false;
        }
        self.words.extend_from_slice(words);
        self.captures = self.words.as_ptr();
        self.live = true;
        true
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn end(&mut self) {
        self.live = false;
    }

    /// Where references of a live task may be.
    pub(super) fn roots(&self) -> Option<Range<usize>> {
        let words = self.words.as_ptr_range();
        self.live
            .then(|| words.start.expose_provenance()..words.end.addr())
    }
}
