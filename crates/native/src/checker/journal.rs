//! What the checker is told, kept for later or repeated from there.
//!
//! The checker is a function of what it is told, and of the answers that the process gives when it
//! is asked about memory. So a recording has the calls of all methods that change the checker, and
//! these answers. A checker in another process that is told the same, and gets the answers instead
//! of asking, finds the same ([`crate::checker::replay`]).
//!
//! Entering and leaving functions is not recorded. Each call comes with the functions in progress,
//! as far as they have changed. The checker knows how many have not been left since it last
//! numbered them all ([`CallStack::left_since`](crate::facts::calls::CallStack::left_since)), which
//! it does inside of recorded calls only. So the repetition has numbered the same functions, and
//! needs to be told about the others alone.
//!
//! Accesses that repeat what the running step did before are decided without the checker, and are
//! not recorded.

use super::{Checker, Here};
use crate::facts::synchronisation::{How, Operation};
use finishline_model::AccessKind;
use finishline_trace::process::{self, Call, Change, Recorder};
use std::collections::VecDeque;
use std::io::Write;

#[derive(Default)]
pub enum Journal {
    #[default]
    Off,
    Recording(Box<Recorder<Box<dyn Write>>>),
    /// The answers that the process gave during this call.
    Repeating(VecDeque<bool>),
}

impl Checker {
    /// Notes a call of one of the checker's methods, before it changes anything.
    #[inline(always)]
    pub(super) fn note(&mut self, call: impl FnOnce() -> Call) {
        if let Journal::Recording(_) = self.journal {
            self.record(&call());
        }
    }

    #[cold]
    #[inline(never)]
    fn record(&mut self, call: &Call) {
        if let Journal::Recording(recorder) = &mut self.journal {
            let stack = self.calls.stack();
            recorder.call(call, stack.left_since(), stack.active());
        }
    }

    #[inline(always)]
    pub(super) fn note_access(
        &mut self,
        kind: AccessKind,
        address: u64,
        bytes: usize,
        here: Here,
        is_range: bool,
    ) {
        if let Journal::Recording(_) = self.journal {
            let lower = here.stack_pointer < self.thread.lowest;
            self.record(&Call::Access {
                kind,
                address,
                bytes: bytes as u64,
                place: here.place,
                is_range,
                lower: lower.then_some(here.stack_pointer),
            });
        }
    }

    /// Asks the process, or whoever repeats its answers.
    pub(super) fn ask(&mut self, question: impl FnOnce(&Checker) -> bool) -> bool {
        if let Journal::Repeating(answers) = &mut self.journal {
            return answers.pop_front().unwrap_or(false);
        }
        let answer = question(self);
        if let Journal::Recording(recorder) = &mut self.journal {
            recorder.answer(answer);
        }
        answer
    }
}

/// An operation as a recording has it.
pub(super) fn recorded(operation: &Operation) -> process::Operation {
    process::Operation {
        address: operation.address,
        before: operation.before,
        after: operation.after,
        change: match operation.how {
            How::Replaced => Change::Replaced,
            How::Counted => Change::Counted,
            How::Flagged => Change::Flagged,
        },
        acquires: operation.acquires,
        releases: operation.releases,
    }
}
