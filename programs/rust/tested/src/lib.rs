//! A library with tests of all kinds, racy and clean, as `cargo finishline test` meets them: unit tests here, integration tests in
//! `tests/`, a doc test, one test that is ignored, one that should panic, one without tasks, and one that fails.
//!
//! Each test is checked on its own. The directives above a test hold for it.

use rayon::prelude::*;
use send_ptr::SendPtr;

/// Prefix sums in place, in parallel by blocks.
///
/// ```
/// let mut numbers = [1, 2, 3, 4];
/// tested::prefix_sums(&mut numbers, 2);
/// assert_eq!(numbers, [1, 3, 6, 10]);
/// ```
pub fn prefix_sums(numbers: &mut [u64], block: usize) {
    let totals: Vec<u64> = numbers
        .par_chunks(block)
        .map(|part| part.iter().sum())
        .collect();
    numbers
        .par_chunks_mut(block)
        .enumerate()
        .for_each(|(i, part)| {
            let mut sum = totals[..i].iter().sum();
            for number in part {
                sum += *number;
                *number = sum;
            }
        });
}

/// The same by doubling, in place and therefore wrong: a task reads what another one is about to write.
pub fn prefix_sums_in_place(numbers: &mut [u64]) {
    let length = numbers.len();
    let cells = SendPtr::new(numbers);
    let mut distance = 1;
    while distance < length {
        (distance..length).into_par_iter().for_each(|i| {
            let before = unsafe { cells.at(i - distance).read_volatile() }; //~ race read
            let own = unsafe { cells.at(i).read_volatile() };
            unsafe { cells.at(i).write_volatile(before + own) }; //~ race write
        });
        distance *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //@ verdict: certified
    #[test]
    fn blocks_are_independent() {
        let mut numbers = vec![1; 100];
        prefix_sums(&mut numbers, 16);
        assert!(numbers.into_iter().eq(1..=100));
    }

    //@ verdict: race
    //@ object: heap
    #[test]
    fn in_place_races() {
        let mut numbers = vec![1; 100];
        prefix_sums_in_place(&mut numbers);
        assert!(numbers[99] > 0);
    }

    // It panics before there is a task.
    //@ verdict: unknown
    //@ class: nothing-parallel
    #[test]
    #[should_panic = "chunk"]
    fn an_empty_block_is_refused() {
        prefix_sums(&mut [1, 2, 3], 0);
    }

    //@ verdict: trap
    #[test]
    #[ignore = "shows a test that fails"]
    fn fails() {
        let mut numbers = [1, 2];
        prefix_sums(&mut numbers, 1);
        assert_eq!(numbers, [1, 2]);
    }

    // No task is created: there is nothing to certify.
    //@ verdict: unknown
    //@ class: nothing-parallel
    #[test]
    fn without_tasks() {
        assert_eq!([1u64, 2, 3].iter().sum::<u64>(), 6);
    }
}
