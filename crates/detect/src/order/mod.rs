//! Orders: is an earlier access parallel to the current one, in every schedule of this input?
//!
//! An order follows the task events of a depth-first run and gives every access a [`Stamp`], which is
//! what a history remembers of it. To add one: a file here, and a row in [`crate::detectors`].

use crate::Failure;
use finishline_model::Event;

pub mod bags;
mod contexts;
mod esp_bags;
pub mod isolation;
mod sp_bags;

pub use contexts::Contexts;
pub use esp_bags::EspBags;
pub use sp_bags::SpBags;

/// Who made an access, as far as the order needs to know.
pub type Stamp = u32;

/// No access yet: precedes everything.
pub const NOBODY: Stamp = 0;

pub trait Order: Sized {
    fn new() -> Result<Self, Failure>;

    /// Follows one event of a depth-first run; accesses and allocations don't concern it.
    fn event(&mut self, event: &Event) -> Result<(), Failure>;

    /// The stamp of an access that the running task makes now. The same until the next event other
    /// than an allocation.
    fn now(&self) -> Stamp;

    /// So many stamps from `now` on are of the running step; an order that gives each task one stamp has no more than that.
    fn own(&self) -> Stamp {
        1
    }

    /// Whether the access with this stamp may run in parallel with one made now. The answer is the same
    /// until the next event other than an allocation.
    fn parallel(&mut self, earlier: Stamp) -> bool;

    /// A stamp such that all below it precede an access made now: `parallel` is false of them. Stamps grow with time, so it
    /// spares those who ask about what a program did in earlier phases the look-up. The same until the next event other than an
    /// allocation.
    fn serial_below(&self) -> Stamp;

    /// So many stamps from `serial_below` on are parallel to an access made now: `parallel` is true of them. It spares
    /// tasks of one loop that read the same the look-up of each other. The same until the next event other than an allocation.
    fn parallel_above(&self) -> Stamp;

    /// Starts over and keeps the memory.
    fn clear(&mut self);

    fn used_bytes(&self) -> usize;
}
