//! In which order tasks run that may run in any order.
//!
//! The checker covers every schedule, but for what locks, atomics and threads order in the run that
//! it sees. So a program in which they order something is run again in other orders.
//!
//! | number | order |
//! |---|---|
//! | 0 | the half of a join that the options name runs first, each spawned task at once |
//! | 1 | the other half first, a broadcast from its last thread to the first |
//! | 2 | the tasks of a scope run behind its body, the latest first; those that nobody waits for at the end of their creator's thread; all where the thread would wait; parallel iterators divided as rayon does for its threads |
//! | 3 and more | each time one or the other by chance; tasks that await their turn may begin earlier |
//!
//! A process with the same number, which is the seed, makes the same choices.
//!
//! **In the midst of a task.** From order 3 on, a task that awaits its turn may interrupt another
//! one where that is about to make an atomic operation, and runs to its end there
//! ([`Checker::is_interrupted`](super::Checker::is_interrupted)). That always happens where what
//! the interrupted task knows goes out of date: it has just read the variable that it is about to
//! write, or is about to take the lock again that it gave up last. So a counter that is moved by a
//! load and a store shows what is wrong with it. Elsewhere it happens by chance.
//!
//! A task that holds a lock keeps others waiting, and a task that waits here waits in vain. So who
//! holds a lock is not interrupted. In even orders that is taken less strictly: other tasks may
//! come in the midst of what may be a reader, or no lock at all.

#[derive(Debug)]
pub struct Orders {
    number: u32,
    /// Of order 0.
    right_first: bool,
    /// Counts the choices by chance.
    choices: u64,
}

impl Orders {
    pub fn new(number: u32, right_first: bool) -> Orders {
        Orders {
            number,
            right_first,
            choices: 0,
        }
    }

    /// Whether the tasks run as they do if nobody asks for an order.
    pub(super) fn is_usual(&self) -> bool {
        self.number == 0
    }

    /// Whether parallel iterators are divided further than rayon would for its threads.
    pub fn divides_further(&self) -> bool {
        self.number != 2
    }

    /// Whether the right half of the next join runs first.
    pub fn right_first(&mut self) -> bool {
        match self.number {
            0 | 2 => self.right_first,
            1 => !self.right_first,
            _ => self.by_chance(),
        }
    }

    /// Whether the task that is about to be spawned runs later.
    pub fn defers(&mut self) -> bool {
        match self.number {
            0 | 1 => false,
            2 => true,
            _ => self.by_chance(),
        }
    }

    /// Whether tasks that nobody waits for may await the end of the thread.
    pub fn puts_off(&self) -> bool {
        self.number >= 2
    }

    /// Whether tasks that await their turn may begin in the midst of others.
    pub fn interrupts(&self) -> bool {
        self.number >= 3
    }

    /// Whether what may be no lock, or that of a reader, keeps others from beginning.
    pub(super) fn is_strict(&self) -> bool {
        self.number % 2 == 1
    }

    /// Whether a task begins here in the midst of the running one, and which, as a number that is
    /// taken modulo those that can. `stale`: what the running task has read would be out of date.
    pub(super) fn interruption(&mut self, stale: bool) -> Option<u64> {
        const ONE_IN: u64 = 4;
        let chance = self.chance();
        let interrupts = self.interrupts() && (stale || chance.is_multiple_of(ONE_IN));
        interrupts.then_some(chance / ONE_IN)
    }

    fn by_chance(&mut self) -> bool {
        self.chance() & 1 == 1
    }

    /// The step of SplitMix64.
    fn chance(&mut self) -> u64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        self.choices += 1;
        let mut word = u64::from(self.number)
            .wrapping_mul(0xd1b5_4a32_d192_ed03)
            .wrapping_add(self.choices.wrapping_mul(GOLDEN));
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(number: u32, right_first: bool) -> Vec<(bool, bool)> {
        let mut orders = Orders::new(number, right_first);
        (0..100)
            .map(|_| (orders.right_first(), orders.defers()))
            .collect()
    }

    #[test]
    fn the_first_three_orders_are_the_same_throughout() {
        for (number, right_first, expected) in [
            (0, false, (false, false)),
            (0, true, (true, false)),
            (1, false, (true, false)),
            (1, true, (false, false)),
            (2, false, (false, true)),
            (2, true, (true, true)),
        ] {
            assert_eq!(choices(number, right_first), [expected; 100]);
        }
    }

    #[test]
    fn tasks_are_interrupted_by_chance_or_where_what_they_read_would_be_out_of_date() {
        let interruptions = |number: u32, stale: bool| {
            let mut orders = Orders::new(number, false);
            let all: Vec<_> = (0..800).map(|_| orders.interruption(stale)).collect();
            all
        };
        for number in 0..3 {
            assert_eq!(interruptions(number, true), [None; 800]);
        }
        for number in 3..10 {
            let count = |stale| interruptions(number, stale).iter().flatten().count();
            assert_eq!(count(true), 800);
            assert!((140..260).contains(&count(false)), "{number}");
            let choices = interruptions(number, true);
            let odd = choices.iter().flatten().filter(|choice| *choice % 2 == 1);
            assert!((300..500).contains(&odd.count()), "{number}");
            assert_eq!(choices, interruptions(number, true));
        }
    }

    #[test]
    fn the_others_are_by_chance_and_repeatable() {
        let count = |word: &dyn Fn(&(bool, bool)) -> bool, choices: &[(bool, bool)]| {
            choices.iter().filter(|choice| word(choice)).count()
        };
        let mut seen = Vec::new();
        for number in 3..20 {
            let made = choices(number, false);
            assert_eq!(made, choices(number, true), "the options don't matter");
            assert!(!seen.contains(&made));
            let counts = [
                count(&|choice| choice.0, &made),
                count(&|choice| choice.1, &made),
            ];
            assert!(counts.iter().all(|it| (25..75).contains(it)), "{number}");
            seen.push(made);
        }
    }
}
