//! Orders: is an earlier access parallel to the current one, in every schedule of this input?
//!
//! An order follows the task events of a depth-first run and gives every access a [`Stamp`], which
//! a history remembers. To add one: a file here, and a row in [`crate::detectors`].
//!
//! **Now.** A depth-first run has one running task at a time. Events name their task; questions do
//! not. [`Order::now`], [`Order::parallel`] and the methods beside them are about the task that
//! runs after the latest event. So an order is a state with a present, and only its driver
//! ([`crate::serial`], [`crate::inline`]) may ask it, between two events of the run.

use crate::Failure;
use finishline_model::Event;

pub mod bags;
mod contexts;
mod esp_bags;
pub mod isolation;
mod knowledge;
mod past;
mod sp_bags;
mod synchronised;

pub use contexts::Contexts;
pub use esp_bags::EspBags;
pub use sp_bags::SpBags;
pub use synchronised::Synchronised;

/// Who made an access, as far as the order needs to know.
pub type Stamp = u32;

/// No access yet: precedes everything.
pub const NOBODY: Stamp = 0;

/// What some detectors have no rule for.
pub(crate) const LOCKS: &str = "locks";
pub(crate) const RELEASES: &str = "releases and acquires";
pub(crate) const SUSPENDED: &str = "tasks that are suspended";
pub(crate) const ESCAPING: &str = "tasks that are waited for further out than they are created";

pub trait Order: Sized {
    fn new() -> Result<Self, Failure>;

    /// Follows one event of a depth-first run; accesses and allocations don't concern it.
    fn event(&mut self, event: &Event) -> Result<(), Failure>;

    /// The stamp of an access that the running task makes now. The same until the next event other
    /// than an allocation.
    fn now(&self) -> Stamp;

    /// How many stamps, from `now` on, belong to the running step: one, for an order that gives
    /// each task one stamp.
    fn own(&self) -> Stamp {
        1
    }

    /// Whether the access with this stamp may run in parallel with one made now. The answer is the
    /// same until the next event other than an allocation.
    fn parallel(&mut self, earlier: Stamp) -> bool;

    /// Whether an access with this stamp, which is parallel to one made now, is parallel to all
    /// later accesses that the one made now is parallel to. Then a read made now need not be
    /// remembered beside it: e₁ ∥ e₂ and e₂ ∥ e₃ imply e₁ ∥ e₃, in the order of the run. True of
    /// all structures of tasks in which the innermost open finish waits for each. The same until
    /// the next event other than an allocation.
    fn stands_for_now(&self, _parallel: Stamp) -> bool {
        true
    }

    /// Whether the first of two stamps that are parallel to an access made now, the earlier one, is
    /// parallel to all later accesses that the second is parallel to. It may say no where it is not
    /// known.
    fn stands_for(&mut self, _earlier: Stamp, _later: Stamp) -> bool {
        false
    }

    /// Whether the access with this stamp precedes one made now and all that are still to come. It
    /// may say no where it is not known.
    fn precedes_all(&mut self, _earlier: Stamp) -> bool {
        false
    }

    /// Whether the access with this stamp may run in parallel with one made now by the structure of
    /// tasks and finishes alone: `parallel`, unless the order knows of anything else that orders
    /// accesses.
    fn structurally_parallel(&mut self, earlier: Stamp) -> bool {
        self.parallel(earlier)
    }

    /// Whether accesses may have been ordered by anything else than structure so far.
    fn knows_more(&self) -> bool {
        false
    }

    /// A stamp such that all below it precede an access made now: `parallel` is false of them.
    /// Stamps grow with time, so what a program did in earlier phases needs no look-up. The same
    /// until the next event other than an allocation.
    fn serial_below(&self) -> Stamp;

    /// How many stamps, from `serial_below` on, are parallel to an access made now: `parallel` and
    /// `stands_for_now` are true of them. It spares tasks of one loop that read the same data the
    /// look-up of each other. The same until the next event other than an allocation.
    fn parallel_above(&self) -> Stamp;

    /// Starts over and keeps the memory.
    fn clear(&mut self);

    fn used_bytes(&self) -> usize;
}
