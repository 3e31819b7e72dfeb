//! What an isolated block touches, in names that do not depend on the schedule.
//!
//! Two blocks *conflict* if one of them writes what the other one touches. Blocks that do not
//! conflict can be exchanged: neither sees a difference, and the state after both is the same. An
//! update `x op= e` writes, but two updates of one location by the same operation can be exchanged
//! too, if that operation is associative and commutative and nobody looks at the value in between.
//!
//! A location is named by its object and the offset in it. An object is named by the task that made
//! it and how many that task had made before. So footprints of different runs can be compared.

use super::task_names::TaskName;
use finishline_ir::BinaryOp;
use std::cmp::Ordering;

/// What a block does with one location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    Read {
        /// Whether the value may decide what else the block does.
        steers: bool,
    },
    /// It does nothing else with it than `x op= e`, by this operation.
    Update(BinaryOp),
    /// Any other use that writes.
    Write {
        /// Whether it reads the location too, and the value may decide what else it does.
        steers: bool,
    },
}

impl Touch {
    /// Whether the order of the two makes a difference.
    pub fn conflicts(self, other: Touch) -> bool {
        match (self, other) {
            (Touch::Read { .. }, Touch::Read { .. }) => false,
            (Touch::Update(a), Touch::Update(b)) => a != b,
            _ => true,
        }
    }

    /// Both, in one block.
    pub fn and(self, other: Touch) -> Touch {
        let steers = self.steers() || other.steers();
        match (self, other) {
            (Touch::Read { .. }, Touch::Read { .. }) => Touch::Read { steers },
            (Touch::Update(a), Touch::Update(b)) if a == b => self,
            _ => Touch::Write { steers },
        }
    }

    /// Whether what the block does may depend on the value.
    pub fn steers(self) -> bool {
        match self {
            Touch::Read { steers } | Touch::Write { steers } => steers,
            Touch::Update(_) => false,
        }
    }

    /// The same, if what the block does depends on every value that it reads.
    #[must_use]
    pub fn steering(self) -> Touch {
        match self {
            Touch::Read { .. } => Touch::Read { steers: true },
            Touch::Update(_) | Touch::Write { .. } => Touch::Write { steers: true },
        }
    }
}

/// A location in words that mean the same in every schedule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct NamedLocation {
    pub creator: TaskName,
    /// How many objects its creator had made before.
    pub ordinal: u32,
    pub offset: u64,
}

/// The locations that a block touches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// In the order of the locations, each of them once.
    touches: Box<[(NamedLocation, Touch)]>,
    /// A bit for each location. Footprints without a common bit have no common location.
    summary: u64,
    /// It conflicts with every block.
    everything: bool,
}

impl Footprint {
    /// The touches may come in any order. Those of one location are joined.
    pub fn new(mut touches: Vec<(NamedLocation, Touch)>) -> Footprint {
        touches.sort_by_key(|(location, _)| *location);
        touches.dedup_by(|(later, touch), (location, joined)| {
            let same = later == location;
            if same {
                *joined = joined.and(*touch);
            }
            same
        });
        let bit = |location: &NamedLocation| {
            let mixed = (u64::from(location.ordinal) ^ location.offset.rotate_left(20))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15);
            1 << (mixed >> 58)
        };
        let bits = touches.iter().map(|(location, _)| bit(location));
        Footprint {
            summary: bits.fold(0, |summary, bit| summary | bit),
            touches: touches.into(),
            everything: false,
        }
    }

    /// That of a block after which no other one can run.
    pub fn everything() -> Footprint {
        Footprint {
            everything: true,
            ..Footprint::default()
        }
    }

    pub fn conflicts(&self, other: &Footprint) -> bool {
        self.everything
            || other.everything
            || self.summary & other.summary != 0
                && self.common(other, |mine, theirs| mine.conflicts(theirs))
    }

    /// Whether a block with this footprint may do something else once `earlier` has not run.
    pub fn depends_on(&self, earlier: &Footprint) -> bool {
        let is_seen = |mine: Touch, theirs| mine.steers() && !matches!(theirs, Touch::Read { .. });
        self.everything
            || earlier.everything
            || self.summary & earlier.summary != 0 && self.common(earlier, is_seen)
    }

    /// Whether some location is touched by both in this way.
    fn common(&self, other: &Footprint, is_so: impl Fn(Touch, Touch) -> bool) -> bool {
        let (mut mine, mut theirs) = (&*self.touches, &*other.touches);
        while let ([(a, my_touch), my_rest @ ..], [(b, their_touch), their_rest @ ..]) =
            (mine, theirs)
        {
            match a.cmp(b) {
                Ordering::Less => mine = my_rest,
                Ordering::Greater => theirs = their_rest,
                Ordering::Equal if is_so(*my_touch, *their_touch) => return true,
                Ordering::Equal => (mine, theirs) = (my_rest, their_rest),
            }
        }
        false
    }
}
