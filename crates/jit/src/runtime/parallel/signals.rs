//! The signals to all workers, and how they reach code that does not look at them.
//!
//! Compiled code looks at the signals in loops, and the runtime wherever it waits. Calls need not
//! look: whoever raises a signal takes away the [room](Signals::take_room) on the stacks that run,
//! and a function without room asks the runtime. The worker may give back the room at the same
//! moment, so this is repeated until all have heeded the signal.
//!
//! **Memory orderings.** A signal orders nothing, so it is relaxed. A worker that rests, and one
//! that leaves the program, takes the crew's lock before anybody relies on that. A signal that is
//! seen late is seen when the room is taken again, and one that is lowered meanwhile makes nobody
//! wait. The context of the code that runs is released by its worker and acquired by whoever takes
//! its room: it may have been made a moment ago. Rooms are amounts, and order nothing.

use super::super::context::Context;
use crate::atomics::{AtomicPtr, AtomicU32, Ordering};
use crossbeam_utils::CachePadded;
use std::ptr;

/// All workers but one are to rest.
pub(super) const STOP: u32 = 1;
/// All workers are to leave the program.
pub(super) const OVER: u32 = 2;

pub(super) struct Signals<'a> {
    /// Read by compiled code.
    raised: &'a AtomicU32,
    /// By worker, the context of the code that it runs, or ran last.
    running: Vec<CachePadded<AtomicPtr<Context>>>,
}

impl<'a> Signals<'a> {
    pub(super) fn new(workers: usize, raised: &'a AtomicU32) -> Signals<'a> {
        raised.store(0, Ordering::Relaxed);
        let nothing = || CachePadded::new(AtomicPtr::new(ptr::null_mut()));
        Signals {
            raised,
            running: (0..workers).map(|_| nothing()).collect(),
        }
    }

    #[inline]
    pub(super) fn raised(&self) -> u32 {
        self.raised.load(Ordering::Relaxed)
    }

    pub(super) fn raise(&self, signal: u32) {
        self.raised.fetch_or(signal, Ordering::Relaxed);
    }

    pub(super) fn lower(&self, signal: u32) {
        self.raised.fetch_and(!signal, Ordering::Relaxed);
    }

    /// A worker runs code with this context.
    #[inline]
    pub(super) fn runs(&self, worker: usize, context: *mut Context) {
        self.running[worker].store(context, Ordering::Release);
    }

    /// Takes away the room on all stacks that run.
    pub(super) fn take_room(&self) {
        for context in &self.running {
            // SAFETY: a context is null, or that of a strand, which lives as long as the crew. The
            // limit is only touched by atomic operations, and by loads of compiled code.
            if let Some(context) = unsafe { context.load(Ordering::Acquire).as_ref() } {
                context.stack_limit.store(0, Ordering::Relaxed);
            }
        }
    }
}
