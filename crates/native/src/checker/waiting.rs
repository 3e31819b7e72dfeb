//! Tasks that wait for something that only another task could do, while no other task runs.

use super::Checker;
use crate::facts::structure::Position;
use finishline_model::TaskId;
use finishline_model::kinds::WaitKind;
use finishline_trace::process::Call;

/// A task waited for something that only another task could do, and none runs beside it.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    pub waits: WaitKind,
    pub at: Position,
    pub task: TaskId,
}

/// How often in a row a thread has looked at nothing but a few atomic variables, and has found the
/// same values at the same places.
///
/// A task that waits may look at several variables in a loop, and may change them forth and back. A
/// task that computes meanwhile accesses memory that its step has not accessed before.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Spin {
    looks: Few<Look, FEW>,
    /// Where accesses were made that changed what is remembered, or might have.
    accesses: Few<u64, SOME>,
    /// The number of tasks that there were.
    tasks: usize,
    times: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Look {
    address: u64,
    value: u64,
    place: u64,
}

/// How many different looks may belong to one loop that waits.
const FEW: usize = 8;
/// And accesses to different words.
const SOME: usize = 64;

/// The latest ones, without repetitions.
#[derive(Clone, Copy, Debug)]
struct Few<T, const N: usize> {
    latest: [T; N],
    /// The one that is replaced next.
    oldest: usize,
}

impl<T: Default + Copy, const N: usize> Default for Few<T, N> {
    fn default() -> Self {
        Few {
            latest: [T::default(); N],
            oldest: 0,
        }
    }
}

impl<T: PartialEq, const N: usize> Few<T, N> {
    /// Whether it was not among them.
    #[inline]
    fn add(&mut self, one: T) -> bool {
        let is_new = !self.latest.contains(&one);
        if is_new {
            self.latest[self.oldest] = one;
            self.oldest = (self.oldest + 1) % N;
        }
        is_new
    }
}

/// After this number of looks a task waits for ever. A task that waits for a bounded time reads a
/// clock, or stops after some thousands of looks.
const SPINS: u64 = 2_000_000;
/// The same in another order than the usual one. A run that is ended there counts for nothing, and
/// tasks wait in vain there more often.
const SPINS_IN_OTHER_ORDERS: u64 = 3_000;

/// A thread that only waits makes fewer accesses than this before it lets others run.
const OTHERS_ONLY_WAIT: u64 = 1000;

impl Spin {
    fn add(&mut self, look: Look, tasks: usize) {
        if self.tasks != tasks {
            (self.tasks, self.times) = (tasks, 0);
        }
        if self.looks.add(look) {
            self.times = 0;
        }
        self.times += 1;
    }

    /// The task makes an access that may be the first of its step there.
    #[inline]
    pub(super) fn accesses(&mut self, address: u64) {
        if self.times > 0 && self.accesses.add(address) {
            self.times = 0;
        }
    }

    /// Other threads ran and made this many accesses.
    pub(super) fn others_made(&mut self, accesses: u64) {
        if accesses > OTHERS_ONLY_WAIT {
            self.times = 0;
        }
    }
}

/// After this number of looks in a row others may run.
const PATIENCE: u64 = 1000;

/// What looking at an atomic variable over and over may mean.
#[derive(Clone, Copy, Debug)]
pub enum Looking {
    Perhaps,
    /// Others may run meanwhile.
    Waiting,
    /// The task can only mean to wait for another value, and is told as this.
    WaitingForEver(Stopped),
}

impl Checker {
    /// Notes that an atomic operation has found this value.
    pub fn looks_at(&mut self, address: u64, value: u64, place: u64) -> Looking {
        // Nobody could change it, and what the program accesses is not followed.
        if self.glance.is_alone() {
            return Looking::Perhaps;
        }
        let look = Look {
            address,
            value,
            place,
        };
        let spin = &mut self.thread.spin;
        spin.add(look, self.structure.tasks());
        // Whether it computes meanwhile is told by its accesses.
        self.glance.begin_era();
        let most = match self.orders.is_usual() {
            true => SPINS,
            false => SPINS_IN_OTHER_ORDERS,
        };
        match spin.times {
            times if times >= most => {
                spin.times = 0;
                Looking::WaitingForEver(self.would_stop(WaitKind::Spin, place))
            }
            times if times.is_multiple_of(PATIENCE) => Looking::Waiting,
            _ => Looking::Perhaps,
        }
    }

