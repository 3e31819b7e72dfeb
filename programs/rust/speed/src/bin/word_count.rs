//! Counts words of text into hash maps, one a task, which are put together where the tasks join.

//@ verdict: certified

use rayon::prelude::*;
use std::collections::HashMap;

fn main() {
    let words: Vec<String> = speed::random(1)
        .map(|number| format!("word{}", number % 1000))
        .take(speed::size(500))
        .collect();
    let counts = words
        .par_iter()
        .fold(HashMap::new, |mut counts: HashMap<&str, u32>, word| {
            *counts.entry(word).or_default() += 1;
            counts
        })
        .reduce(HashMap::new, |mut all, part| {
            for (word, count) in part {
                *all.entry(word).or_default() += count;
            }
            all
        });
    let total: u32 = counts.values().sum();
    println!("{total} words, {} different", counts.len());
}
