//! Looks up many keys in one sorted table, which all tasks read.

//@ verdict: certified

use rayon::prelude::*;

fn main() {
    let keys = speed::size(500);
    let mut table: Vec<u64> = speed::random(1).take(keys / 4).collect();
    table.sort_unstable();
    let wanted: Vec<u64> = speed::random(2).take(keys).collect();
    let places: Vec<usize> = wanted
        .par_iter()
        .with_min_len(64)
        .map(|key| {
            let (mut low, mut high) = (0, table.len());
            while low < high {
                let middle = low + (high - low) / 2;
                match table[middle] < *key {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            low
        })
        .collect();
    let sum: usize = places.iter().sum();
    println!("the places add up to {sum}");
}
