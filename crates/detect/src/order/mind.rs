//! What a task has learnt by joins: all of it, the part that belongs to the structure, and the part
//! that outlasts a glimpse.
//!
//! **Structure.** A promise orders its set before its gets in every schedule. A release of another
//! object is acquired in this run, and perhaps not in another one. So questions about structure
//! follow a chain of their own, without acquires. As long as nothing was acquired it is the same
//! chain, and is not kept twice.
//!
//! **Glimpses.** What is glimpsed is known until the glimpse ends. During a glimpse there is a
//! chain without it, to which the task returns. All that is learnt for good goes into both.

use super::joins::{Chain, Extent, Joins, Learnt, NOTHING, SetNumber};
use super::two_lists::{Element, TwoLists};
use crate::table::TableError;

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Mind {
    pub(super) knows: Chain,
    /// The part that belongs to the structure. None: all of it.
    surely: Option<Chain>,
    /// During a glimpse, the part that was not glimpsed.
    firmly: Option<Chain>,
}

/// Something that can be learnt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// Nothing at all.
    Nothing,
    /// A set, by a task in this step.
    Set(SetNumber, Element),
    /// What another task has learnt, or a chain that belongs to no task.
    Others(Learnt, Extent),
}

/// Something that can be learnt, and the part of it that belongs to the structure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lesson {
    pub(super) all: Piece,
    pub(super) surely: Piece,
}

impl Mind {
    /// That of a task which is created by the one with this mind.
    pub(super) fn of_child(self) -> Mind {
        Mind {
            knows: self.knows.of_child(),
            surely: self.surely.map(Chain::of_child),
            firmly: None,
        }
    }

    pub(super) fn glimpses(&self) -> bool {
        self.firmly.is_some()
    }

    /// What it knows that belongs to the structure.
    pub(super) fn surely(&self) -> Chain {
        self.surely.unwrap_or(self.knows)
    }

    /// Whether it knows anything else.
    pub(super) fn knows_more(&self) -> bool {
        self.surely.is_some()
    }

    /// What those learn that join a task with this mind, and what a finish passes on.
    pub(super) fn lesson(&self, extent: Extent) -> Lesson {
        let all = Piece::Others(self.knows.learnt, extent);
        let surely = match self.surely {
            None => all,
            Some(chain) if chain.has_learnt() => Piece::Others(chain.learnt, Extent::Own),
            Some(_) => Piece::Nothing,
        };
        Lesson { all, surely }
    }

    pub(super) fn begin_glimpse(&mut self) {
        self.firmly.get_or_insert(self.knows);
    }

    pub(super) fn end_glimpse(&mut self, keep: bool) {
        if let Some(firmly) = self.firmly.take()
            && !keep
        {
            self.knows = firmly;
        }
    }

    /// Everything so far precedes what follows.
    pub(super) fn forget(&mut self) {
        *self = Mind {
            firmly: self.firmly.map(|_| Chain::default()),
            ..Mind::default()
        };
    }

    /// Learns for good.
    pub(super) fn learn(
        &mut self,
        lesson: Lesson,
        joins: &mut Joins,
        lists: &TwoLists,
    ) -> Result<(), TableError> {
        if lesson.all != lesson.surely {
            self.surely.get_or_insert(self.knows);
        }
        let mut add = |chain, piece| piece_added(chain, piece, joins, lists);
        self.surely = self.surely.map(|it| add(it, lesson.surely)).transpose()?;
        self.firmly = self.firmly.map(|it| add(it, lesson.all)).transpose()?;
        self.knows = add(self.knows, lesson.all)?;
        Ok(())
    }

    /// Learns until the end of the glimpse.
    pub(super) fn glimpse(
        &mut self,
        piece: Piece,
        joins: &mut Joins,
        lists: &TwoLists,
    ) -> Result<(), TableError> {
        self.surely.get_or_insert(self.knows);
        self.knows = piece_added(self.knows, piece, joins, lists)?;
        Ok(())
    }

    /// Learns of a set in place of all that it has learnt itself.
    pub(super) fn learn_alone(
        &mut self,
        set: SetNumber,
        joins: &mut Joins,
        lists: &TwoLists,
    ) -> Result<(), TableError> {
        debug_assert!(!self.glimpses());
        let mut alone = |chain| joins.get_alone(chain, set, lists);
        self.surely = self.surely.map(&mut alone).transpose()?;
        self.knows = alone(self.knows)?;
        Ok(())
    }
}

fn piece_added(
    chain: Chain,
    piece: Piece,
    joins: &mut Joins,
    lists: &TwoLists,
) -> Result<Chain, TableError> {
    match piece {
        Piece::Nothing | Piece::Others(NOTHING, _) => Ok(chain),
        Piece::Set(number, step) => joins.get(chain, number, step, lists),
        Piece::Others(learnt, extent) => joins.join(chain, learnt, extent, lists),
    }
}
