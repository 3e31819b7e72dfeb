//! In which order tasks run that may run in any order.
//!
//! The checker covers every schedule, but for what locks, atomics and threads order in the run that
//! it sees. So a program in which they order something is run again in other orders.
//!
//! | number | order |
//! |---|---|
//! | 0 | the half of a join that the options name runs first, each spawned task at once |
//! | 1 | the other half first, a broadcast from its last thread to the first |
//! | 2 | the tasks of a scope run behind its body, the latest first |
//! | 3 and more | each time one or the other by chance, the number being the seed |
//!
//! A process with the same number makes the same choices.

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

    /// The step of SplitMix64.
    fn by_chance(&mut self) -> bool {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        self.choices += 1;
        let mut word = u64::from(self.number)
            .wrapping_mul(0xd1b5_4a32_d192_ed03)
            .wrapping_add(self.choices.wrapping_mul(GOLDEN));
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ word >> 31) & 1 == 1
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
