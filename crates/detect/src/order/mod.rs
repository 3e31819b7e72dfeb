//! Orders: is an earlier access parallel to the current one, in every schedule of this input?
//!
//! An order follows the task events of a depth-first run and gives every access a [`Stamp`], which
//! a history remembers. To add an order, add a file here and a row in [`crate::detectors`].
//!
//! **Strands.** A question is about an access that some task makes now. Which task that is, the
//! caller says by its [`Order::Strand`]: what the order keeps of the task from one event to the
//! next. So tasks may be asked about in any interleaving. A depth-first run has one running task
//! at a time, and its orders know by the latest event which one that is. Their strand is
//! [`Running`], which says nothing and costs nothing. Only the driver of such an order
//! ([`crate::serial`], [`crate::inline`]) may ask it, between two events of the run.
//!
//! Beyond [`Order::parallel`] all answers are hints that make histories smaller or faster. An order
//! that has none keeps the default.

use crate::Failure;
use finishline_model::{Event, TaskId};

pub mod bags;
mod contexts;
mod depth_first;
mod drdp;
mod esp_bags;
pub mod isolation;
mod joins;
mod labelled;
mod mind;
mod one_at_a_time;
mod sp_bags;
mod structure_tree;
mod two_lists;

pub use contexts::Contexts;
pub use depth_first::DepthFirst;
pub use drdp::{Drdp, Traversal, Visits};
pub use esp_bags::EspBags;
pub use labelled::Labelled;
pub use one_at_a_time::OneAtATime;
pub use sp_bags::SpBags;

/// Identifies the maker of an access, as far as the order needs to know.
pub type Stamp = u32;

/// No access yet: precedes everything.
pub const NOBODY: Stamp = 0;

/// A construct that some detectors have no rule for.
pub const LOCKS: &str = "locks";
pub const RELEASES: &str = "releases and acquires";
pub(crate) const SUSPENDED: &str = "tasks that are suspended";
pub const PROMISES: &str = "promises and futures";
pub(crate) const ORPHANS: &str = "tasks whose creator has ended";
pub(crate) const OUT_OF_REACH: &str = "a task that belongs to a finish out of its creator's reach";
pub const ESCAPING: &str = "tasks that are waited for further out than they are created";

/// How much work the answers of an order took.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Questions that could not be answered from a limit for stamps.
    pub questions: u64,
    /// Comparisons of two steps.
    pub comparisons: u64,
    /// Joins that were looked at.
    pub joins: u64,
}

/// The running task of a depth-first run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Running;

pub trait Order: Sized {
    /// What the order keeps of a live task until the next event. The default is nobody.
    type Strand: Copy + Default + std::fmt::Debug;

    /// Whether the order is told of depth-first runs alone. Its strands say nothing then.
    const DEPTH_FIRST: bool = size_of::<Self::Strand>() == 0;

    fn new() -> Result<Self, Failure>;

    /// Follows one event of the run. Accesses and allocations don't concern it.
    fn event(&mut self, event: &Event) -> Result<(), Failure>;

    /// Another task goes on than the one of the latest event. The orders of other than depth-first
    /// runs are told.
    fn goes_on(&mut self, _task: TaskId) -> Result<(), Failure> {
        Ok(())
    }

    /// The strand of a task that goes on now. It is good until the next event other than an
    /// allocation, and so are all answers about it.
    fn strand(&self, task: TaskId) -> Self::Strand;

    /// Whether a task is at the same moment before and after an event, so that all answers about it
    /// are the same. The answer may be false if it is unknown.
    fn is_same_moment(&self, _before: Self::Strand, _after: Self::Strand) -> bool {
        false
    }

    /// The stamp of an access that the strand makes now.
    fn stamp(&self, strand: Self::Strand) -> Stamp;

    /// The number of stamps, from that on, that belong to the strand's step. One, if the order
    /// gives each step one stamp.
    fn own(&self, _strand: Self::Strand) -> Stamp {
        1
    }

    /// Whether the access with this stamp may run in parallel with one that the strand makes now.
    fn parallel(&mut self, strand: Self::Strand, earlier: Stamp) -> bool;

    /// Whether an access with this stamp stands for one made now: it is parallel to the latter and
    /// to all later accesses that the latter is parallel to. Then a read made now need not be
    /// remembered beside it. In the order of a depth-first run e₁ ∥ e₂ and e₂ ∥ e₃ imply e₁ ∥ e₃,
    /// if the innermost open finish waits for each task.
    fn stands_for_now(&self, _strand: Self::Strand, _parallel: Stamp) -> bool {
        false
    }

    /// Whether the first of two stamps stands for the second: it is parallel to all later accesses
    /// that the second is parallel to. Both are parallel to an access made now, and the first is
    /// earlier. The answer may be false if it is unknown.
    fn stands_for(&mut self, _strand: Self::Strand, _earlier: Stamp, _later: Stamp) -> bool {
        false
    }

    /// Whether the access with this stamp precedes one made now and all later ones. The answer may
    /// be false if it is unknown.
    fn precedes_all(&mut self, _strand: Self::Strand, _earlier: Stamp) -> bool {
        false
    }

    /// Whether the access with this stamp may run in parallel with one made now, in some schedule
    /// of this input. The same as `parallel`, unless the order knows of anything else that ordered
    /// accesses in this run.
    fn structurally_parallel(&mut self, strand: Self::Strand, earlier: Stamp) -> bool {
        self.parallel(strand, earlier)
    }

    /// Whether one reader of a location does not stand for all: the run is not depth-first, or
    /// something other than structure may have ordered accesses so far.
    fn knows_more(&self, _strand: Self::Strand) -> bool {
        true
    }

    /// A limit for stamps: all smaller ones precede an access made now, so `parallel` is false for
    /// them. Stamps grow with time, so accesses of earlier phases need no look-up.
    fn serial_below(&self, _strand: Self::Strand) -> Stamp {
        NOBODY + 1
    }

    /// The number of stamps from `serial_below` on that are known to be parallel to an access made
    /// now: `parallel` and `stands_for_now` are true for them. Tasks of one loop that read the same
    /// data need no look-up of each other.
    fn parallel_above(&self, _strand: Self::Strand) -> Stamp {
        0
    }

    /// The work that the answers took, if the order counts it.
    fn effort(&self) -> Effort {
        Effort::default()
    }

    /// Starts over and keeps the memory.
    fn clear(&mut self);

    fn used_bytes(&self) -> usize;
}
