//! In which orders locks are taken one inside the other.
//!
//! If a task takes lock b while it holds lock a, a comes before b. If these relations have no
//! cycle, no schedule in which tasks do the same has a deadlock of locks: among tasks that wait for
//! each other's locks, one waits for the lock that comes last, and the holder of that one waits for
//! none. A cycle is no proof of a deadlock, because its tasks need not be parallel.

use crate::hash::{IdMap, IdSet};
use crate::table::{TableError, make_room_in};
use finishline_model::LockId;

#[derive(Debug, Default)]
pub(crate) struct LockOrder {
    /// Which lock was held when which one was taken.
    inside: IdMap<(LockId, LockId), ()>,
}

impl LockOrder {
    pub(crate) fn taken(
        &mut self,
        held: impl Iterator<Item = LockId>,
        lock: LockId,
    ) -> Result<(), TableError> {
        for outer in held {
            make_room_in(&mut self.inside, "pairs of locks")?;
            self.inside.insert((outer, lock), ());
        }
        Ok(())
    }

    /// Whether locks were taken in such orders that tasks might wait for each other.
    pub(crate) fn has_cycle(&self) -> bool {
        // Locks that come before no other go, until none is left or all have one.
        let mut pairs: Vec<(LockId, LockId)> = self.inside.keys().copied().collect();
        loop {
            let outer: IdSet<LockId> = pairs.iter().map(|(outer, _)| *outer).collect();
            let before = pairs.len();
            pairs.retain(|(_, inner)| outer.contains(inner));
            if pairs.len() == before {
                return !pairs.is_empty();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_may_have_any_length() {
        let cyclic = |pairs: &[(u32, u32)]| {
            let mut order = LockOrder::default();
            for (outer, inner) in pairs {
                let held = std::iter::once(LockId(*outer));
                order.taken(held, LockId(*inner)).expect("memory");
            }
            order.has_cycle()
        };
        assert!(!cyclic(&[]));
        assert!(!cyclic(&[(0, 1), (1, 2), (0, 2), (3, 2)]));
        assert!(cyclic(&[(0, 1), (1, 0)]));
        assert!(cyclic(&[(5, 0), (0, 1), (1, 2), (2, 0), (2, 7)]));
        assert!(cyclic(&[(3, 3)]));
    }
}
