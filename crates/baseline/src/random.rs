//! The linear congruential generator of 48 bits that drand48 and `java.util.Random` share.

pub(crate) struct Random {
    state: u64,
}

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const MASK: u64 = 0xFFFF_FFFF_FFFF;

impl Random {
    /// A generator with this state.
    pub(crate) fn from_state(state: u64) -> Random {
        Random { state }
    }

    /// The generator that Java makes from this seed.
    pub(crate) fn from_seed(seed: u64) -> Random {
        Random::from_state((seed ^ MULTIPLIER) & MASK)
    }

    /// The upper bits of the next state, at most 48.
    pub(crate) fn bits(&mut self, bits: u32) -> u64 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(0xB) & MASK;
        self.state >> (48 - bits)
    }

    /// A number from 0.0 to below 1.0, made of 53 random bits.
    pub(crate) fn float(&mut self) -> f64 {
        let high = self.bits(26);
        let low = self.bits(27);
        ((high << 27) + low) as f64 / (1_u64 << 53) as f64
    }
}
