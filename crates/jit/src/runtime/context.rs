//! What compiled code and the runtime share by address.
//!
//! Every compiled function gets the address of the [`Context`] as its first argument, and passes it
//! to the functions of the runtime. The context knows the [runtime](super::Runtime), and the
//! runtime knows the context of the code that runs.

use super::seen::Seen;
use finishline_detect::inline::FastPath;
use finishline_detect::order::{NOBODY, Stamp};
use finishline_detect::parallel::phases::{FirstAccess, PhaseWords};
use finishline_detect::parallel::spans::Calm;
use finishline_detect::parallel::{NO_STAMP, Outcomes};
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, null, null_mut};
use std::sync::atomic::AtomicU64;

/// So many first accesses are known.
pub(super) const FIRSTS: usize = 8;

/// So many cells are known, each for some of the sites.
pub(crate) const KNOWN: usize = 8;
/// No cell is like that.
const NONE_KNOWN: [u64; KNOWN] = [u64::MAX; KNOWN];

/// Cells that reads of a step leave as they are, by site.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Known {
    step: Stamp,
    pub(crate) left: [u64; KNOWN],
}

impl Known {
    const NOTHING: Known = Known {
        step: NO_STAMP,
        left: NONE_KNOWN,
    };
}

#[repr(C)]
pub(crate) struct Context {
    /// What checks compare cells with.
    pub(crate) fast: FastPath,
    /// What they compare objects with before.
    pub(crate) phase: PhaseWords,
    // Of cells of one word in a parallel run.
    /// The latest first accesses by kind, each for some of the makers.
    pub(super) firsts: [[FirstAccess; FIRSTS]; 2],
    /// Accesses with smaller stamps precede whatever follows in any task. None if the step has no
    /// stamp.
    pub(super) past: Stamp,
    /// What becomes of cells, as the worker knows.
    pub(super) outcomes: *const Outcomes<u64>,
    /// How many [spans](finishline_detect::parallel::spans) were opened so far, and when none was
    /// open.
    pub(super) opened_spans: *const AtomicU64,
    pub(super) calm: Calm,
    pub(crate) known: Known,
    /// What was known in the step that ran before under other locks.
    aside: Known,

    /// The object of global variables.
    pub(crate) globals: u64,
    /// What live frames and tasks may take, by what is left of the budget and by the room on the
    /// stack. Compiled code carries the sum of those in a register.
    ///
    /// Another worker that has raised a signal makes it 0, so that the next call asks for room.
    pub(crate) stack_limit: AtomicU64,
    /// Accesses checked so far, but for those the running functions have not yet added.
    pub(crate) accesses: u64,

    // Of programs in which tasks may have stacks of their own.
    /// Where the runtime's functions begin on the worker's stack.
    pub(crate) worker_pointer: u64,
    /// Where the running strand left its stack to call the runtime. The strand that is there when
    /// the runtime's function returns goes on.
    pub(crate) strand_pointer: u64,
    /// The bytes of frames and tasks on the running stack, noted before what may suspend it or ask
    /// for more room.
    pub(crate) stack: u64,

    /// Ranges that need no check, and how many checks that spared, of how many locations.
    pub(super) seen: *mut Seen,
    pub(super) spared_checks: u64,
    pub(super) spared_locations: u64,
    /// The runtime of the worker that runs the code.
    pub(super) runtime: *mut (),
}

impl Context {
    /// Another step runs: what becomes of cells is not known.
    #[inline]
    pub(super) fn forget_known(&mut self) {
        self.known = Known::NOTHING;
        self.aside.step = NO_STAMP;
    }

    /// The running step goes on under other locks, with this stamp or with none yet. What is known
    /// without them is used again when they are given up, and the other way round.
    pub(super) fn set_known_aside(&mut self, before: Stamp, now: Stamp) {
        self.known.step = before;
        std::mem::swap(&mut self.known, &mut self.aside);
        if now == NO_STAMP || self.known.step != now {
            self.known.left = NONE_KNOWN;
        }
    }

    /// Of code that does not run.
    pub(crate) const fn new() -> Context {
        Context {
            fast: FastPath::IDLE,
            phase: PhaseWords::NONE,
            firsts: [[FirstAccess::NONE; FIRSTS]; 2],
            past: NOBODY,
            outcomes: null(),
            opened_spans: null(),
            calm: Calm::UNKNOWN,
            known: Known::NOTHING,
            aside: Known::NOTHING,
            globals: 0,
            stack_limit: AtomicU64::new(0),
            accesses: 0,
            worker_pointer: 0,
            strand_pointer: 0,
            stack: 0,
            seen: null_mut(),
            spared_checks: 0,
            spared_locations: 0,
            runtime: null_mut(),
        }
    }
}

/// The context of the code that a runtime's worker runs.
pub(super) struct Current(NonNull<Context>);

impl Current {
    /// # Safety
    ///
    /// The context must live as long as the value, and compiled code alone may use it otherwise,
    /// while the runtime does not.
    pub(super) unsafe fn new(context: NonNull<Context>) -> Current {
        Current(context)
    }

    pub(super) fn as_ptr(&self) -> *mut Context {
        self.0.as_ptr()
    }
}

impl Deref for Current {
    type Target = Context;

    #[inline]
    fn deref(&self) -> &Context {
        // SAFETY: alive and not in use, as promised.
        unsafe { self.0.as_ref() }
    }
}

impl DerefMut for Current {
    #[inline]
    fn deref_mut(&mut self) -> &mut Context {
        // SAFETY: alive and not in use, as promised.
        unsafe { self.0.as_mut() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word that the context knows is used by the step that has noted it, and by no other one.
    #[test]
    fn what_is_known_belongs_to_one_step() {
        const UNLOCKED: Stamp = 5;
        const LOCKED: Stamp = 6;
        const LOCKED_OTHERWISE: Stamp = 7;
        const NOTHING: u64 = u64::MAX;
        let mut context = Context::new();
        context.known.left[0] = 50;
        let is_known = |context: &Context, left: u64| assert_eq!(context.known.left[0], left);
        context.set_known_aside(UNLOCKED, NO_STAMP);
        is_known(&context, NOTHING);
        context.known.left[0] = 60;
        context.set_known_aside(LOCKED, UNLOCKED);
        is_known(&context, 50);
        context.set_known_aside(UNLOCKED, LOCKED);
        is_known(&context, 60);
        context.set_known_aside(LOCKED, UNLOCKED);
        // The other bank is that of another lock.
        context.set_known_aside(UNLOCKED, LOCKED_OTHERWISE);
        is_known(&context, NOTHING);
        context.forget_known();
        context.set_known_aside(NO_STAMP, UNLOCKED);
        is_known(&context, NOTHING);
    }
}
