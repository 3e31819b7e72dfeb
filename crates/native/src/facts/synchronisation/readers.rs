//! Whether the holders of a lock are readers, who may be inside together.
//!
//! Two holders that exclude each other are in order: the second one acquires what the first one
//! released. Two readers are in no order, though one run has them one after the other. To take
//! holders for readers who are none is a false race, so it needs evidence.
//!
//! **A share** is a hold as readers have it: who takes it looks at the value first, or adds without
//! looking, adds a power of two, and gives it up by subtracting that. Mutexes may be given up by
//! subtraction, too, but are taken by replacing a value that is known beforehand.
//!
//! **Evidence** that shares of a size don't exclude each other is one of these:
//! - A share was given up while somebody else had one.
//! - Somebody was told that another one has a share, and tried to get one too. While tasks run one
//!   after the other, this is no more than what a load of an older value tells.
//! - The lock is also held in another way, by a writer. What he adds is not between one and two
//!   shares: of so many permits in all, two could not be had together.
//!
//! Whoever holds the lock in another way, but adds as much, shows that there are no shares.

/// How a hold was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Taking {
    /// The difference to the value before.
    pub(super) more: u64,
    /// The task knew the value, or did not need to.
    pub(super) looked: bool,
}

/// What a reader adds is one, or a bit above a few flags; a writer that subtracts takes away many
/// bits.
const MOST_PER_READER: u64 = 64;

impl Taking {
    /// Whether it may have been a reader who took it.
    pub(super) fn may_be_share(self) -> bool {
        self.looked && self.more.is_power_of_two() && self.more <= MOST_PER_READER
    }
}

/// A share of a lock.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub address: u64,
    /// The value of the lock while somebody had it.
    pub held: u64,
    /// The difference to the value before.
    pub more: u64,
}

/// When a share was given up.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// The lock's value until then.
    pub(super) held: u64,
    /// The detector's stamp of the step.
    pub step: u32,
    /// The number of sequentially consistent operations before.
    pub sequential: u64,
}

/// How often a task is told that somebody else has a share, before nobody seems to look.
pub(super) const MOST_TOLD: u32 = 4;

/// The ways in which a lock has been held.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Ways {
    /// The smallest share.
    share: Option<u64>,
    /// Shares of that size were held together.
    together: bool,
    /// What was added in the first two other ways.
    others: [Option<u64>; 2],
}

impl Ways {
    /// A hold was given up, by subtracting what had been added or not.
    pub(super) fn held(&mut self, taking: Taking, subtracted: bool) {
        let Taking { more, .. } = taking;
        if !subtracted || !taking.may_be_share() {
            let others = &mut self.others;
            if !others.contains(&Some(more))
                && let Some(free) = others.iter_mut().find(|other| other.is_none())
            {
                *free = Some(more);
            }
        } else if self.share.is_none_or(|share| more < share) {
            self.share = Some(more);
            self.together = false;
        }
    }

    /// Two holds that may be shares of this size were there at the same time, or could have been.
    pub(super) fn held_together(&mut self, more: u64) {
        self.together |= self.share == Some(more);
    }

    pub(super) fn share(&self) -> Option<u64> {
        self.share
            .filter(|share| !self.others.contains(&Some(*share)))
    }

    /// What a reader adds, if shares don't exclude each other.
    pub(super) fn readers(&self) -> Option<u64> {
        self.share().filter(|share| {
            let is_writer = |more: u64| more < *share || more / 2 >= *share;
            self.together || self.others.iter().flatten().any(|more| is_writer(*more))
        })
    }
}
