//! The repair of `bridge_racy`: each word has counts of its own, and `reduce` adds them up.

//@ verdict: certified

use rayon::prelude::*;

const TEXT: &str = "the quick brown fox jumps over the lazy dog and is not seen again";

fn main() {
    let counts = TEXT
        .split(' ')
        .par_bridge()
        .map(|word| {
            let mut counts = [0u32; 8];
            counts[word.len()] += 1;
            counts
        })
        .reduce(
            || [0; 8],
            |mut all, one| {
                for (count, more) in all.iter_mut().zip(one) {
                    *count += more;
                }
                all
            },
        );
    println!("{} words, by length: {counts:?}", counts.iter().sum::<u32>());
}
