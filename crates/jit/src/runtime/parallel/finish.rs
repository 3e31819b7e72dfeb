//! An open finish: how many tasks it waits for, and who waits.
//!
//! The state is a word: twice the number of live tasks that were handed over, plus one while the
//! owner waits.
//!
//! ```text
//! enter    a task is handed over                                   + 2
//! leave    it has ended; if 3 becomes 1, the owner goes on         − 2
//! wait     the owner is suspended, unless nothing is left          + 1
//! ```
//!
//! A task that its creator calls is not counted: it ends before the creator goes on.
//!
//! **Memory ordering.** `leave` releases what the task did. The owner acquires it when it finds
//! nothing left. If the owner waits, the last task acquires it, and passes it on with the owner's
//! strand. Each change of the state is a read-modify-write, so the releases of all tasks reach who
//! reads the last value. `enter` orders nothing: whoever enters holds the finish open itself.

use super::super::schedule::OpenFinish;
use super::strand::Strand;
use crate::atomics::{AtomicPtr, AtomicU64, Ordering};
use crate::checker::Carried;
use std::cell::UnsafeCell;
use std::ptr::{NonNull, null_mut};

/// Alone on its cache lines, as strands and records are: workers must not disturb each other.
#[repr(align(128))]
pub(super) struct Finish {
    state: AtomicU64,
    /// Who waits.
    owner: AtomicPtr<Strand>,
    pub(super) open: OpenFinish,
    /// The next outer one of the same task.
    pub(super) outer: Option<NonNull<Finish>>,
    /// For the checker. Tasks that end look at it.
    pub(super) carried: UnsafeCell<Carried>,
}

// SAFETY: the plain fields are written while the task that opens it has it for itself. The strand
// is used by whoever the state gives it to.
unsafe impl Send for Finish {}

const TASK: u64 = 2;
const WAITING: u64 = 1;

impl Finish {
    pub(super) fn new(open: OpenFinish, outer: Option<NonNull<Finish>>) -> Finish {
        Finish {
            state: AtomicU64::new(0),
            owner: AtomicPtr::new(null_mut()),
            open,
            outer,
            carried: UnsafeCell::new(Carried::nothing()),
        }
    }

    /// Opens one that was closed, and has no tasks.
    #[inline]
    pub(super) fn open_again(&mut self, open: OpenFinish, outer: Option<NonNull<Finish>>) {
        debug_assert!(self.is_quiet());
        (self.open, self.outer) = (open, outer);
    }

    #[inline]
    pub(super) fn enter(&self) {
        self.state.fetch_add(TASK, Ordering::Relaxed);
    }

    /// A task has ended that was handed over. The owner, if it waits and need not any more.
    #[inline]
    pub(super) fn leave(&self) -> Option<NonNull<Strand>> {
        if self.state.fetch_sub(TASK, Ordering::AcqRel) != TASK | WAITING {
            return None;
        }
        // Nobody else is left.
        self.state.store(0, Ordering::Relaxed);
        NonNull::new(self.owner.load(Ordering::Relaxed))
    }

    /// Whether no task is left. Of the owner.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        self.state.load(Ordering::Acquire) == 0
    }

    /// The owner is suspended. False if no task is left: then it goes on. Otherwise it belongs to
    /// the last task from now on.
    pub(super) fn wait(&self, owner: NonNull<Strand>) -> bool {
        self.owner.store(owner.as_ptr(), Ordering::Relaxed);
        if self.state.fetch_add(WAITING, Ordering::AcqRel) != 0 {
            return true;
        }
        self.state.store(0, Ordering::Relaxed);
        false
    }
}
