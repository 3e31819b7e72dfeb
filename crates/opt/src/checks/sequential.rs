//! Main-task check elimination [ESP-bags §6.1]: no check where no other task can be running.
//!
//! **What is removed.** An access is *sequential* if it is made by the main task when every task
//! created so far has ended and has been waited for by the main task. A check is removed if that
//! holds whenever control gets to it.
//!
//! **Why that is exact.** Let s be a sequential access. Everything any task did before s in the run
//! happens before it: by the program's order in the main task, or through the finish that the main
//! task waited for. Everything after s happens after it: it is the main task itself or created by
//! it, directly or not, later. So s races with nothing, and removing it from the stream of events
//! takes no pair of racing accesses away, adds none and reorders none. By the definition of a race
//! the set of racing locations stays the same, and so does every detector's that is exact. A
//! detector that remembers a few accesses a location does not err for having forgotten s either:
//! what it remembers instead is older, hence before s and before everything that comes after s, so
//! it is ordered before any later access as s is.
//!
//! **How it is found.** By [`super::liveness`]. A function starts with the fact of all places it is
//! called from; the body of a task always starts with another task live.

use super::regions::Beside;

/// Whether an operation is made when no other task is live.
pub(super) fn is_sequential(beside: Beside) -> bool {
    beside == Beside::Nothing
}
