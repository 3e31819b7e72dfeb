//! How finely parallel iterators are divided.
//!
//! An iterator of rayon asks each half of a [`join_context`](crate::join_context) whether it has
//! migrated to another thread. If so it goes on to divide itself, because somebody had nothing else
//! to do. So *in some schedule of rayon's* every division happens that the program and the iterator
//! allow, and a run in which all halves have migrated has the task structure of such a schedule:
//! down to single items, or to what `with_min_len` asks for.
//!
//! An iterator may be divisible for ever (`iter::repeat`), and a task takes time and memory. So
//! only the first [`MOST_LEVELS`] levels of nested divisions migrate, and the first
//! [`MOST_DIVISIONS`] divisions of a process. Beyond that an iterator is divided as for the threads
//! of its pool. The runtime is told, as then items are left that this run does not tell apart.
//!
//! Divisions are counted over all threads. The counter is relaxed: it publishes nothing.

use crate::kinds::{Division, MOST_DIVISIONS, MOST_LEVELS};
use crate::runtime;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static SO_FAR: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The divisions around the running task. A visit of another thread takes it there.
    static LEVEL: Cell<u32> = const { Cell::new(0) };
}

pub(crate) fn level() -> u32 {
    LEVEL.get()
}

pub(crate) fn replace_level(level: u32) -> u32 {
    LEVEL.replace(level)
}

/// Whether an iterator that makes each item a task may make another one.
#[inline(never)]
pub fn divides_further() -> bool {
    if !runtime::divides_to_items() {
        runtime::divided(Division::Threads);
        return true;
    }
    one_more(true)
}

/// Whether there may be one more division, which is then made.
fn one_more(may_be: bool) -> bool {
    let may_be = may_be && SO_FAR.load(Relaxed) < MOST_DIVISIONS;
    if may_be {
        SO_FAR.fetch_add(1, Relaxed);
    }
    runtime::divided(match may_be {
        true => Division::Items,
        false => Division::Partly,
    });
    may_be
}

/// A division in progress: the halves run before it is dropped.
pub(crate) struct Halves {
    pub(crate) migrate: bool,
}

impl Halves {
    #[inline(never)]
    pub(crate) fn divide() -> Halves {
        let level = LEVEL.replace(LEVEL.get() + 1);
        if !runtime::divides_to_items() {
            runtime::divided(Division::Threads);
            return Halves { migrate: false };
        }
        Halves {
            migrate: one_more(level < MOST_LEVELS),
        }
    }
}

impl Drop for Halves {
    #[inline(never)]
    fn drop(&mut self) {
        LEVEL.set(LEVEL.get() - 1);
    }
}
