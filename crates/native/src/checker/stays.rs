//! Which thread a task is on, and what that excuses.
//!
//! Tasks run on the stack of their creator, but they may be on another thread: they then find that
//! thread's variables ([`crate::process`] says how). A thread is a number here. The threads of the
//! program have one each, and so have threads that only lend their variables. A **stay** on a
//! thread begins and ends as tasks do, one inside the other; the innermost one counts.
//!
//! **What a program keeps by thread.** Two tasks on one thread never run at the same time. But
//! another schedule may have them on two threads, so they count as unordered. If they conflict, the
//! bytes may be a slot that the program has for each thread, and then there is no conflict on two
//! threads. Or they may be shared, and race there. Nothing in this run tells the two apart, except
//! that a program can't find the slot of its thread without asking which one it is on. So a stay
//! remembers whether the program **asked**: it used a variable of the thread, or called a function
//! that tells one thread from another. If both stays asked before their accesses, the conflict is
//! no race, and is counted as ordered by the thread. What is really shared conflicts between tasks
//! on different threads too, in nearly all programs, because siblings are on different threads as
//! far as there are enough. A cell remembers few accesses, so of three that conflict, the first may
//! be forgotten for the second on its thread, and the third, on another thread, conflicts with
//! neither. The verdict says that it rests on threads.
//!
//! While nothing is parallel, accesses are not looked at. So a stay that begins then may have
//! asked.
//!
//! **What is kept is relied on.** The first task of a thread may enter it into a shared list and
//! keep the handle. A later one on the thread reads the handle and uses the list, in order with all
//! that the first one had acquired to enter it. So whoever reads what a task on the same thread has
//! kept learns of the step in which it was written, and of what that step knew
//! ([`learn_of`](finishline_detect::inline::Inline::learn_of)). What follows from that alone is
//! ordered by the thread as well.
//!
//! **A thread's own variables** belong to it: two stays on the thread conflict there in no
//! schedule, and to use one is to ask. A stay on another thread that got the address of one
//! conflicts with the thread's own stays.

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
        // The latest thread that has them is the one that lives.
        let is_over = |other: &&mut Range<u64>| {
            other.start < thread_locals.end && thread_locals.start < other.end
        };
        for over in self.of_threads.iter_mut().filter(is_over) {
            *over = 0..0;
        }
        self.of_threads.push(thread_locals);
        self.of_threads.len() as u32 - 1
    }

    pub(super) fn of(&self, thread: u32) -> Range<u64> {
        self.of_threads[thread as usize].clone()
    }

    /// Whether an address is a variable of some thread.
    pub(super) fn contain(&self, address: u64) -> bool {
        self.of_threads.iter().any(|own| own.contains(&address))
    }
}

/// A task's time on a thread, up to a certain access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Stay {
    pub(super) thread: u32,
    asked: bool,
    /// The program was seen to ask.
    seen: bool,
}

impl Stay {
    /// Whether two accesses may only conflict because their tasks were on one thread.
    pub(super) fn excuses(self, other: Stay) -> bool {
        self.thread == other.thread && self.asked && other.asked
    }
}

/// The stays of a thread of the program, the innermost one last. The first is on itself.
#[derive(Debug)]
pub(super) struct Stays(Vec<Stay>);

impl Stays {
    /// Of a thread with this number.
    pub(super) fn on(thread: u32) -> Stays {
        Stays(vec![Stay {
            thread,
            asked: false,
            seen: false,
        }])
    }

    #[inline]
    pub(super) fn innermost(&self) -> Stay {
        self.0[self.0.len() - 1]
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
        self.thread.stays.innermost().thread
    }

    /// What follows is on this thread.
    pub fn begin_stay(&mut self, thread: u32) {
        self.note(|| Call::StayBegin(thread));
        self.look_around(0);
        self.note_step();
        self.thread.stays.0.push(Stay {
            thread,
            asked: self.glance.is_alone(),
            seen: false,
        });
        self.begin_part();
    }

    /// Back to the thread before.
    pub fn end_stay(&mut self) {
        self.note(|| Call::StayEnd);
        self.look_around(0);
        self.note_step();
        self.thread.stays.0.pop();
        self.begin_part();
    }

    /// Accesses from here on are on another thread than those before.
    fn begin_part(&mut self) {
        self.thread.thread_locals = self.variables.of(self.current_thread());
        self.glance
            .set_thread_locals(self.thread.thread_locals.clone());
        self.detection.detector.begin_part();
    }

    /// Whether the running task is on another thread than its own.
    pub fn has_stay(&self) -> bool {
        self.thread.stays.0.len() > 1
    }

    /// The program asks which thread it is on.
    pub fn asks(&mut self) {
        if !self.thread.stays.innermost().seen {
            self.note(|| Call::Asks);
            self.has_asked();
        }
    }

    /// An access to this address is made, perhaps of a variable of the thread.
    #[inline]
    pub(super) fn asks_by_access(&mut self, address: u64) {
        if self.thread.thread_locals.contains(&address) {
            self.has_asked();
        }
    }

    fn has_asked(&mut self) {
        if let Some(innermost) = self.thread.stays.0.last_mut() {
            innermost.asked = true;
            innermost.seen = true;
        }
    }

    /// The running step may end, and others on its thread may rely on it. Tasks that don't ask
    /// keep nothing by thread.
    #[inline]
    pub(super) fn note_step(&mut self) {
        if self.has_stay() && self.thread.stays.innermost().seen {
            self.detection.detector.note_step();
        }
    }
}
