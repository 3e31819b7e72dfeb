//! What is learnt where the last of several references is dropped.
//!
//! Dropping an `Arc` counts down, which releases; whoever counts to zero passes an acquiring fence, calls `Arc::drop_slow` and so runs the destructor with all
//! that others did before they dropped theirs. But `drop` tells nobody who was last, so what comes behind it can't rely on having been
//! it: in another schedule this task was not. Threads and their handles share such a reference, so without this rule a
//! handle that is dropped would seem to join its thread.
//!
//! So what an acquiring fence brings is a glimpse at first ([`Event::Glimpse`]). If the next function that is entered is `drop_slow`, it lasts
//! until that is left. Otherwise it is kept: a program's own code may branch on the count, and then it does rely on it. Inside of `drop_slow` all fences
//! are taken so: dropping the weak reference there has one too, and so have counts by hand in the destructor.
//!
//! When functions are entered and left nothing is done for that. It is looked at when something happens that matters: the stack of calls tells which ones have been left,
//! and `drop_slow` neither begins without the fence before it nor ends without having counted the weak reference.

use super::Checker;
use crate::synchronisation::Told;
use finishline_model::{Event, ObjectId};

/// What the running thread knows for a while.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Glimpse {
    #[default]
    None,
    /// A fence has been passed.
    Undecided {
        /// So many of the calls that were active then have been so since.
        outside: usize,
        /// After so many more accesses it is decided.
        patience: u32,
    },
    /// In this call, which has so many outside it.
    Dropping { outside: usize, call: [u64; 2] },
}

/// Accesses between the fence and `drop_slow`: those that get at the count and the reference.
const PATIENCE: u32 = 16;

impl Checker {
    pub fn fence(&mut self, acquires: bool, releases: bool) {
        self.look_around(0);
        let mut told = Vec::new();
        self.synchronisation
            .fence(acquires, releases, |event| told.push(event));
        for event in told {
            match event {
                Told::Acquire(object) => self.glimpse(object),
                other => self.tell(&[other]),
            }
        }
    }

    fn glimpse(&mut self, object: ObjectId) {
        // What precedes everything anyway need not be known.
        if self.glance.alone {
            return;
        }
        if !self.glimpses() {
            // The stack of calls is to tell from here on which ones are left.
            self.calls.node();
            self.glimpse = Glimpse::Undecided {
                outside: self.calls.depth(),
                patience: PATIENCE,
            };
        }
        let task = self.structure.running();
        self.event(Event::Glimpse { task, object });
    }

    /// Whether something is known for a while.
    #[inline]
    pub(super) fn glimpses(&self) -> bool {
        !matches!(self.glimpse, Glimpse::None)
    }

    /// An access is made, at a place in the innermost function.
    #[inline]
    pub(super) fn look_around_at_access(&mut self, place: u64) {
        if self.glimpses() {
            self.go_on_glimpsing(place, true);
        }
    }

    /// Something else than an access happens.
    #[inline]
    pub(super) fn look_around(&mut self, place: u64) {
        if self.glimpses() {
            self.go_on_glimpsing(place, false);
        }
    }

    #[cold]
    fn go_on_glimpsing(&mut self, place: u64, access: bool) {
        let stack = self.calls.stack();
        match self.glimpse {
            Glimpse::None => {}
            Glimpse::Undecided { outside, patience } => {
                let outside = outside.min(stack.left_since());
                let call = stack.call(outside);
                let inside = stack.position_in(outside).unwrap_or(place);
                match call {
                    Some(call) if (self.is_drop_slow)(inside) => {
                        self.glimpse = Glimpse::Dropping { outside, call };
                    }
                    _ if access && patience > 0 => {
                        let patience = patience - 1;
                        self.glimpse = Glimpse::Undecided { outside, patience };
                    }
                    _ => self.end_glimpse(true),
                }
            }
            Glimpse::Dropping { outside, call } => {
                if stack.call(outside) != Some(call) {
                    self.end_glimpse(false);
                }
            }
        }
    }

