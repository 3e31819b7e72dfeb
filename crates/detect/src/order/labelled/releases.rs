//! Releases and acquires of native programs: joins of this run, which other schedules may not have.
//!
//! A release is a set, and an object holds one or several of them. What it holds can be handed on
//! to another object, acquired for good, or glimpsed until the glimpse ends.
//!
//! **Glimpses.** A glimpse leaves the steps of the task in one piece, but not what it knows. So a
//! task that was created during a glimpse may have inherited what its creator does not know later.
//! All that such a task has learnt is passed on, not only what it has learnt itself.
//!
//! **Loops over an atomic variable** release and acquire it again and again. If no other task has
//! done anything in between, nobody can tell two releases of one object from the later one alone,
//! and what is acquired once more tells nothing new. So such a round costs a step, 36 bytes.

use super::{
    Chain, Extent, Labelled, Learnt, Lesson, Moment, NOTHING, Piece, SetNumber, Side, Stamp,
};
use crate::Failure;
use crate::table::{TableError, make_room_in};
use finishline_model::{ObjectId, TaskId};

/// What an object holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Held {
    Set(SetNumber),
    /// A chain that belongs to no task.
    Several(Learnt),
}

/// A release that no other task has seen yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unseen {
    pub(super) task: TaskId,
    object: ObjectId,
    number: SetNumber,
}

impl Labelled {
    pub(super) fn release(
        &mut self,
        task: TaskId,
        object: ObjectId,
        continues: bool,
    ) -> Result<(), Failure> {
        let Some(&releaser) = self.live.get(&task) else {
            return Ok(());
        };
        let set = self.set_by(&releaser);
        let held = self.objects.get(&object).copied();
        match self.unseen {
            // Nobody can tell it from the earlier one, so it takes its place. But the task itself
            // may have learnt of that one, and must not learn so for good what it glimpses.
            Some(last) if last.object == object && !releaser.mind.glimpses() => {
                self.sets_before[releaser.step as usize] = last.number;
                let several = match held {
                    Some(Held::Several(learnt)) => Some(learnt),
                    _ => None,
                };
                self.joins.move_latest(set, several, &self.lists);
                if !continues {
                    self.objects.insert(object, Held::Set(last.number));
                }
            }
            _ => {
                self.end_step(releaser.step);
                let number = self.joins.set(set)?;
                self.released.grow_to(number as usize + 1)?;
                self.released[number as usize] = object.0.wrapping_add(1);
                self.put(object, Held::Set(number), continues)?;
                self.unseen = Some(Unseen {
                    task,
                    object,
                    number,
                });
            }
        }
        let next = self.step_after(releaser.step, Side::Near)?;
        if let Some(releaser) = self.task(task) {
            releaser.step = next;
        }
        Ok(())
    }

    /// The object of the first release after a stamp that a task knows of at this moment.
    pub(in super::super) fn passed_on_by(
        &mut self,
        now: Moment,
        earlier: Stamp,
    ) -> Option<ObjectId> {
        let oldest = self.sets_before[earlier as usize];
        let set = self
            .joins
            .first_of(earlier, oldest, now.learnt, &self.lists)?;
        let object = self.released.get(set as usize).copied()?;
        object.checked_sub(1).map(ObjectId)
    }

    /// Puts something into an object. With `continues` the earlier contents stay too.
    fn put(&mut self, object: ObjectId, held: Held, continues: bool) -> Result<(), Failure> {
        let before = self.objects.get(&object).copied().filter(|_| continues);
        let held = match before {
            None => held,
            Some(before) => {
                let both = self.collect(NOTHING, before)?;
                Held::Several(self.collect(both, held)?)
            }
        };
        make_room_in(&mut self.objects, "objects")?;
        self.objects.insert(object, held);
        Ok(())
    }

    /// Adds to a chain that belongs to no task.
    fn collect(&mut self, learnt: Learnt, held: Held) -> Result<Learnt, TableError> {
        let chain = Chain::of_nobody(learnt);
        let chain = match held {
            Held::Set(number) => self.joins.hold(chain, number, &self.lists)?,
            Held::Several(first) if learnt == NOTHING => return Ok(first),
            Held::Several(other) => {
                let joins = &mut self.joins;
                joins.join(chain, other, Extent::Own, &self.lists)?
            }
        };
        Ok(chain.learnt)
    }

    /// The contents of an object are handed on.
    pub(super) fn relay(
        &mut self,
        from: ObjectId,
        to: ObjectId,
        continues: bool,
    ) -> Result<(), Failure> {
        match self.objects.get(&from).copied() {
            Some(held) => self.put(to, held, continues),
            None => {
                if !continues {
                    self.objects.remove(&to);
                }
                Ok(())
            }
        }
    }

    /// What an object holds is learnt, for good or until the end of the glimpse.
    pub(super) fn acquire(
        &mut self,
        task: TaskId,
        object: ObjectId,
        glimpse: bool,
    ) -> Result<(), Failure> {
        let Some(learner) = self.live.get_mut(&task) else {
            return Ok(());
        };
        learner.learnt_elsewhere = true;
        let held = self.objects.get(&object).copied();
        let own = self.unseen.map(|last| Held::Set(last.number));
        let piece = match held {
            None => Piece::Nothing,
            // What it has released itself, or has acquired before, tells nothing new.
            Some(_) if held == own || held == learner.acquired => Piece::Nothing,
            Some(Held::Set(number)) => Piece::Set(number, learner.step),
            Some(Held::Several(several)) => Piece::Others(several, Extent::Own),
        };
        let (mind, joins, lists) = (&mut learner.mind, &mut self.joins, &self.lists);
        match glimpse {
            true => {
                mind.begin_glimpse();
                mind.glimpse(piece, joins, lists)?;
            }
            false => {
                let lesson = Lesson {
                    all: piece,
                    surely: Piece::Nothing,
                };
                mind.learn(lesson, joins, lists)?;
                learner.acquired = held;
            }
        }
        Ok(())
    }

    pub(super) fn end_glimpse(&mut self, task: TaskId, keep: bool) {
        if let Some(task) = self.task(task) {
            task.mind.end_glimpse(keep);
        }
    }
}