    /// What is reported if the running task waits for ever.
    pub fn would_stop(&mut self, waits: WaitKind, place: u64) -> Stopped {
        self.note(|| Call::Waits { what: waits, place });
        Stopped {
            waits,
            at: self.position(place),
            task: self.structure.running(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::Here;
    use crate::checker::options::Options;
    use crate::facts::structure::TaskKind;
    use finishline_model::{AccessKind, FinishId};

    /// In a task beside its creator.
    fn with_order(order: u32) -> Checker {
        let options = Options {
            order,
            ..Options::default()
        };
        let mut checker = Checker::new(options, 0..0, 0..0).unwrap();
        checker.begin_task(THREAD, FinishId::ROOT, 7, 0);
        checker
    }

    const THREAD: TaskKind = TaskKind::Thread;

    /// After how many rounds of so many looks, each finding what `value` says, a task waits for
    /// ever.
    fn rounds(order: u32, variables: u64, value: impl Fn(u64, u64) -> u64) -> Option<u64> {
        let mut checker = with_order(order);
        (0..SPINS).find(|round| {
            (0..variables).any(|variable| {
                let looking = checker.looks_at(8 * variable, value(*round, variable), 7);
                matches!(looking, Looking::WaitingForEver(_))
            })
        })
    }

    #[test]
    fn whoever_looks_at_a_few_variables_over_and_over_waits() {
        for variables in 1..=FEW as u64 {
            let before = rounds(0, variables, |_, _| 5).expect("it waits");
            assert!(before.abs_diff(SPINS / variables) < 10, "{variables}");
        }
        let soon = rounds(3, 2, |_, _| 5).expect("it waits");
        assert!(soon.abs_diff(SPINS_IN_OTHER_ORDERS / 2) < 10);
    }

    #[test]
    fn whoever_looks_at_many_variables_or_sees_a_change_goes_on() {
        assert_eq!(rounds(3, FEW as u64 + 1, |_, _| 5), None);
        let counts = |round, variable| if variable == 1 { round / 1000 } else { 5 };
        assert_eq!(rounds(3, 2, counts), None);
    }

    #[test]
    fn a_new_task_may_be_what_is_waited_for() {
        let mut checker = with_order(0);
        for round in 0..2 * SPINS {
            assert!(!matches!(
                checker.looks_at(8, 5, 7),
                Looking::WaitingForEver(_)
            ));
            if round == SPINS - 10 {
                checker.begin_task(THREAD, FinishId::ROOT, 7, 0);
            }
            if round == 2 * SPINS - 20 {
                return;
            }
        }
    }

    #[test]
    fn whoever_computes_meanwhile_goes_on() {
        for (words, waits) in [(u64::MAX, false), (1, true), (SOME as u64, true)] {
            let mut checker = with_order(3);
            let mut waited = false;
            for round in 0..2 * SPINS_IN_OTHER_ORDERS {
                let here = Here {
                    place: 9,
                    stack_pointer: u64::MAX,
                };
                let address = 0x10_0000 + 8 * (round % words);
                checker.access(AccessKind::Read, address, 8, here);
                let looking = checker.looks_at(8, 5, 7);
                waited |= matches!(looking, Looking::WaitingForEver(_));
            }
            assert_eq!(waited, waits);
        }
    }

    #[test]
    fn while_nothing_is_parallel_nobody_waits() {
        let mut checker = Checker::new(Options::default(), 0..0, 0..0).unwrap();
        let waits = |_| !matches!(checker.looks_at(8, 5, 7), Looking::Perhaps);
        assert!(!(0..2 * SPINS).any(waits));
    }
}
