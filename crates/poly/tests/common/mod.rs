//! How many programs, from which seed, and on all cores.

/// A number from the environment.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {value}"))
    })
}

/// Runs `work` on the numbers of a range, on all cores.
pub(crate) fn in_parallel(numbers: std::ops::Range<u64>, work: impl Fn(u64) + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (numbers, work) = (numbers.clone(), &work);
            scope.spawn(move || {
                let own = numbers.skip(thread as usize).step_by(threads as usize);
                own.for_each(work);
            });
        }
    });
}
