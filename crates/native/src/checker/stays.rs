//! Which thread a task is on.
//!
//! Tasks run on the stack of their creator, but they may be on another thread: they then find that
//! thread's variables ([`crate::process`] says how). A thread is a number here. The threads of the
//! program have one each, and so have threads that only lend their variables. A **stay** on a
//! thread begins and ends as tasks do, one inside the other; the innermost one counts.

use super::Checker;
use finishline_trace::process::Call;
use std::ops::Range;

/// All threads that a task can be on.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// By number of the thread: its thread-local variables.
    of_threads: Vec<Range<u64>>,
}

impl Variables {
    /// Another thread, which has these thread-local variables. Its number.
    pub(super) fn add(&mut self, thread_locals: Range<u64>) -> u32 {
        self.of_threads.push(thread_locals);
        self.of_threads.len() as u32 - 1
    }

    pub(super) fn of(&self, thread: u32) -> Range<u64> {
        self.of_threads[thread as usize].clone()
    }
}

/// The stays of a thread of the program, the innermost one last. The first is on itself.
#[derive(Debug)]
pub(super) struct Stays(Vec<u32>);

impl Stays {
    pub(super) fn on(thread: u32) -> Stays {
        Stays(vec![thread])
    }

    fn innermost(&self) -> u32 {
        self.0.last().copied().unwrap_or_default()
    }
}

impl Checker {
    /// There is a thread that tasks can be on, which does nothing else. Its number.
    pub fn new_thread(&mut self, thread_locals: Range<u64>) -> u32 {
        self.note(|| Call::LenderBegin(thread_locals.clone()));
        // An ended thread may have had them.
        let Range { start, end } = thread_locals;
        self.forget(start, end - start);
        self.variables.add(thread_locals)
    }

    /// Whether there is a thread of this number.
    pub fn has_thread(&self, thread: u32) -> bool {
        (thread as usize) < self.variables.of_threads.len()
    }

    /// The number of the thread that the running task is on.
    pub fn current_thread(&self) -> u32 {
        self.thread.stays.innermost()
    }

    /// What follows is on this thread.
    pub fn begin_stay(&mut self, thread: u32) {
        self.note(|| Call::StayBegin(thread));
        self.look_around(0);
        self.thread.stays.0.push(thread);
        self.thread.thread_locals = self.variables.of(thread);
    }

    /// Back to the thread before.
    pub fn end_stay(&mut self) {
        self.note(|| Call::StayEnd);
        self.look_around(0);
        self.thread.stays.0.pop();
        self.thread.thread_locals = self.variables.of(self.thread.stays.innermost());
    }

    /// Whether the running task is on another thread than its own.
    pub fn has_stay(&self) -> bool {
        self.thread.stays.0.len() > 1
    }
}
