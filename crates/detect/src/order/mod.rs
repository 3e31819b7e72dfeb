//! Orders: is an earlier access parallel to the current one, in every schedule of this input?
//!
//! An order follows the task events of a depth-first run and gives every access a [`Stamp`], which
//! a history remembers. To add an order, add a file here and a row in [`crate::detectors`].
//!
//! **Now.** A depth-first run has one running task at a time. Events name their task, but questions
//! do not. [`Order::now`], [`Order::parallel`] and the related methods are about the task that runs
//! after the latest event. So only the driver of an order ([`crate::serial`], [`crate::inline`])
//! may ask it, between two events of the run.

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

/// Identifies the maker of an access, as far as the order needs to know.
pub type Stamp = u32;

/// No access yet: precedes everything.
pub const NOBODY: Stamp = 0;

/// A construct that some detectors have no rule for.
pub(crate) const LOCKS: &str = "locks";
pub(crate) const RELEASES: &str = "releases and acquires";
pub(crate) const SUSPENDED: &str = "tasks that are suspended";
pub(crate) const ESCAPING: &str = "tasks that are waited for further out than they are created";

pub trait Order: Sized {
    fn new() -> Result<Self, Failure>;

    /// Follows one event of a depth-first run. Accesses and allocations don't concern it.
    fn event(&mut self, event: &Event) -> Result<(), Failure>;

    /// The stamp of an access that the running task makes now. It stays the same until the next
    /// event other than an allocation.
    fn now(&self) -> Stamp;

    /// The number of stamps, from `now` on, that belong to the running step. One, if the order
    /// gives each task one stamp.
    fn own(&self) -> Stamp {
        1
    }

    /// Whether the access with this stamp may run in parallel with one made now. The answer is the
    /// same until the next event other than an allocation.
    fn parallel(&mut self, earlier: Stamp) -> bool;

    /// Whether an access with this stamp stands for one made now: it is parallel to the latter and
    /// to all later accesses that the latter is parallel to. Then a read made now need not be
    /// remembered beside it: e₁ ∥ e₂ and e₂ ∥ e₃ imply e₁ ∥ e₃, in the order of the run. This holds
    /// if the innermost open finish waits for each task. The answer is the same until the next
    /// event other than an allocation.
    fn stands_for_now(&self, _parallel: Stamp) -> bool {
        true
    }

    /// Whether the first of two stamps stands for the second: it is parallel to all later accesses
    /// that the second is parallel to. Both are parallel to an access made now, and the first is
    /// earlier. The answer may be false if it is unknown.
    fn stands_for(&mut self, _earlier: Stamp, _later: Stamp) -> bool {
        false
    }

    /// Whether the access with this stamp precedes one made now and all later ones. The answer may
    /// be false if it is unknown.
    fn precedes_all(&mut self, _earlier: Stamp) -> bool {
        false
    }

    /// Whether the access with this stamp may run in parallel with one made now, by the structure
    /// of tasks and finishes alone. The same as `parallel`, unless the order knows of anything else
    /// that orders accesses.
    fn structurally_parallel(&mut self, earlier: Stamp) -> bool {
        self.parallel(earlier)
    }

    /// Whether anything other than structure may have ordered accesses so far.
    fn knows_more(&self) -> bool {
        false
    }

    /// A limit for stamps: all smaller ones precede an access made now, so `parallel` is false for
    /// them. Stamps grow with time, so accesses of earlier phases need no look-up. The limit stays
    /// the same until the next event other than an allocation.
    fn serial_below(&self) -> Stamp;

    /// The number of stamps from `serial_below` on that are known to be parallel to an access made
    /// now: `parallel` and `stands_for_now` are true for them. Tasks of one loop that read the same
    /// data need no look-up of each other. The number stays the same until the next event other
    /// than an allocation.
    fn parallel_above(&self) -> Stamp;

    /// Starts over and keeps the memory.
    fn clear(&mut self);

    fn used_bytes(&self) -> usize;
}
