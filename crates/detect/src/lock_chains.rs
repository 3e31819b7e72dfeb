//! The observed order of locks, as releases and acquires: each hold of a lock follows the one
//! before it.
//!
//! Locks order nothing by themselves: in another schedule they may be taken in another order. For
//! an order of what was observed, [`LockChains`] tells of a release where a lock is given up, and
//! of an acquire where it is taken.

use finishline_model::{Access, Event, LockId, ObjectId, Observer};

/// The object by which each isolated block follows the one before it.
pub const ISOLATED_CHAIN: ObjectId = ObjectId(0);

/// The object by which each hold of a lock follows the one before it.
pub fn chain_of(lock: LockId) -> ObjectId {
    ObjectId(lock.0 + 1)
}

/// What a lock event means for the order of what was observed.
pub fn observed(event: &Event) -> Option<Event> {
    match *event {
        Event::Lock { task, lock, .. } => Some(Event::Acquire {
            task,
            object: chain_of(lock),
        }),
        Event::Unlock { task, lock } => Some(Event::Release {
            task,
            object: chain_of(lock),
            continues: false,
        }),
        _ => None,
    }
}

/// An observer that hears of the order of locks, besides the locks themselves.
#[derive(Debug)]
pub struct LockChains<O>(pub O);

impl<O: Observer> Observer for LockChains<O> {
    fn event(&mut self, event: &Event) {
        // What is done under a lock is done between the acquire and the release.
        if let Event::Unlock { .. } = event
            && let Some(release) = observed(event)
        {
            self.0.event(&release);
        }
        self.0.event(event);
        if let Event::Lock { .. } = event
            && let Some(acquire) = observed(event)
        {
            self.0.event(&acquire);
        }
    }

    fn access(&mut self, access: &Access) {
        self.0.access(access);
    }
}
