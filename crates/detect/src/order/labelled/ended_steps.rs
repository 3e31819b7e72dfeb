//! Joins with steps that have ended long ago.
//!
//! A release says beforehand that others may learn of it. But tasks also follow one another on a
//! thread, and only what a later one does shows that it relies on an earlier one. Then it learns of
//! the step in which that one did its part: of all that precedes this step, and of the whole step.
//! Steps that may be learnt of so must be noted while they run.

use super::{END, Element, Labelled, Lesson, NOTHING, Piece, Set, Stamp};
use crate::Failure;
use crate::table::{Table, TableError};
use finishline_model::TaskId;

/// What the tasks of noted steps had learnt when the steps ended, plus 1.
#[derive(Debug)]
pub(super) struct EndedSteps(Table<u32>);

impl EndedSteps {
    pub(super) fn new(most: usize) -> Result<EndedSteps, TableError> {
        Table::reserve("ended steps", most).map(EndedSteps)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.0.used_bytes()
    }
}

impl Labelled {
    /// The running step of a task may be learnt of after it has ended. To be called whenever the
    /// task has learnt something, and before the step ends.
    pub(in super::super) fn note_step(&mut self, task: TaskId) -> Result<(), Failure> {
        if let Some(live) = self.live.get(&task) {
            let noted = &mut self.ended_steps.0;
            noted.grow_to(live.step as usize + 1)?;
            noted[live.step as usize] = live.mind.knows.learnt + 1;
        }
        Ok(())
    }

    /// A task learns of a step, if that was noted.
    pub(in super::super) fn learn_of_step(
        &mut self,
        task: TaskId,
        step: Stamp,
    ) -> Result<(), Failure> {
        let noted = self.ended_steps.0.get(step as usize);
        let Some(learnt) = noted.and_then(|noted| noted.checked_sub(1)) else {
            return Ok(());
        };
        let number = self.joins.set(Set {
            step: step as Element,
            learnt,
            learnt_nothing: learnt == NOTHING,
            // Who created the task is not known any more, so it leads to all that was inherited.
            creator: END,
            closed: None,
        })?;
        // It is not the latest set any more.
        self.unseen = None;
        if let Some(learner) = self.live.get_mut(&task) {
            learner.learnt_elsewhere = true;
            let lesson = Lesson {
                all: Piece::Set(number, learner.step),
                surely: Piece::Nothing,
            };
            learner.mind.learn(lesson, &mut self.joins, &self.lists)?;
        }
        Ok(())
    }
}
