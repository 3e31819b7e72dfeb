//! Maps and sets keyed by ids. The hash of small integers must be fast. No attacker chooses the
//! integers.
//!
//! Each word is mixed in by a multiplication whose upper half is folded into the lower one, because
//! tables look at both ends. The crate has no dependencies, because it is compiled into users'
//! programs from its sources.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

pub type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;
pub type IdSet<K> = HashSet<K, BuildHasherDefault<IdHasher>>;

#[derive(Clone, Copy, Default, Debug)]
pub struct IdHasher(u64);

/// Odd numbers with irregular bits: the fractions of the golden ratio and of the square root of
/// two.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
const SALT: u64 = 0x6a09_e667_f3bc_c908;

impl Hasher for IdHasher {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0.rotate_left(23) ^ word ^ SALT) * u128::from(MULTIPLIER);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u8(*byte);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    /// A table of 2ⁿ places uses the n lowest bits. It tells entries of one place apart by the
    /// seven highest bits.
    #[test]
    fn consecutive_and_aligned_ids_spread() {
        let build = BuildHasherDefault::<IdHasher>::default();
        for step in [1u64, 8, 64, 4096, 1 << 20, 1 << 32] {
            let places: HashSet<u64> = (0..1024)
                .map(|id| build.hash_one(id * step) & 1023)
                .collect();
            assert!(
                places.len() > 500,
                "{} places for step {step}",
                places.len()
            );
            let tags: HashSet<u64> = (0..1024)
                .map(|id| build.hash_one(id * step) >> 57)
                .collect();
            assert!(tags.len() > 100, "{} tags for step {step}", tags.len());
        }
    }
}
