//! Twenty features of rayon in one program, all of them used as they should be: nothing races in any schedule.
//!
//! A tool that sees only threads reports hundreds of races here, between the queues and latches of the scheduler, and between tasks
//! that happen to use the same memory one after the other. None of them is there.

//@ verdict: certified

use rayon::prelude::*;
use rayon::{ThreadPoolBuilder, current_num_threads, in_place_scope, join, scope, scope_fifo};
use std::collections::{BTreeMap, HashMap};

fn fibonacci(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (last, one_before) = join(|| fibonacci(n - 1), || fibonacci(n - 2));
    last + one_before
}

/// 1 to 7: what goes over a slice or a range and gives one value or a collection.
fn iterators(numbers: &[u64]) {
    let n = numbers.len() as u64;
    assert_eq!(numbers.par_iter().sum::<u64>(), n * (n - 1) / 2);
    assert_eq!(numbers.par_iter().copied().max(), Some(n - 1));
    let squares: Vec<u64> = numbers.par_iter().map(|x| x * x).collect();
    assert_eq!(squares[10], 100);
    let even: Vec<u64> = (0..n).into_par_iter().filter(|x| x % 2 == 0).collect();
    assert_eq!(even.len() as u64, n / 2);
    let total = numbers
        .par_iter()
        .zip(&squares)
        .fold(|| 0, |sum, (x, y)| sum + x + y)
        .reduce(|| 0, |a, b| a + b);
    assert_eq!(total, numbers.iter().map(|x| x + x * x).sum());
    let words: Vec<String> = numbers
        .par_iter()
        .flat_map_iter(|&x| (0..x % 3).map(move |y| format!("{x}.{y}")))
        .collect();
    assert_eq!(words[..3], ["1.0", "2.0", "2.1"]);
    let lengths: HashMap<u64, usize> = numbers
        .par_iter()
        .map(|&x| (x, x.to_string().len()))
        .collect();
    assert_eq!(lengths[&100], 3);
}

/// 8 to 13: what writes a slice in place.
fn slices() {
    let mut cells = vec![0u32; 1000];
    cells
        .par_iter_mut()
        .enumerate()
        .for_each(|(i, cell)| *cell = (i * 7919 % 1009) as u32);
    let mut by_blocks = cells.clone();
    by_blocks
        .par_chunks_mut(64)
        .for_each(|block| block.reverse());
    assert_eq!(by_blocks[0], cells[63]);
    let maxima: Vec<u32> = cells
        .par_windows(3)
        .map(|window| window[0].max(window[1]).max(window[2]))
        .collect();
    assert_eq!(maxima.len(), 998);
    let mut stable = cells.clone();
    stable.par_sort_by_key(|x| x % 10);
    assert!(stable.is_sorted_by_key(|x| x % 10));
    cells.par_sort_unstable();
    assert!(cells.is_sorted());
    let (small, large): (Vec<u32>, Vec<u32>) = cells.into_par_iter().partition(|&x| x < 500);
    assert!(small.iter().max() < large.iter().min());
}

/// 14 and 15: strings, and collections other than slices.
fn collections() {
    let text = "the quick brown fox jumps over the lazy dog ".repeat(50);
    let vowels = text
        .par_chars()
        .filter(|letter| "aeiou".contains(*letter))
        .count();
    assert_eq!(vowels, 11 * 50);
    let lengths: BTreeMap<usize, &str> = text
        .par_split_whitespace()
        .map(|word| (word.len(), word))
        .collect();
    assert_eq!(lengths.len(), 3);
    let doubled: Vec<usize> = lengths.par_iter().map(|(length, _)| 2 * length).collect();
    assert_eq!(doubled, [6, 8, 10]);
}

/// 16 to 20: tasks without iterators.
fn tasks() {
    assert_eq!(fibonacci(12), 144);
    let mut parts = [0u64; 4];
    scope(|scope| {
        for (i, part) in parts.iter_mut().enumerate() {
            scope.spawn(move |_| *part = fibonacci(i as u32 + 5));
        }
    });
    assert_eq!(parts, [5, 8, 13, 21]);
    scope_fifo(|scope| {
        parts
            .iter_mut()
            .for_each(|part| scope.spawn_fifo(|_| *part += 1))
    });
    in_place_scope(|scope| {
        parts
            .iter_mut()
            .for_each(|part| scope.spawn(|_| *part *= 2))
    });
    assert_eq!(parts, [12, 18, 28, 44]);
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let inside = pool.install(|| (0..current_num_threads()).into_par_iter().count());
    assert_eq!(inside, pool.current_num_threads());
    let indices = pool.broadcast(|context| context.index());
    assert!(indices.into_iter().eq(0..pool.current_num_threads()));
}

fn main() {
    let numbers: Vec<u64> = (0..1000).collect();
    join(|| iterators(&numbers), || join(slices, collections));
    tasks();
    println!("all as expected");
}
