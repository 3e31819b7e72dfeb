//! Random event streams against the oracle: async-finish, with isolated blocks, everything mixed,
//! and Cilk.
//!
//! `FINISHLINE_SEEDS=n` runs n streams instead of 100,000, `FINISHLINE_SEED=s` starts at seed s. A
//! failure prints the seed and the stream after removing whatever can be removed.

use crate::common::streams::{Generator, LOCATIONS};
use crate::common::{Comparison, from_environment, show, shrink};

#[test]
fn random_streams_agree_with_the_oracle() {
    let start = from_environment("FINISHLINE_SEED", 0);
    let mut comparison = Comparison::new(LOCATIONS);
    for seed in start..start + from_environment("FINISHLINE_SEEDS", 100_000) {
        let words = Generator::program(seed);
        if let Err(disagreement) = comparison.run(&words) {
            let small = shrink(words, &mut |candidate| comparison.run(candidate).is_err());
            let small_disagreement = comparison.run(&small).unwrap_err();
            panic!(
                "FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1: {disagreement}\nsmaller: {}\n{small_disagreement}",
                show(&small)
            );
        }
    }
}

/// The streams are worth something: each kind of answer is frequent.
#[test]
fn random_streams_race_and_do_not() {
    let mut comparison = Comparison::new(LOCATIONS);
    let (mut racing, mut apparent, mut overlapping, mut clean) = (0, 0, 0, 0);
    for seed in 0..2000 {
        comparison.run(&Generator::program(seed)).unwrap();
        let pairs = comparison.sited.pairs().as_slice();
        racing += usize::from(pairs.iter().any(|pair| !pair.race.ordered_by_isolation));
        apparent += usize::from(pairs.iter().any(|pair| pair.race.ordered_by_isolation));
        overlapping += usize::from(comparison.esp_bags_isolated.isolated_conflict());
        clean += usize::from(pairs.is_empty());
    }
    assert!(
        [racing, apparent, overlapping, clean]
            .iter()
            .all(|&often| often > 100),
        "{racing} racing, {apparent} apparent, {overlapping} overlapping, {clean} clean"
    );
}
