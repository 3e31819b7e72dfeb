//! A run in which every task has its turn.
//!
//! A task that never ends, or takes long, keeps a depth-first run from all that comes behind it.
//! Here each task makes some steps and then goes to the end of the queue. A task that waits loses
//! the rest of its turn. So every task that can go on does.

use crate::run::Schedule;
use finishline_ir::machine::{Machine, Progress};
use finishline_model::TaskId;
use std::collections::VecDeque;

/// The steps of a turn.
const TURN: u32 = 64;

/// The tasks under way but for the running one, in the order of their turns.
#[derive(Default)]
pub struct Turns {
    waiting: VecDeque<TaskId>,
    /// The steps that the running task has made in its turn.
    made: u32,
    /// The turns in a row in which the task had to wait.
    blocked: usize,
}

impl Turns {
    /// The turn of the next task; of `current` again after all others.
    fn pass(&mut self, current: TaskId) -> Option<TaskId> {
        self.waiting.push_back(current);
        self.made = 0;
        self.waiting.pop_front()
    }
}

impl Schedule for Turns {
    fn next(&mut self, current: TaskId, progress: Progress, _: &Machine<'_>) -> Option<TaskId> {
        self.blocked = match progress {
            Progress::Blocked => self.blocked + 1,
            _ => 0,
        };
        if self.blocked > self.waiting.len() {
            return None;
        }
        if let Progress::Created(task) = progress {
            self.waiting.push_back(task);
        }
        self.made += 1;
        match progress {
            Progress::Ended => {
                self.made = 0;
                self.waiting.pop_front()
            }
            Progress::Blocked => self.pass(current),
            Progress::Continue
            | Progress::Created(_)
            | Progress::Set(_)
            | Progress::Released(_) => match self.made < TURN {
                true => Some(current),
                false => self.pass(current),
            },
        }
    }
}
