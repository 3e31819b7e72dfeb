//! How the tests go through many seeds: how many, from which one on, and on all cores.

use std::ops::Range;
use std::sync::Mutex;

/// A number from the environment: how many seeds, or the first one.
pub fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {value}"))
    })
}

/// Runs `work` on the numbers of a range, on all cores.
pub fn in_parallel(numbers: Range<u64>, work: impl Fn(u64) + Sync) {
    in_parallel_with(numbers, || (), |(), number| work(number));
}

/// Runs `work` on the numbers of a range, on all cores; each thread has a state of its own.
pub fn in_parallel_with<S>(
    numbers: Range<u64>,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, u64) + Sync,
) {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    // They differ much in what they cost, so each thread takes the next one when it is done.
    let numbers = Mutex::new(numbers);
    let next = || numbers.lock().expect("no panic").next();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut state = state();
                while let Some(number) = next() {
                    work(&mut state, number);
                }
            });
        }
    });
}
