//! Integers at the ends of 64 bits, for generators of programs that wrap around.
//!
//! Sums and products of these numbers, also with small numbers, leave the range of an `int`. All
//! generators use them, and so do the tests that choose arguments for `main`.

use crate::rng::Rng;

/// The powers of two at which arithmetic, or code that narrows it, changes its behaviour.
const POWERS: [u32; 4] = [31, 32, 62, 63];

/// A number within 2 of ±2³¹, ±2³², ±2⁶² or ±2⁶³, as far as it fits 64 bits.
pub fn extreme(rng: &mut Rng) -> i64 {
    let magnitude = 1i128 << rng.pick(&POWERS);
    let sign = if rng.percent(50) { 1 } else { -1 };
    let value = sign * magnitude + i128::from(rng.between(-2, 2));
    let fitting = value.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    i64::try_from(fitting).expect("clamped")
}

/// A factor that makes small numbers wrap around: large, or odd with large powers.
pub fn factor(rng: &mut Rng) -> i64 {
    match rng.below(4) {
        0 => rng.pick(&[1_000_003, 1_000_000_007, 0x9e37_79b9_7f4a_7c15_u64 as i64]),
        1 => 1 << rng.between(30, 62),
        2 => -(1 << rng.between(30, 62)),
        _ => extreme(rng),
    }
}

/// An argument for `main`: near 0, where generated programs should run, or at an end of 64 bits.
pub fn argument(rng: &mut Rng) -> i64 {
    match rng.percent(65) {
        true => rng.between(-2, 9),
        false => extreme(rng),
    }
}

/// The odd number whose product with this odd number is 1 modulo 2⁶⁴.
pub fn inverse(odd: i64) -> i64 {
    // Newton's iteration. Each step doubles the number of correct low bits, starting with 3.
    let mut inverse = odd;
    for _ in 0..5 {
        let error = 2i64.wrapping_sub(odd.wrapping_mul(inverse));
        inverse = inverse.wrapping_mul(error);
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_ends_occur() {
        let mut rng = Rng::new(1);
        let seen: BTreeSet<i64> = (0..2000).map(|_| extreme(&mut rng)).collect();
        for wanted in [
            i64::MIN,
            i64::MIN + 1,
            i64::MAX,
            i64::MAX - 1,
            1 << 31,
            -(1 << 31),
            (1 << 31) - 1,
            (1 << 62) + 2,
            -(1 << 62) - 1,
        ] {
            assert!(seen.contains(&wanted), "never: {wanted}");
        }
    }

    #[test]
    fn an_odd_number_times_its_inverse_is_one() {
        for odd in [1, -1, 3, 1_000_003, i64::MAX, i64::MIN + 1] {
            assert_eq!(odd.wrapping_mul(inverse(odd)), 1, "{odd}");
        }
    }
}
