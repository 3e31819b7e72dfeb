//! What the programs of this package share: a size from the command line.

/// The first argument, or what is given here: small, so that a run in debug takes no time.
pub fn size(without: usize) -> usize {
    std::env::args()
        .nth(1)
        .and_then(|argument| argument.parse().ok())
        .unwrap_or(without)
}

/// Numbers that look random, the same in every run.
pub fn random(mut state: u64) -> impl Iterator<Item = u64> {
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        state >> 33
    })
}
