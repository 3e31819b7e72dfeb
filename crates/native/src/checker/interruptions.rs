//! Where a task may be interrupted by another one that awaits its turn.
//!
//! The interrupting task is parallel to the running one, and runs to its end on top of it, as a
//! worker of the pool would that takes it just then. The process does that; here is said when
//! ([`super::orders`] has the reasons).
//!
//! Whatever the answer is, what is found holds: all places are right in some schedule. Some would
//! lead into runs that tell nothing, since the interrupting task waits for what the running one
//! holds.

use super::Checker;

impl Checker {
    /// Whether another task begins before the running one makes an atomic operation on this
    /// address, which may write it. Which one, as a number that is taken modulo those that can.
    pub fn is_interrupted(&mut self, address: u64, writes: bool, stack: u64) -> Option<u64> {
        let own = &self.thread.stack;
        let has_room = stack.saturating_sub(own.start) > (own.end - own.start) / 2;
        let excludes = match self.orders.is_strict() {
            true => self.synchronisation.holds_anything(),
            false => self.synchronisation.holds_exclusively(),
        };
        if !has_room || excludes {
            return None;
        }
        let synchronisation = &self.synchronisation;
        let stale =
            synchronisation.gave_up(address) || writes && synchronisation.looked_at(address);
        self.orders.interruption(stale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::Here;
    use crate::checker::options::Options;
    use crate::facts::structure::TaskKind;
    use crate::facts::synchronisation::{How, Operation};
    use finishline_model::FinishId;
    use finishline_model::kinds::rayon;

    const LOCK: u64 = 0x1000;
    const FLAG: u64 = 0x2000;
    const STACK: std::ops::Range<u64> = 0x10000..0x20000;

    fn with_order(order: u32) -> Checker {
        let options = Options {
            order,
            ..Options::default()
        };
        Checker::new(options, STACK, 0..0).unwrap()
    }

    fn operation(address: u64, values: [Option<u64>; 2]) -> Operation {
        let [before, after] = values;
        Operation {
            address,
            before,
            after,
            how: How::Replaced,
            acquires: before.is_some() && after.is_some(),
            releases: before.is_none(),
        }
    }

    fn make(checker: &mut Checker, address: u64, values: [Option<u64>; 2]) {
        let here = Here {
            place: 7,
            stack_pointer: u64::MAX,
        };
        checker.atomic(&operation(address, values), 8, here);
    }

    /// How many of so many operations are interrupted.
    fn interruptions(checker: &mut Checker, writes: bool, stack: u64) -> usize {
        let places = (0..80).filter_map(|_| checker.is_interrupted(FLAG, writes, stack));
        places.count()
    }

    #[test]
    fn what_was_just_read_goes_out_of_date() {
        for (order, of_writes) in [(2, 0), (3, 80), (4, 80)] {
            let mut checker = with_order(order);
            make(&mut checker, FLAG, [Some(0), None]);
            assert_eq!(interruptions(&mut checker, true, STACK.end), of_writes);
            let others = interruptions(&mut checker, false, STACK.end);
            assert_eq!((1..40).contains(&others), order > 2);
            make(&mut checker, LOCK, [Some(0), None]);
            let others = interruptions(&mut checker, true, STACK.end);
            assert!(others < 40, "another variable was read since");
        }
    }

    #[test]
    fn what_was_known_under_a_lock_goes_out_of_date() {
        let mut checker = with_order(3);
        let take_and_give_up = |checker: &mut Checker| {
            make(checker, LOCK, [Some(0), Some(1)]);
            make(checker, LOCK, [None, Some(0)]);
        };
        let often = |checker: &mut Checker, address| {
            let interrupts = |_: &u32| checker.is_interrupted(address, true, STACK.end).is_some();
            (0..80).filter(interrupts).count() == 80
        };
        assert!(!often(&mut checker, LOCK));
        take_and_give_up(&mut checker);
        assert!(often(&mut checker, LOCK) && !often(&mut checker, FLAG));
        // Another task knows nothing of that, and this one still does afterwards.
        let kind = TaskKind::Rayon(rayon::TaskKind::Spawn);
        checker.begin_task(kind, FinishId::ROOT, 7, STACK.end);
        assert!(!often(&mut checker, LOCK));
        take_and_give_up(&mut checker);
        checker.end_task();
        assert!(often(&mut checker, LOCK));
        make(&mut checker, LOCK, [Some(0), Some(1)]);
        make(&mut checker, LOCK, [None, Some(2)]);
        assert!(!often(&mut checker, LOCK), "it is none");
    }

    #[test]
    fn who_holds_a_lock_is_not_interrupted() {
        for (order, uncertain) in [(3, false), (4, true)] {
            let mut checker = with_order(order);
            make(&mut checker, LOCK, [Some(0), Some(1)]);
            make(&mut checker, FLAG, [Some(0), None]);
            // It may be no lock.
            let interrupted = interruptions(&mut checker, true, STACK.end) > 0;
            assert_eq!(interrupted, uncertain);
            make(&mut checker, LOCK, [None, Some(0)]);
            assert!(interruptions(&mut checker, true, STACK.end) > 0);
            // It is one.
            make(&mut checker, LOCK, [Some(0), Some(1)]);
            make(&mut checker, FLAG, [Some(0), None]);
            assert_eq!(interruptions(&mut checker, true, STACK.end), 0);
        }
    }

    #[test]
    fn there_must_be_room_on_the_stack() {
        let mut checker = with_order(3);
        make(&mut checker, FLAG, [Some(0), None]);
        assert_eq!(interruptions(&mut checker, true, STACK.end - 0x8000), 0);
        assert_eq!(interruptions(&mut checker, true, STACK.end - 0x7fff), 80);
    }
}