    fn end_glimpse(&mut self, keep: bool) {
        self.glimpse = Glimpse::None;
        let task = self.structure.running();
        self.event(Event::GlimpseEnd { task, keep });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::Here;
    use crate::options::Options;
    use crate::structure::TaskKind;
    use crate::synchronisation::{How, Operation};
    use finishline_model::AccessKind::Write;
    use finishline_model::FinishId;

    const COUNT: u64 = 0x1000;
    const DATA: u64 = 0x2000;
    const DROP_SLOW: u64 = 77;
    const ELSEWHERE: u64 = 66;

    fn here(place: u64) -> Here {
        Here {
            place,
            stack_pointer: u64::MAX,
        }
    }

    fn count(checker: &mut Checker, before: u64) {
        let operation = Operation {
            address: COUNT,
            before: Some(before),
            after: Some(before - 1),
            how: How::Counted,
            acquires: false,
            releases: true,
        };
        checker.atomic(&operation, 8, here(ELSEWHERE));
    }

    /// A task writes and drops its reference, and the other one, which is left, has counted to zero and passed the fence.
    fn last_reference() -> Checker {
        let mut checker = Checker::new(Options::default(), 0..0, 0..0).unwrap();
        checker.is_drop_slow = |address| address == DROP_SLOW;
        checker.begin_task(TaskKind::Spawn, FinishId::ROOT, ELSEWHERE, 0);
        checker.access(Write, DATA, 8, here(ELSEWHERE));
        count(&mut checker, 2);
        checker.end_task();
        checker.calls.enter(ELSEWHERE, 1000);
        count(&mut checker, 1);
        // In a debug build a function of its own.
        checker.calls.enter(ELSEWHERE, 900);
        checker.fence(true, false);
        checker.calls.leave();
        checker
    }

    fn races(checker: &mut Checker, place: u64) -> bool {
        checker.access(Write, DATA, 8, here(place));
        !checker.races.is_empty()
    }

    #[test]
    fn the_destructor_knows_and_what_follows_does_not() {
        let mut checker = last_reference();
        checker.calls.enter(ELSEWHERE, 900);
        assert!(!races(&mut checker, DROP_SLOW));
        checker.calls.enter(DROP_SLOW, 800);
        assert!(!races(&mut checker, ELSEWHERE));
        checker.calls.leave();
        checker.calls.leave();
        assert!(races(&mut checker, ELSEWHERE));
    }

    /// As in an optimised build, and left by unwinding.
    #[test]
    fn what_follows_is_at_the_same_depth() {
        let mut checker = last_reference();
        checker.calls.enter(ELSEWHERE, 900);
        count(&mut checker, 1);
        assert!(matches!(
            checker.glimpse,
            Glimpse::Undecided { .. } | Glimpse::None
        ));
        let mut checker = last_reference();
        checker.calls.enter(ELSEWHERE, 900);
        assert!(!races(&mut checker, DROP_SLOW));
        checker.calls.back_to(0);
        checker.calls.enter(ELSEWHERE, 1000);
        checker.calls.enter(ELSEWHERE + 1, 900);
        assert!(races(&mut checker, ELSEWHERE));
    }

    #[test]
    fn a_releasing_fence_releases() {
        let mut checker = Checker::new(Options::default(), 0..0, 0..0).unwrap();
        let flag = |before, after| Operation {
            address: COUNT,
            before,
            after,
            how: How::Replaced,
            acquires: false,
            releases: false,
        };
        checker.begin_task(TaskKind::Spawn, FinishId::ROOT, ELSEWHERE, 0);
        checker.access(Write, DATA, 8, here(ELSEWHERE));
        checker.fence(false, true);
        checker.atomic(&flag(None, Some(1)), 8, here(ELSEWHERE));
        checker.end_task();
        checker.atomic(&flag(Some(1), None), 8, here(ELSEWHERE));
        checker.fence(true, false);
        assert!(!races(&mut checker, ELSEWHERE));
    }

    #[test]
    fn who_branches_on_the_count_knows() {
        let mut checker = last_reference();
        assert!(!races(&mut checker, ELSEWHERE));
        count(&mut checker, 1);
        assert!(matches!(checker.glimpse, Glimpse::None));
        checker.calls.enter(ELSEWHERE, 900);
        checker.calls.enter(DROP_SLOW, 800);
        checker.calls.leave();
        checker.calls.leave();
        assert!(!races(&mut checker, ELSEWHERE));
    }

    #[test]
    fn a_fence_for_a_long_computation_is_kept() {
        let mut checker = last_reference();
        for _ in 0..2 * PATIENCE {
            assert!(!races(&mut checker, ELSEWHERE));
        }
        assert!(matches!(checker.glimpse, Glimpse::None));
    }
}
