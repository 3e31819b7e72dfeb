//! SplitMix64: a 64-bit counter and a mixing function.
//!
//! A number costs three multiplications, and every seed is good. The sequence of a seed never
//! changes, so a seed names a program for ever.

#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`. `n` must not be 0. The bias is below n / 2³².
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(n)) >> 32) as u32
    }

    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u32) as usize
    }

    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + i64::from(self.below((high - low + 1) as u32))
    }

    pub fn percent(&mut self, chance: u32) -> bool {
        self.below(100) < chance
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    /// One of the bits set in `mask`, each equally likely.
    pub fn bit_of(&mut self, mask: u64) -> Option<u32> {
        if mask == 0 {
            return None;
        }
        let mut rest = mask;
        for _ in 0..self.below(mask.count_ones()) {
            rest &= rest - 1;
        }
        Some(rest.trailing_zeros())
    }

    /// A random subset of `mask`. Each bit is kept with probability one half.
    pub fn half_of(&mut self, mask: u64) -> u64 {
        self.bits() & mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for seed 0 that the author of SplitMix64 published with the algorithm.
    #[test]
    fn matches_the_published_sequence() {
        let mut rng = Rng::new(0);
        assert_eq!(rng.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(rng.bits(), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(rng.bits(), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn picks_only_bits_of_the_mask_and_all_of_them() {
        let mut rng = Rng::new(7);
        let mut seen = 0;
        for _ in 0..200 {
            seen |= 1 << rng.bit_of(0b1010_0110).unwrap();
        }
        assert_eq!(seen, 0b1010_0110);
        assert_eq!(rng.bit_of(0), None);
    }
}
