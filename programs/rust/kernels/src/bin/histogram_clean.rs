//! The repair of `histogram_racy`: `fold` gives each task a table of its own, `reduce` adds the tables up where the tasks join.

//@ verdict: certified
//@ fin: lessons/histogram_clean.fin

use rayon::prelude::*;

const BINS: usize = 16;

fn main() {
    let values: Vec<u32> = (0..1000u32)
        .map(|i| i.wrapping_mul(2654435761) >> 16)
        .collect();
    let counts = values
        .par_iter()
        .fold(
            || vec![0u32; BINS],
            |mut counts, &value| {
                counts[value as usize % BINS] += 1;
                counts
            },
        )
        .reduce(
            || vec![0; BINS],
            |mut all, part| {
                for (bin, count) in all.iter_mut().zip(part) {
                    *bin += count;
                }
                all
            },
        );
    for (bin, &count) in counts.iter().enumerate() {
        assert_eq!(
            count as usize,
            values
                .iter()
                .filter(|&&value| value as usize % BINS == bin)
                .count()
        );
    }
    println!("1000 counted: {}", counts.iter().sum::<u32>());
}
