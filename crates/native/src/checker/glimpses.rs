//! What a task learns when it drops the last of several references.
//!
//! Dropping an `Arc` counts down, which releases. The task that counts to zero passes an acquiring
//! fence and calls `Arc::drop_slow`, so the destructor runs after all that others did before they
//! dropped their references. But `drop` does not tell its caller who was last. So the code behind
//! it can't rely on having been last: in another schedule this task was not. A thread and its
//! handle share such a reference. Without this rule, dropping a handle would seem to join the
//! thread.
//!
//! So what an acquiring fence brings is a glimpse at first ([`Event::Glimpse`]). If the next
//! function entered is `drop_slow`, the glimpse lasts until that function is left. Otherwise the
//! glimpse is kept: the program's own code may branch on the count, and then relies on it. Inside
//! `drop_slow` all fences are taken so, because dropping the weak reference passes a fence too, and
//! so do counts by hand in a destructor.
//!
//! Entering and leaving functions does no work for this. A glimpse is looked at when something
//! happens that matters: the stack of calls tells which calls have been left, and `drop_slow`
//! neither begins without the fence before it nor ends without counting the weak reference.

use super::Checker;
use crate::facts::synchronisation::Told;
use finishline_model::{Event, ObjectId};
use finishline_trace::process::Call;

/// What a thread knows for a while.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Glimpse {
    #[default]
    None,
    /// A fence has been passed.
    Undecided {
        /// How many of the calls that were active then have been active ever since.
        outside: usize,
        /// After this many more accesses the glimpse is kept.
        patience: u32,
    },
    /// Lasts as long as this call, which has this many outside it.
    Dropping { outside: usize, call: [u64; 2] },
}

/// Accesses between the fence and `drop_slow`: those that get at the count and the reference.
const PATIENCE: u32 = 16;

impl Checker {
    pub fn fence(&mut self, acquires: bool, releases: bool) {
        self.note(|| Call::Fence { acquires, releases });
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
        if self.glance.is_alone() {
            return;
        }
        if !self.glimpses() {
            // So that the stack of calls tells which ones are left since.
            self.calls.node();
            self.thread.glimpse = Glimpse::Undecided {
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
        !matches!(self.thread.glimpse, Glimpse::None)
    }

    /// An access is made, at a place in the innermost function.
    #[inline]
    pub(super) fn look_around_at_access(&mut self, place: u64) {
        if self.glimpses() {
            self.go_on_glimpsing(place, true);
        }
    }

    /// Something other than an access happens.
    #[inline]
    pub(super) fn look_around(&mut self, place: u64) {
        if self.glimpses() {
            self.go_on_glimpsing(place, false);
        }
    }

    #[cold]
    fn go_on_glimpsing(&mut self, place: u64, access: bool) {
        let stack = self.calls.stack();
        match self.thread.glimpse {
            Glimpse::None => {}
            Glimpse::Undecided { outside, patience } => {
                let outside = outside.min(stack.left_since());
                let call = stack.call(outside);
                let inside = stack.position_in(outside).unwrap_or(place);
                let is_drop_slow = |checker: &Checker| (checker.host.is_drop_slow)(inside);
                match call {
                    Some(call) if self.ask(is_drop_slow) => {
                        self.thread.glimpse = Glimpse::Dropping { outside, call };
                    }
                    _ if access && patience > 0 => {
                        let patience = patience - 1;
                        self.thread.glimpse = Glimpse::Undecided { outside, patience };
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
        self.thread.glimpse = Glimpse::None;
        let task = self.structure.running();
        self.event(Event::GlimpseEnd { task, keep });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::Here;
    use crate::checker::options::Options;
    use crate::facts::structure::TaskKind;
    use crate::facts::synchronisation::{How, Operation};
    use finishline_model::AccessKind::Write;
    use finishline_model::FinishId;
    use finishline_model::kinds::rayon;

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

    /// A task writes and drops its reference, and the other one, which is left, has counted to zero
    /// and passed the fence.
    fn last_reference() -> Checker {
        let mut checker = Checker::new(Options::default(), 0..0, 0..0).unwrap();
        checker.host.is_drop_slow = |address| address == DROP_SLOW;
        checker.begin_task(
            TaskKind::Rayon(rayon::TaskKind::Spawn),
            FinishId::ROOT,
            ELSEWHERE,
            0,
        );
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
        !checker.found.races.is_empty()
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
            checker.thread.glimpse,
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
        checker.begin_task(
            TaskKind::Rayon(rayon::TaskKind::Spawn),
            FinishId::ROOT,
            ELSEWHERE,
            0,
        );
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
        assert!(matches!(checker.thread.glimpse, Glimpse::None));
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
        assert!(matches!(checker.thread.glimpse, Glimpse::None));
    }
}
